/// One line of a scenario file, read word by word from the left.
struct ScenarioLine {
    let file: String
    let number: Int
    private var words: ArraySlice<ScenarioWord>
    /// The word that was read last, for what is said about it afterwards.
    private var last: ScenarioWord?

    /// - Throws: `ScenarioError` where a quote or an escape in it is not complete.
    init(_ text: String, file: String, number: Int) throws(ScenarioError) {
        self.file = file
        self.number = number
        words = []
        words = try split(text)[...]
    }

    // MARK: Reading

    /// The next word as what `meaning` makes of it.
    /// - Parameter expected: What the error says where there is no word, or one without such a meaning.
    mutating func value<Value>(
        _ expected: @autoclosure () -> String, _ meaning: (ScenarioWord) -> Value?
    ) throws(ScenarioError) -> Value {
        last = words.popFirst()
        guard let value = last.flatMap(meaning) else { throw error(expected: expected()) }
        return value
    }

    /// The next word as one of the words that `Keyword` has.
    mutating func keyword<Keyword: ScenarioKeyword>(_ type: Keyword.Type) throws(ScenarioError) -> Keyword {
        try value(Keyword.choice) { $0.plain.flatMap(Keyword.init) }
    }

    /// The next word, if it is one of those that `Keyword` has.
    mutating func keyword<Keyword: ScenarioKeyword>(ifAny type: Keyword.Type) -> Keyword? {
        guard let keyword = words.first?.plain.flatMap(Keyword.init) else { return nil }
        last = words.popFirst()
        return keyword
    }

    /// The next of several options, which come in any order and each at most once; nil at the end of the line.
    mutating func option<Option: ScenarioKeyword>(outOf left: inout Set<Option>) throws(ScenarioError) -> Option? {
        guard !words.isEmpty else { return nil }
        let choices = Option.allCases.filter(left.contains).map { "\"\($0.rawValue)\"" } + ["the end of the line"]
        return try value(choices.joinedAsChoice) { $0.plain.flatMap(Option.init).flatMap { left.remove($0) } }
    }

    /// The next word, which can only be this one.
    mutating func expect(_ words: String...) throws(ScenarioError) {
        for word in words { try value("\"\(word)\"") { $0.plain == word ? () : nil } }
    }

    /// Whether the next word is this one, which is read then.
    mutating func take(_ word: String) -> Bool {
        guard words.first?.plain == word else { return false }
        last = words.popFirst()
        return true
    }

    func end() throws(ScenarioError) {
        if let word = words.first { throw error(expected: "the end of the line", word: word.text) }
    }

    // MARK: Errors

    /// An error about the word that was read last.
    func error(expected: String) -> ScenarioError { error(expected: expected, word: last?.text) }

    /// - Parameter word: nil stands for the end of the line.
    func error(expected: String, word: String?) -> ScenarioError {
        error(expected: expected, found: word.map(Self.shown) ?? "the end of the line")
    }

    func error(expected: String, found: String) -> ScenarioError {
        ScenarioError(file: file, line: number, expected: expected, found: found)
    }

    /// A line has no characters that could hide or move anything, so its words can be shown as they are.
    private static func shown(_ word: String) -> String {
        word.count > 40 ? "\"\(word.prefix(40))...\"" : "\"\(word)\""
    }

    // MARK: Words

    private func split(_ text: String) throws(ScenarioError) -> [ScenarioWord] {
        var words: [ScenarioWord] = []
        var rest = text.utf8[...]
        while true {
            rest = rest.drop(while: Self.isBlank)
            guard let first = rest.first, first != UInt8(ascii: "#") else { return words }
            let word = first == UInt8(ascii: "\"") ? try quoted(at: rest) : try unquoted(at: rest)
            words.append(word)
            rest = rest.dropFirst(word.text.utf8.count)
        }
    }

    private func unquoted(at start: Substring.UTF8View) throws(ScenarioError) -> ScenarioWord {
        let bytes = start.prefix { !Self.isBlank($0) }
        let text = String(Substring(bytes))
        guard !bytes.contains(UInt8(ascii: "\"")), !bytes.contains(UInt8(ascii: "\\")) else {
            throw error(expected: "quotes around the whole of a word that has quotes or a backslash", word: text)
        }
        return ScenarioWord(text: text, bytes: Array(bytes), isQuoted: false)
    }

    private func quoted(at start: Substring.UTF8View) throws(ScenarioError) -> ScenarioWord {
        var bytes: [UInt8] = []
        var rest = start.dropFirst()
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\\"):
                bytes.append(try escaped(&rest, in: start))
            case UInt8(ascii: "\""):
                guard rest.first.map(Self.isBlank) ?? true else {
                    throw error(expected: "a space after the closing quote", word: String(Substring(start)))
                }
                let text = start[..<rest.startIndex]
                return ScenarioWord(text: String(Substring(text)), bytes: bytes, isQuoted: true)
            default:
                bytes.append(byte)
            }
        }
        throw error(expected: "a closing quote", word: String(Substring(start)))
    }

    /// Reads what follows a backslash: `\\`, `\"` or `\xNN`.
    private func escaped(
        _ rest: inout Substring.UTF8View, in word: Substring.UTF8View
    ) throws(ScenarioError) -> UInt8 {
        switch rest.popFirst() {
        case UInt8(ascii: "\\"): return UInt8(ascii: "\\")
        case UInt8(ascii: "\""): return UInt8(ascii: "\"")
        case UInt8(ascii: "x"):
            let digits = rest.prefix(2)
            if digits.count == 2, digits.allSatisfy(Self.isHexDigit), let byte = UInt8(Substring(digits), radix: 16) {
                rest = rest.dropFirst(2)
                return byte
            }
        default: break
        }
        throw error(expected: "\\\\, \\\" or \\x and two hexadecimal digits", word: String(Substring(word)))
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte | 0x20
    }
}

/// Words that stand for a choice.
protocol ScenarioKeyword: RawRepresentable<String>, CaseIterable, Hashable {}

extension ScenarioKeyword {
    /// All of them, as an error names them.
    static var choice: String { allCases.map { "\"\($0.rawValue)\"" }.joinedAsChoice }
}

extension [String] {
    /// `a, b or c`.
    var joinedAsChoice: String {
        guard count > 1, let last else { return first ?? "" }
        return dropLast().joined(separator: ", ") + " or " + last
    }
}
