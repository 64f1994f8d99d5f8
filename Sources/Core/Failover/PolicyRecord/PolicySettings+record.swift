extension PolicySettings {
    /// All settings as the words of a line: `margin=8 five.weak=-76`.
    var recorded: String {
        PolicySetting.all.compactMap { setting in setting.value(in: self).map { "\(setting.name)=\($0)" } }
            .joined(separator: " ")
    }

    /// Reads what `recorded` wrote, to the end of the line.
    init(_ words: inout RecordWords) throws(RecordWords.Fault) {
        self.init()
        while !words.isAtEnd {
            let word = try words.text("a setting")
            guard let equals = word.firstIndex(of: "=") else {
                throw RecordWords.Fault(expected: "a setting of the policy and its value")
            }
            if PolicySetting.isRetired(word[..<equals]) { continue }
            guard let setting = PolicySetting.named(word[..<equals]) else {
                throw RecordWords.Fault(expected: "a setting of the policy and its value")
            }
            guard setting.set(word[word.index(after: equals)...], in: &self) else {
                throw RecordWords.Fault(expected: setting.form)
            }
        }
    }
}
