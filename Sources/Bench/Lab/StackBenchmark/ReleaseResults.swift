import Measuring

/// Results measured with the packages of one Debian release.
public struct ReleaseResults: Sendable {
    public let runs: [Run]
    /// Names of the release and its packages: `Debian 13: connman 1.44-3, iwd 3.8-2`.
    let packages: String

    public init(_ runs: [Run], packages: String = "") {
        self.runs = runs
        self.packages = packages
    }

    /// Name of the release: `Debian 13`.
    var release: String { String(packages.prefix { $0 != ":" }) }

    /// Returns the figures that differ clearly from an earlier release's; nil if there are none.
    func differences(from earlier: Self, in time: Run.Time) -> Table? {
        let rows = StackName.allCases.flatMap { stack in
            Figure.compared.compactMap { figure -> [String]? in
                guard let new = runs.summary(figure, of: stack, in: time),
                    let old = earlier.runs.summary(figure, of: stack, in: time), new.differsClearly(from: old)
                else { return nil }
                let unit = figure.unit
                return ["\(stack.title): `\(figure.rawValue)`, \(unit.rawValue)", old.text(unit), new.text(unit)]
            }
        }
        return rows.isEmpty ? nil : Table(columns: ["", earlier.release, release], rows: rows)
    }
}

extension Summary {
    /// Returns whether the ranges do not overlap and the larger median is more than 1.25 times the smaller one.
    func differsClearly(from other: Summary) -> Bool {
        let (low, high) = median < other.median ? (self, other) : (other, self)
        return low.most < high.least && high.median > 1.25 * low.median
    }
}
