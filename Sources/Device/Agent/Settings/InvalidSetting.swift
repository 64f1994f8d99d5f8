import AgentModel

public struct InvalidSetting: Error, Equatable, CustomStringConvertible {
    public let name: String
    public let problem: String
    public let allowed: String
    /// Origin of the setting; nil if it is not set and its default contradicts another setting.
    public let origin: SettingOrigin?

    init(_ name: String, _ problem: String, allowed: String, origin: SettingOrigin? = nil) {
        self.name = name
        self.problem = problem
        self.allowed = allowed
        self.origin = origin
    }

    public var description: String { "\(origin.map { "\($0): " } ?? "")\(name) \(problem); allowed: \(allowed)" }
}

public enum SettingOrigin: Sendable, Equatable, CustomStringConvertible {
    case environment
    /// A line of a file. The number of the line counts from 1.
    case file(path: String, line: Int)

    public var description: String {
        switch self {
        case .environment: "environment"
        case .file(let path, let line): "\(path.printable):\(line)"
        }
    }
}

public struct InvalidSettings: Error, Equatable, CustomStringConvertible {
    public let problems: [InvalidSetting]
    /// Maximum number of problems in a message. Further problems are only counted.
    static let reportLimit = 50

    public var lines: [String] {
        problems.prefix(Self.reportLimit).map(\.description)
            + (problems.count > Self.reportLimit ? ["... and \(problems.count - Self.reportLimit) more"] : [])
    }

    public var description: String { lines.joined(separator: "\n") }

    /// The problems in one line: the first problem and the number of further problems.
    public var summary: String {
        let more = problems.count > 1 ? " (and \(problems.count - 1) more: see 'altnet agent --check-config')" : ""
        return problems.prefix(1).map(\.description).joined() + more
    }
}

extension String {
    /// The value in quotes: printable, without credentials, cut to 80 characters.
    var quoted: String {
        let text = String(withoutCredentials.prefix(81)).printable
        return "\"\(text.count > 80 ? text.prefix(80) + "..." : text[...])\""
    }
}
