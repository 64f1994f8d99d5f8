import AgentModel

/// Costs of the access points in each second of a pass, in addition to outage. All runs of the same world share the
/// table.
///
/// Only delivered traffic counts, because lost traffic is outage. The table samples the signals in the middle of each
/// second and keeps running sums, so that any range takes two look-ups.
final class BurdenTable: Sendable {
    struct Burden: Sendable, Hashable {
        /// Seconds, weighted with the additional utility (0 to 1) of the best access point in range.
        var worse = 0.0
        /// Seconds in which the device is on another network although the preferred network is good.
        var away = 0.0

        func weighed(by measure: Measure) -> Double { measure.worse * worse + measure.away * away }
    }

    /// Burdens by access point, before a sign-in; nil for an access point that never forwards traffic.
    private let rows: [Row?]
    /// Burdens by access point, after a sign-in at a login page; empty without sign-ins.
    private let signedInRows: [Row?]
    /// Starts of the seconds in which a burden changes, in milliseconds.
    let changes: [Int64]

    private struct Row: Sendable {
        var sums: [Burden] = []
        var rates: [Burden] = []
    }

    private static let second: Int64 = 1000
    /// Minimum share of traffic that a good network delivers, 0 to 1.
    static let good = 0.999

    init(_ world: World) {
        let signsIn = world.scenario.signInTime != nil
        let survey = Survey(world, signsIn: signsIn)
        (rows, changes) = survey.rows(signedIn: false)
        signedInRows = signsIn ? survey.rows(signedIn: true).rows : []
    }

    /// - Parameter time: range within the first pass, in milliseconds.
    func burden(of accessPoint: Int, in time: Range<Int64>, signedIn: Bool = false) -> Burden {
        let rows = signedIn && !signedInRows.isEmpty ? signedInRows : rows
        guard let row = rows[accessPoint] else { return Burden() }
        let (start, end) = (Self.sum(row, to: time.lowerBound), Self.sum(row, to: time.upperBound))
        return Burden(worse: end.worse - start.worse, away: end.away - start.away)
    }

    private static func sum(_ row: Row, to moment: Int64) -> Burden {
        guard !row.rates.isEmpty else { return Burden() }
        let index = min(Int(moment / second), row.rates.count - 1)
        let (sum, rate) = (row.sums[index], row.rates[index])
        let rest = Double(moment - Int64(index) * second) / Double(second)
        return Burden(worse: sum.worse + rest * rate.worse, away: sum.away + rest * rate.away)
    }

    private struct Survey {
        private let world: World
        private let useful: [Int]
        private let best: [Double]
        private let isHomeGood: [Bool]
        private let preferred: Steps<Int?>

        init(_ world: World, signsIn: Bool) {
            self.world = world
            preferred = world.preferences
            useful = world.accessPoints.filter { ap in
                world.network(of: ap) != nil && world.tracks[ap].isInReach
                    && world.tracks[ap].states.all.contains { $0.admission == .admitted && $0.isOn }
            }
            var best: [Double] = []
            var isHomeGood: [Bool] = []
            for moment in stride(from: BurdenTable.second / 2, to: world.passLength, by: Int(BurdenTable.second)) {
                var highest = 0.0
                var isGood = false
                let home = preferred.step(at: moment).value
                for ap in useful where world.isJoinable(ap, at: .milliseconds(moment)) {
                    let look = Self.look(at: ap, world, moment, signedIn: signsIn)
                    highest = max(highest, look.utility)
                    if look.share >= BurdenTable.good, home == world.network(of: ap) { isGood = true }
                }
                best.append(highest)
                isHomeGood.append(isGood)
            }
            self.best = best
            self.isHomeGood = isHomeGood
        }

        private static func look(
            at accessPoint: Int, _ world: World, _ moment: Int64, signedIn: Bool
        ) -> (share: Double, utility: Double) {
            guard world.span(of: accessPoint, at: moment).isUseful(signedIn: signedIn) else { return (0, 0) }
            let share = 1 - world.loss(of: accessPoint, at: moment)
            let signal = world.signal(of: accessPoint, at: moment)
            return (share, LinkRate.utility(at: signal, share: share))
        }

        func rows(signedIn: Bool) -> (rows: [Row?], changes: [Int64]) {
            var rows = [Row?](repeating: nil, count: world.tracks.count)
            var changes: Set<Int64> = []
            for ap in useful {
                var row = Row()
                row.sums.reserveCapacity(best.count)
                row.rates.reserveCapacity(best.count)
                var sum = Burden()
                for index in best.indices {
                    let start = Int64(index) * BurdenTable.second
                    let moment = start + BurdenTable.second / 2
                    let look = Self.look(at: ap, world, moment, signedIn: signedIn)
                    let isAway = isHomeGood[index] && preferred.step(at: moment).value != world.network(of: ap)
                    let rate = Burden(
                        worse: look.share * max(0, best[index] - look.utility), away: isAway ? look.share : 0)
                    if row.rates.last != rate { changes.insert(start) }
                    row.sums.append(sum)
                    row.rates.append(rate)
                    sum.worse += rate.worse
                    sum.away += rate.away
                }
                rows[ap] = row
            }
            return (rows, changes.sorted())
        }
    }
}

extension World {
    /// Index of the network that the user wants, over time: the preferred network, then the target of each command. A
    /// command counts if its network is joinable and the app gives a required confirmation.
    fileprivate var preferences: Steps<Int?> {
        var preferences = Steps<Int?>(scenario.networks.firstIndex { $0.isPreferred })
        for happening in happenings {
            guard case .command(let ssid, let confirmWithin, let confirmAfter) = happening.change,
                confirmWithin == nil || confirmAfter != nil,
                let network = scenario.networks.firstIndex(where: { $0.ssid == ssid }),
                accessPoints.contains(where: {
                    self.network(of: $0) == network && isJoinable($0, at: happening.at)
                })
            else { continue }
            preferences.set(network, from: happening.at.milliseconds)
        }
        return preferences
    }
}
