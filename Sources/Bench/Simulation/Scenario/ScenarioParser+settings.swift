import Failover

extension ScenarioParser {
    /// `set margin 10`, `set weakScan.first 20s`, `set validation on`
    mutating func readSetting(_ line: inout ScenarioLine) throws(ScenarioError) {
        var warnings: [String] = []
        defer { scenario.warnings += warnings }
        let setting = try line.value("the name of a setting of the policy, such as \"margin\"") {
            word -> PolicySetting? in
            guard let name = word.plain, let setting = PolicySetting.named(name) else { return nil }
            if let warning = PolicySetting.warning(about: name) { warnings.append(warning) }
            return setting
        }
        guard settingLines.updateValue(line.number, forKey: setting.name) == nil else {
            throw line.error(expected: "a setting that is not set yet")
        }
        try line.value(setting.form) { word in
            word.plain.flatMap { setting.set($0, in: &scenario.settings) ? () : nil }
        }
    }

    /// Names the line of the setting that the contradiction is about, or else, as that one was not set, the last that was.
    func checkSettings() throws(ScenarioError) {
        guard let contradiction = scenario.settings.contradiction else { return }
        throw ScenarioError(
            file: file, line: settingLines[contradiction.setting] ?? settingLines.values.max(),
            expected: "settings that agree", found: "that \(contradiction)")
    }
}
