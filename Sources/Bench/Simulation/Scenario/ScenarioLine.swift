import AgentModel

/// One line of a scenario file, read word by word.
struct ScenarioLine {
    let file: String
    let number: Int
    private var words: ArraySlice<ScenarioWord>
    /// The word that was read last, for errors.
    private var last: ScenarioWord?

    /// - Throws: `ScenarioError` for an incomplete quote or escape.
    init(_ text: String, file: String, number: Int) throws(ScenarioError) {
        self.file = file
        self.number = number
        words = []
        words = try split(text)[...]
    }

    // MARK: Reading

    /// Returns the next word as converted by `meaning`.
    /// - Parameter expected: text of the error for a missing or invalid word.
    mutating func value<Value>(
        _ expected: @autoclosure () -> String, _ meaning: (ScenarioWord) -> Value?
    ) throws(ScenarioError) -> Value {
        last = words.popFirst()
        guard let value = last.flatMap(meaning) else { throw error(expected: expected()) }
        return value
    }

    mutating func keyword<Keyword: ScenarioKeyword>(_ type: Keyword.Type) throws(ScenarioError) -> Keyword {
        try value(Keyword.choice) { $0.plain.flatMap(Keyword.init) }
    }

    mutating func keyword<Keyword: ScenarioKeyword>(ifAny type: Keyword.Type) -> Keyword? {
        guard let keyword = words.first?.plain.flatMap(Keyword.init) else { return nil }
        last = words.popFirst()
        return keyword
    }

    /// Reads the next option. Options have any order, each at most once.
    /// - Parameter left: options that were not read yet.
    /// - Returns: nil at the end of the line.
    mutating func option<Option: ScenarioKeyword>(outOf left: inout Set<Option>) throws(ScenarioError) -> Option? {
        guard !words.isEmpty else { return nil }
        let choices = Option.allCases.filter(left.contains).map { "\"\($0.rawValue)\"" } + ["the end of the line"]
        return try value(choices.joinedAsChoice) { $0.plain.flatMap(Option.init).flatMap { left.remove($0) } }
    }

    mutating func expect(_ words: String...) throws(ScenarioError) {
        for word in words { try value("\"\(word)\"") { $0.plain == word ? () : nil } }
    }

    /// Reads the next word if it equals `word`.
    /// - Returns: whether the word was read.
    mutating func consume(_ word: String) -> Bool {
        guard words.first?.plain == word else { return false }
        last = words.popFirst()
        return true
    }

    func end() throws(ScenarioError) {
        if let word = words.first { throw error(expected: "the end of the line", word: word.text) }
    }

    // MARK: Errors

    func error(expected: String) -> ScenarioError { error(expected: expected, word: last?.text) }

    /// - Parameter word: the word that was found; nil for the end of the line.
    func error(expected: String, word: String?) -> ScenarioError {
        error(expected: expected, found: word.map(Self.shown) ?? "the end of the line")
    }

    func error(expected: String, found: String) -> ScenarioError {
        ScenarioError(file: file, line: number, expected: expected, found: found)
    }

    /// Returns the word, cut and in quotes, for an error. It is safe to show, as lines have only visible characters.
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

    /// Reads an escape after its first backslash: `\\`, `\"` or `\xNN`.
    private func escaped(
        _ rest: inout Substring.UTF8View, in word: Substring.UTF8View
    ) throws(ScenarioError) -> UInt8 {
        switch rest.popFirst() {
        case UInt8(ascii: "\\"): return UInt8(ascii: "\\")
        case UInt8(ascii: "\""): return UInt8(ascii: "\"")
        case UInt8(ascii: "x"):
            let digits = rest.prefix(2).compactMap(Hex.value(of:))
            if digits.count == 2 {
                rest = rest.dropFirst(2)
                return digits[0] << 4 | digits[1]
            }
        default: break
        }
        throw error(expected: "\\\\, \\\" or \\x and two hexadecimal digits", word: String(Substring(word)))
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}

protocol ScenarioKeyword: RawRepresentable<String>, CaseIterable, Hashable {}

extension ScenarioKeyword {
    static var choice: String { allCases.map { "\"\($0.rawValue)\"" }.joinedAsChoice }
}

extension [String] {
    /// The words joined as a choice, such as `a, b or c`.
    var joinedAsChoice: String {
        guard count > 1, let last else { return first ?? "" }
        return dropLast().joined(separator: ", ") + " or " + last
    }
}

extension ScenarioLine {
    mutating func duration(
        from shortest: Duration = .zero, _ expected: String = "a time with its unit, such as 90s or 1h30m"
    ) throws(ScenarioError) -> Duration {
        try value(expected) { $0.duration(from: shortest) }
    }

    mutating func point() throws(ScenarioError) -> Scenario.Point {
        try value("a place in metres such as 20,-5.5") { $0.point }
    }

    mutating func ssid() throws(ScenarioError) -> SSID {
        try value("a network's name of 1 to 32 bytes") { $0.ssid }
    }

    mutating func signal() throws(ScenarioError) -> Int {
        try value("a signal in dBm such as -60") { $0.signal }
    }

    mutating func decibels() throws(ScenarioError) -> Double {
        try value("decibels from 0 to 60 such as 3.5") { $0.decimal(in: 0...60, unit: "dB") }
    }

    mutating func password() throws(ScenarioError) -> String {
        try value("a password of 8 to 63 printable ASCII characters") { $0.password }
    }

    /// Reads `password made-up-word` or `open`.
    mutating func access() throws(ScenarioError) -> Access {
        switch try keyword(Access.Keyword.self) {
        case .open: .open
        case .password: .password(try password())
        }
    }

    enum Access {
        case open
        case password(String)

        enum Keyword: String, ScenarioKeyword {
            case password, open
        }

        var password: String? {
            switch self {
            case .open: nil
            case .password(let password): password
            }
        }
    }

    mutating func internet() throws(ScenarioError) -> Scenario.AccessPoint.Internet {
        try keyword(Scenario.AccessPoint.Internet.self)
    }

    /// Reads `300ms` or `none`.
    mutating func addressTime() throws(ScenarioError) -> Duration? {
        consume("none") ? nil : try duration("a time such as 300ms, or \"none\"")
    }
}

extension Scenario.AccessPoint.Internet: ScenarioKeyword {}

extension ScenarioWord {
    var signal: Int? { integer(in: -110 ... -1, unit: "dBm") }

    func duration(
        from shortest: Duration, to longest: Duration = ScenarioParser.longestDuration
    ) -> Duration? {
        duration.flatMap { (shortest...longest).contains($0) ? $0 : nil }
    }

    /// Converts each part of a list such as `a,b,c`; nil if a part is invalid.
    func list<Value>(_ meaning: (ScenarioWord) -> Value?) -> [Value]? {
        guard let parts = plain?.split(separator: ",", omittingEmptySubsequences: false) else { return nil }
        let values = parts.compactMap { part in
            meaning(ScenarioWord(text: String(part), bytes: Array(part.utf8), isQuoted: false))
        }
        return values.count == parts.count ? values : nil
    }

    /// Frequency of a channel number on 2.4 or 5 GHz; nil if invalid.
    var frequency: Frequency? {
        guard let channel = integer(in: 1...177, unit: "") else { return nil }
        return switch channel {
        case 1...13: Frequency(megahertz: 2407 + 5 * channel)
        case 14: Frequency(megahertz: 2484)
        case 36...64 where channel.isMultiple(of: 4), 100...144 where channel.isMultiple(of: 4),
            149...177 where channel % 4 == 1:
            Frequency(megahertz: 5000 + 5 * channel)
        default: nil
        }
    }
}

/// An error in a scenario file: its place, and the expected and the found content.
public struct ScenarioError: Error, Hashable, CustomStringConvertible {
    public let file: String
    /// Number of the line, counted from 1; nil for the whole file.
    public let line: Int?
    public let expected: String
    public let found: String

    public init(file: String, line: Int?, expected: String, found: String) {
        self.file = file
        self.line = line
        self.expected = expected
        self.found = found
    }

    public var description: String {
        let place = line.map { "\(file):\($0)" } ?? file
        return "\(place): expected \(expected), found \(found)"
    }
}
