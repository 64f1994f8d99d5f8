import AgentModel

/// The words of a line, read one after the other.
struct RecordWords {
    private var rest: ArraySlice<Substring>

    /// The expected content of a line that has something else.
    struct Fault: Error, Equatable {
        let expected: String
    }

    init(_ line: Substring) { rest = line.split(separator: " ", omittingEmptySubsequences: false)[...] }

    mutating func next<Word: RecordWord>(_: Word.Type = Word.self) throws(Fault) -> Word {
        guard let word = rest.popFirst(), let value = Word(word: word) else { throw Fault(expected: Word.form) }
        return value
    }

    /// One of the words that `values` has.
    mutating func next<Value>(of values: KeyValuePairs<String, Value>) throws(Fault) -> Value {
        let word = rest.popFirst()
        guard let value = values.first(where: { $0.key[...] == word })?.value else {
            throw Fault(expected: "one of " + values.map(\.key).joined(separator: ", "))
        }
        return value
    }

    mutating func text(_ form: String) throws(Fault) -> Substring {
        guard let word = rest.popFirst(), !word.isEmpty else { throw Fault(expected: form) }
        return word
    }

    var isAtEnd: Bool { rest.isEmpty }

    func finish() throws(Fault) {
        guard rest.isEmpty else { throw Fault(expected: "the end of the line") }
    }
}

/// A value that is one word of a record's line: without spaces, and unambiguous.
protocol RecordWord {
    /// - Returns: nil for a word that does not stand for such a value.
    init?(word: Substring)
    var word: String { get }

    /// The form of such a word, for an error message.
    static var form: String { get }
}

extension Int: RecordWord {
    init?(word: Substring) {
        // Far beyond any signal, and far from where reckoning with it could overflow.
        guard let number = Int(word), (-1_000_000...1_000_000).contains(number) else { return nil }
        self = number
    }
    var word: String { "\(self)" }
    static var form: String { "a whole number" }
}

extension UInt64: RecordWord {
    init?(word: Substring) { self.init(word) }
    var word: String { "\(self)" }
    static var form: String { "a whole number that is not negative" }
}

extension NetworkID: RecordWord {
    init?(word: Substring) {
        guard let value = Int(word) else { return nil }
        self.init(value)
    }
    var word: String { "\(rawValue)" }
    static var form: String { "a network's number" }
}

extension BSSID: RecordWord {
    init?(word: Substring) { self.init(word) }
    var word: String { description }
    static var form: String { "a BSSID such as 02:00:00:00:01:00" }
}

extension Frequency: RecordWord {
    init?(word: Substring) {
        guard let megahertz = Int(word), (1...100_000).contains(megahertz) else { return nil }
        self.init(megahertz: megahertz)
    }
    var word: String { "\(megahertz)" }
    static var form: String { "a frequency in MHz" }
}

extension Instant: RecordWord {
    init?(word: Substring) {
        // Far beyond any uptime, and far from where adding a wait to it could overflow.
        guard let milliseconds = Int64(word), (0...(1 << 50)).contains(milliseconds) else { return nil }
        self.init(milliseconds: milliseconds)
    }
    var word: String { "\(milliseconds)" }
    static var form: String { "a time in milliseconds" }
}

extension Duration: RecordWord {
    init?(word: Substring) { self.init(inUnits: word) }

    var word: String {
        milliseconds.isMultiple(of: 1000) ? "\(milliseconds / 1000)s" : "\(milliseconds)ms"
    }

    static var form: String { "a time such as 30s or 2500ms" }
}

extension SSID: RecordWord {
    init?(word: Substring) { self.init(percentEncoded: word) }
    var word: String { percentEncoded }
    static var form: String { "an SSID such as Home%20Net" }
}

extension Optional: RecordWord where Wrapped: RecordWord {
    init?(word: Substring) {
        if word == "-" {
            self = .none
        } else if let value = Wrapped(word: word) {
            self = value
        } else {
            return nil
        }
    }
    var word: String { map(\.word) ?? "-" }
    static var form: String { "\(Wrapped.form), or -" }
}

extension Array: RecordWord where Element: RecordWord {
    init?(word: Substring) {
        guard word != "-" else {
            self = []
            return
        }
        self = []
        for part in word.split(separator: ",", omittingEmptySubsequences: false) {
            guard let element = Element(word: part) else { return nil }
            append(element)
        }
    }
    var word: String { isEmpty ? "-" : map(\.word).joined(separator: ",") }
    static var form: String { "\(Element.form), or several with commas between them, or -" }
}

/// A value with a fixed set of names.
protocol NamedRecordWord: RecordWord, CaseIterable, RawRepresentable where RawValue == String {}

extension NamedRecordWord {
    init?(word: Substring) { self.init(rawValue: String(word)) }
    var word: String { rawValue }
    static var form: String { "one of " + allCases.map(\.rawValue).joined(separator: ", ") }
}

extension JoinFailure: NamedRecordWord {}
extension LinkEnd: NamedRecordWord {}

extension ProbeResult: NamedRecordWord {}
extension Security: NamedRecordWord {}
extension Uplink: NamedRecordWord {}

extension BSS: RecordWord {
    init?(word: Substring) {
        let parts = word.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 6 || parts.count == 7, let bssid = BSSID(word: parts[0]), let ssid = SSID?(word: parts[1]),
            let frequency = Frequency(word: parts[2]), let signal = Int(word: parts[3]), (-200...100).contains(signal),
            let lastSeen = Instant(word: parts[4]), let security = Security(word: parts[5])
        else { return nil }
        var protection: LinkProtection?
        if parts.count == 7 {
            guard let letters = LinkProtection(word: parts[6]) else { return nil }
            protection = letters
        }
        self.init(
            bssid: bssid, ssid: ssid, frequency: frequency, signal: signal, lastSeen: lastSeen, security: security,
            protection: protection)
    }

    /// Leaves out the access point's offer if it follows from its security, as in records of versions without it.
    var word: String {
        let words = [bssid.word, ssid.word, frequency.word, signal.word, lastSeen.word, security.word]
        let offer = protection == LinkProtection(usualOf: security) ? [] : [protection.word]
        return (words + offer).joined(separator: "/")
    }

    static var form: String { "an access point as BSSID/SSID/MHz/dBm/ms/security, and what else it offers" }
}

extension LinkProtection: RecordWord {
    private static let letters: [(Character, LinkProtection)] = [("s", .sae), ("m", .pmf), ("o", .owe)]

    init?(word: Substring) {
        self = []
        for letter in word where letter != "-" {
            guard let part = Self.letters.first(where: { $0.0 == letter }) else { return nil }
            insert(part.1)
        }
    }

    var word: String { isEmpty ? "-" : String(Self.letters.filter { contains($0.1) }.map(\.0)) }
    static var form: String { "letters, with s for SAE, m for protected management frames, o for OWE" }
}

extension KnownNetwork: RecordWord {
    init?(word: Substring) {
        let parts = word.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, let id = NetworkID(word: parts[0]), let ssid = SSID(word: parts[1]),
            parts[2].allSatisfy({ "phbsmo-".contains($0) }),
            let floor = LinkProtection(word: parts[2].filter { !"phb".contains($0) }[...])
        else { return nil }
        self.init(
            id: id, ssid: ssid, usesPassphrase: parts[2].contains("p"), isHidden: parts[2].contains("h"),
            isPreferred: parts[2].contains("b"), floor: floor)
    }

    var word: String {
        let flags =
            (usesPassphrase ? "p" : "") + (isHidden ? "h" : "") + (isPreferred ? "b" : "")
            + (floor.isEmpty ? "" : floor.word)
        return "\(id.word)/\(ssid.word)/\(flags.isEmpty ? "-" : flags)"
    }

    static var form: String {
        "a network as number/SSID/flags, with p for a password, h for hidden, b for belonging, and its floor's letters"
    }
}
