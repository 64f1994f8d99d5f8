@testable import Agent

extension FuzzTarget {
    /// A file is read or refused line by line. What is read is the same once it is written with quotes; the settings
    /// that come of it are in their ranges, or refused with words that can be shown.
    static let settings = FuzzTarget(
        "settings", "the settings file, and the values in it", longest: 2048,
        seeds: { [TestFile.settings] + bytes(SettingsSample.all) },
        preparing: {
            let names = Set(Setting.all.map(\.name))
            return { bytes in read(bytes, names: names) }
        })
}

/// - Parameter names: of all settings that there are.
private func read(_ bytes: [UInt8], names: Set<String>) {
    let file = SettingsFile(path: "/f", content: bytes)
    precondition(Set(file.entries.map(\.name)).count == file.entries.count, "a setting is there twice")
    for problem in file.problems { check(problem) }
    let quoted = file.entries.map { "\($0.name)=\"\(escaped($0.value))\"\n" }.joined()
    let again = SettingsFile(path: "/f", content: Array(quoted.utf8))
    precondition(again.problems.isEmpty && again.entries.map(\.value) == file.entries.map(\.value))
    // One name that is unknown is as good as many, and looking for the nearest takes a millisecond for each.
    let known =
        file.entries.filter { names.contains($0.name) } + file.entries.filter { !names.contains($0.name) }.prefix(1)
    let values = Dictionary(known.map { ($0.name, $0.value) }) { first, _ in first }
    do throws(InvalidSettings) {
        let settings = try AgentSettings(environment: values)
        precondition(settings.lanPort.map { (1...65_535).contains($0) } ?? true)
        precondition(!settings.interface.isEmpty && settings.recordLimit > 0)
    } catch {
        precondition(!error.problems.isEmpty && error.lines.count <= InvalidSettings.told + 1)
        for problem in error.problems { check(problem) }
    }
}

private func check(_ problem: InvalidSetting) {
    precondition(problem.description.unicodeScalars.allSatisfy(\.isPlain), "a message that cannot be shown")
    precondition(problem.description.utf8.count < 4096)
}

private func escaped(_ value: String) -> String {
    value.map { "\"\\`$".contains($0) ? "\\\($0)" : "\($0)" }.joined()
}

private enum SettingsSample {
    static let all = [
        "ALTNET_INTERFACE=wlan1\nALTNET_LAN_PORT=0\n", "ALTNET_TARGETS=\"a=b.example:1 c=d.example:2\"\n",
        "# c\n\t ALTNET_MARGIN_DB = 9 \t\r\nALTNET_VALIDATION_BODY='it is \"right\"\\'\n",
        "ALTNET_RECORD=\"/a\\\\b\\\"c\\$d\\`e\"\n",
        "ALTNET_SOCKET_MODE=0660\nALTNET_COUNTRY=DE\nALTNET_LOG_LEVEL=debug\n",
    ]
}

extension TestFile {
    /// All settings with their defaults, a line each.
    fileprivate static var settings: [UInt8] {
        Array(Setting.all.map { "\($0.name)=\($0.example)\n" }.joined().utf8.prefix(2000))
    }
}
