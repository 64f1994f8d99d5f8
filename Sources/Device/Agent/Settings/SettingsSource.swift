import AgentModel

/// Source of the settings: an optional file and the environment. The environment overrides the file.
public struct SettingsSource: Sendable {
    public let file: String?
    public let environment: [String: String]
    /// Settings of other programs in the same file.
    let others: [Setting]
    private let accepts: @Sendable (_ value: String, _ other: Setting) -> Bool

    package init(
        file: String? = nil, environment: [String: String], others: [Setting] = [],
        accepting accepts: @escaping @Sendable (_ value: String, _ other: Setting) -> Bool = { _, _ in true }
    ) {
        self.file = file
        self.environment = environment
        self.others = others
        self.accepts = accepts
    }

    /// - Throws: all invalid settings.
    public func read() throws(InvalidSettings) -> AgentSettings {
        try AgentSettings(collect(), environment: environment)
    }

    struct Collected {
        var given: [String: SettingsReader.Given] = [:]
        var remarks: [String] = []
        /// Warnings, one for each setting with its name in the previous version.
        var warnings: [String] = []
        var problems: [InvalidSetting] = []
    }

    func collect() -> Collected {
        var collected = Collected()
        let names = (Setting.all + others).map(\.name)
        let renamed = Setting.renamed
        if let file {
            let content = SettingsFile(path: file)
            collected.problems = content.problems
            for entry in content.entries {
                collected.add(entry.name, entry.value, from: .file(path: file, line: entry.line), names, renamed)
            }
        }
        for (name, value) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix("ALTNET_") {
            collected.add(name, value, from: .environment, names, renamed)
        }
        for setting in others {
            guard let given = collected.given[setting.name], !accepts(given.text, setting) else { continue }
            collected.problems.append(
                InvalidSetting(
                    setting.name, "is \(given.text.quoted)", allowed: setting.form.allowed, origin: given.origin))
        }
        return collected
    }
}

extension SettingsSource.Collected {
    /// Refuses unknown names: a misspelled setting would otherwise be ignored.
    /// - Parameter renamed: new names, by their names in the previous version. Both names set the same setting.
    fileprivate mutating func add(
        _ written: String, _ value: String, from origin: SettingOrigin, _ names: [String], _ renamed: [String: String]
    ) {
        if Setting.removed.contains(written) {
            warnings.append("\(written) has no effect any more; remove it, because the next version refuses it")
            return
        }
        let name = renamed[written] ?? written
        guard names.contains(name) else {
            let nearest = names.min { $0.distance(to: name) < $1.distance(to: name) } ?? ""
            problems.append(
                InvalidSetting(
                    String(name.prefix(80)).printable, "is not a setting of altnet",
                    allowed: "those in Docs/reference/settings.md, such as \(nearest)", origin: origin))
            return
        }
        if name != written {
            warnings.append("\(written) is now \(name); the old name is read until the next version")
        }
        if let other = given[name] {
            // Each source has a name only once, so one entry has the old name and the other the new one.
            guard case .environment = origin, case .file = other.origin else {
                problems.append(
                    InvalidSetting(
                        written, "is already set by its other name in \(other.origin)", allowed: "once",
                        origin: origin))
                return
            }
            remarks.append("\(name) in the environment overrides the one in \(other.origin)")
        }
        given[name] = SettingsReader.Given(text: value, origin: origin)
    }
}

extension String {
    /// Number of bytes to insert, delete or replace (Levenshtein), in the first 64 bytes of each text.
    fileprivate func distance(to other: String) -> Int {
        let (from, to) = (Array(utf8.prefix(64)), Array(other.utf8.prefix(64)))
        var row = Array(0...to.count)
        for (index, byte) in from.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in to.indices {
                let change = diagonal + (byte == to[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = Swift.min(change, diagonal + 1, row[column] + 1)
            }
        }
        return row[to.count]
    }
}
