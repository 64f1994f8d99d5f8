import AgentModel

/// A setting that cannot be, or a line that is none: where it is, its name, what was found, and what is allowed.
public struct InvalidSetting: Error, Equatable, CustomStringConvertible {
    public let name: String
    public let problem: String
    public let allowed: String
    /// Nil where it is not set: then it is at odds with one that is.
    public let origin: SettingOrigin?

    init(_ name: String, _ problem: String, allowed: String, origin: SettingOrigin? = nil) {
        self.name = name
        self.problem = problem
        self.allowed = allowed
        self.origin = origin
    }

    public var description: String { "\(origin.map { "\($0): " } ?? "")\(name) \(problem); allowed: \(allowed)" }
}

/// The origin of a setting.
public enum SettingOrigin: Sendable, Equatable, CustomStringConvertible {
    case environment
    /// A line of a file, counted from 1.
    case file(path: String, line: Int)

    public var description: String {
        switch self {
        case .environment: "environment"
        case .file(let path, let line): "\(path.printable):\(line)"
        }
    }
}

/// Everything that is wrong with the settings, in their order.
public struct InvalidSettings: Error, Equatable, CustomStringConvertible {
    /// One at least.
    public let problems: [InvalidSetting]
    /// More problems than a user reads in one go are counted only.
    static let told = 50

    /// A line for each.
    public var lines: [String] {
        problems.prefix(Self.told).map(\.description)
            + (problems.count > Self.told ? ["... and \(problems.count - Self.told) more"] : [])
    }

    public var description: String { lines.joined(separator: "\n") }

    /// One line: the first, and how many more there are.
    public var summary: String {
        let more = problems.count > 1 ? " (and \(problems.count - 1) more: see 'altnet agent --check-config')" : ""
        return problems.prefix(1).map(\.description).joined() + more
    }
}

extension String {
    /// The value as a message quotes it: printable, and no longer than a line.
    var quoted: String {
        let text = String(withoutCredentials.prefix(81)).printable
        return "\"\(text.count > 80 ? text.prefix(80) + "..." : text[...])\""
    }
}
