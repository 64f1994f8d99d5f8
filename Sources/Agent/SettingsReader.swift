import Logging

/// Takes settings out of the environment one by one, and knows in the end which were never asked for.
struct SettingsReader {
    private let variables: [String: String]
    private var known: Set<String> = []

    init(_ environment: [String: String]) {
        variables = environment.filter { $0.key.hasPrefix("ALTNET_") }
    }

    mutating func text(
        _ name: String, default value: String, where isAllowed: (String) -> Bool = { _ in true }
    ) throws(InvalidSetting) -> String {
        known.insert(name)
        let text = variables[name] ?? value
        guard !text.isEmpty, isAllowed(text) else {
            throw InvalidSetting(name: name, problem: "is \"\(text)\"", allowed: "a name such as \(value)")
        }
        return text
    }

    /// A text that need not be set and that somebody else judges.
    mutating func anyText(_ name: String) -> String? {
        known.insert(name)
        return variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    mutating func path(_ name: String, default value: String) throws(InvalidSetting) -> String {
        try text(name, default: value) { $0.hasPrefix("/") && !$0.utf8.contains(0) }
    }

    /// A path that need not be set.
    mutating func path(_ name: String, example: String) throws(InvalidSetting) -> String? {
        known.insert(name)
        return variables[name] == nil ? nil : try path(name, default: example)
    }

    mutating func number(_ name: String, default value: Int, in range: ClosedRange<Int>) throws(InvalidSetting) -> Int {
        known.insert(name)
        guard let text = variables[name] else { return value }
        guard let number = Int(text), range.contains(number) else {
            throw InvalidSetting(
                name: name, problem: "is \"\(text)\"",
                allowed: "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func level(_ name: String, default value: Logger.Level) throws(InvalidSetting) -> Logger.Level {
        known.insert(name)
        guard let text = variables[name] else { return value }
        guard let level = Logger.Level(rawValue: text) else {
            throw InvalidSetting(
                name: name, problem: "is \"\(text)\"",
                allowed: Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return level
    }

    /// Permissions of a file, in octal.
    mutating func permissions(_ name: String, default value: UInt32) throws(InvalidSetting) -> UInt32 {
        known.insert(name)
        guard let text = variables[name] else { return value }
        guard let mode = UInt32(text, radix: 8), mode <= 0o777 else {
            throw InvalidSetting(name: name, problem: "is \"\(text)\"", allowed: "permissions in octal, such as 0660")
        }
        return mode
    }

    /// A group of users, by its name or its number.
    mutating func group(_ name: String) throws(InvalidSetting) -> UInt32? {
        known.insert(name)
        guard let text = variables[name] else { return nil }
        guard let group = UInt32(text) ?? UserGroup.number(of: text) else {
            throw InvalidSetting(
                name: name, problem: "is \"\(text)\"", allowed: "the name or the number of a group of this machine")
        }
        return group
    }

    /// A time in whole seconds.
    mutating func read(
        _ name: String, into duration: inout Duration, in range: ClosedRange<Int>
    ) throws(InvalidSetting) {
        duration = .seconds(try number(name, default: Int(duration.components.seconds), in: range))
    }

    /// A misspelt setting would silently be no setting at all.
    func finish() throws(InvalidSetting) {
        guard let stray = variables.keys.filter({ !known.contains($0) }).min() else { return }
        throw InvalidSetting(
            name: stray, problem: "is no setting of altnet", allowed: known.sorted().joined(separator: ", "))
    }
}
