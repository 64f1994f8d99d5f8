import AgentModel
import AppProtocol

/// State of one modem, as root's helper (board/systemd/altnet-modem) reports it from ModemManager.
struct ModemReport: Equatable, Sendable {
    struct Bearer: Equatable, Sendable {
        /// Network interface, or serial port of PPP.
        var interface: String?
        var isConnected = false
    }

    var state = ModemStatus.State.unknown
    /// Signal quality, 0 to 100.
    var quality: Int?
    var technology: ModemStatus.Technology?
    var operatorName: String?
    var interfaces: Set<String> = []
    /// RSSI in dBm.
    var rssi: Int?
    /// RSRP in dBm.
    var rsrp: Int?
    var bearers: [Bearer] = []
}

enum ModemReportError: Error, Equatable {
    case tooLong
    /// The answer does not begin with the version line: the helper ended early or has another version.
    case notAnAnswer
    case incomplete
    /// Number of the malformed line, from 1.
    case line(Int)
    case tooMany(line: Int)
}

extension ModemReportError: CustomStringConvertible {
    var description: String {
        switch self {
        case .tooLong: "the modem helper's answer is longer than \(ModemReport.longestAnswer) bytes"
        case .notAnAnswer: "the modem's helper gave no answer: see journalctl -u 'altnet-modem@*'"
        case .incomplete: "the modem helper's answer is incomplete"
        case .line(let number): "malformed answer of the modem's helper in line \(number)"
        case .tooMany(let number): "too many entries in the modem helper's answer in line \(number)"
        }
    }
}

extension ModemReport {
    /// Maximum length of an answer in bytes.
    static let longestAnswer = 20_000
    static let maximumModems = 4
    static let maximumBearers = 4
    private static let maximumValues = 64

    /// Parses the helper's answer. Ignores unknown properties and values out of range.
    static func read(_ answer: some Collection<UInt8>) throws(ModemReportError) -> [ModemReport] {
        guard answer.count <= longestAnswer else { throw .tooLong }
        var lines = answer.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
        guard let first = lines.popFirst(), first.elementsEqual("altnet-modem 1".utf8) else { throw .notAnAnswer }
        guard lines.popLast()?.isEmpty == true, lines.popLast()?.elementsEqual("end".utf8) == true else {
            throw .incomplete
        }
        var modems: [ModemReport] = []
        for (number, line) in zip(2..., lines) {
            if line.elementsEqual("modem".utf8) {
                guard modems.count < maximumModems else { throw .tooMany(line: number) }
                modems.append(ModemReport())
                continue
            }
            guard let last = modems.indices.last else { throw .line(number) }
            if line.elementsEqual("bearer".utf8) {
                guard modems[last].bearers.count < maximumBearers else { throw .tooMany(line: number) }
                modems[last].bearers.append(Bearer())
                continue
            }
            guard var words = BusWords(line) else { throw .line(number) }
            guard words.count <= maximumValues else { throw .tooMany(line: number) }
            guard modems[last].readProperty(&words) else { throw .line(number) }
        }
        return modems
    }

    /// - Returns: false if a known property has the wrong type.
    private mutating func readProperty(_ words: inout BusWords) -> Bool {
        guard case .plain(let name) = words.next() else { return false }
        switch name {
        case "State":
            guard words.type("i"), let number = words.integer() else { return false }
            state = ModemStatus.State(number: number)
        case "SignalQuality":
            guard words.type("(ub)"), let number = words.integer(), words.flag() != nil else { return false }
            quality = (0...100).contains(number) ? number : nil
        case "AccessTechnologies":
            guard words.type("u"), let bits = words.integer() else { return false }
            technology = ModemStatus.Technology(bits: bits)
        case "Ports":
            guard words.type("a(su)"), let count = words.integer() else { return false }
            for _ in 0..<max(0, min(count, Self.maximumValues)) {
                guard let port = words.text(), let kind = words.integer() else { return false }
                if kind == Self.networkPort, port.isInterfaceName { interfaces.insert(port) }
            }
        case "OperatorName":
            guard words.type("s"), let text = words.text() else { return false }
            let name = String(text.prefix(ModemStatus.longestOperator))
            operatorName = name.isEmpty ? nil : name
        case "Lte", "Umts", "Gsm", "Nr5g": return readStrengths(&words)
        case "Interface":
            guard let last = bearers.indices.last, words.type("s"), let text = words.text() else { return false }
            bearers[last].interface = text.isInterfaceName ? text : nil
        case "Connected":
            guard let last = bearers.indices.last, words.type("b"), let flag = words.flag() else { return false }
            bearers[last].isConnected = flag
        default: return true
        }
        return words.isAtEnd
    }

    /// Type of a network port: `MM_MODEM_PORT_TYPE_NET`.
    private static let networkPort = 2

    /// Reads the signal of one technology. Keeps the values read first, because a modem with 5G and LTE reports both.
    private mutating func readStrengths(_ words: inout BusWords) -> Bool {
        guard words.type("a{sv}"), let count = words.integer() else { return false }
        for _ in 0..<max(0, min(count, Self.maximumValues)) {
            guard let name = words.text(), words.type("d"), let strength = words.strength() else { return false }
            switch name {
            case "rssi": rssi = rssi ?? strength.value
            case "rsrp": rsrp = rsrp ?? strength.value
            default: break
            }
        }
        return words.isAtEnd
    }
}

extension ModemReport {
    /// Returns true if the interface is connected; nil if ModemManager does not know.
    func isConnected(_ interface: String) -> Bool? {
        if state == .unknown { return nil }
        let own = bearers.filter { $0.interface == interface }
        // If a modem has several connections, each has its own interface.
        return own.isEmpty ? state == .connected : own.contains(where: \.isConnected)
    }

    private func hasInterface(_ name: String) -> Bool {
        interfaces.contains(name) || bearers.contains { $0.interface == name }
    }

    func status(of interface: String) -> ModemStatus {
        let isInNetwork = state.isInNetwork
        return ModemStatus(
            interface: interface, state: state, quality: isInNetwork ? quality : nil, rssi: isInNetwork ? rssi : nil,
            rsrp: isInNetwork ? rsrp : nil, technology: isInNetwork ? technology : nil,
            operator: isInNetwork ? operatorName : nil)
    }

    /// Returns the modem of an interface. ModemManager knows a PPP modem only by its serial port. If there is just one
    /// modem, a PPP interface therefore belongs to it.
    static func modem(of interface: String, among modems: [ModemReport]) -> ModemReport? {
        if let named = modems.first(where: { $0.hasInterface(interface) }) { return named }
        guard interface.hasPrefix("ppp"), modems.count == 1, modems[0].interfaces.isEmpty else { return nil }
        return modems[0]
    }
}

extension ModemStatus.State {
    /// - Parameter number: `MMModemState`; other numbers become `unknown`.
    init(number: Int) {
        let known: [Self] = [
            .failed, .unknown, .initializing, .locked, .disabled, .disabling, .enabling, .enabled, .searching,
            .registered, .disconnecting, .connecting, .connected,
        ]
        self = (-1...11).contains(number) ? known[number + 1] : .unknown
    }

    var isInNetwork: Bool {
        switch self {
        case .registered, .disconnecting, .connecting, .connected: true
        case .failed, .unknown, .initializing, .locked, .disabled, .disabling, .enabling, .enabled, .searching: false
        }
    }
}

extension ModemStatus.Technology {
    /// Returns the newest technology in the bits (`MMModemAccessTechnology`).
    init?(bits: Int) {
        let generations: [(bits: [Int], generation: Self)] = [
            ([15], .fifth), ([14, 16, 17], .fourth), (Array(5...9) + Array(11...13), .third),
            (Array(1...4) + [10], .second),
        ]
        let found = generations.first { $0.bits.contains { bits & 1 << $0 != 0 } }
        guard bits > 0, let found else { return nil }
        self = found.generation
    }
}

private struct BusWords {
    enum Word: Equatable {
        case plain(String)
        case quoted(String)
    }

    struct Strength {
        /// Signal in dBm; nil if unknown.
        let value: Int?
    }

    private var words: ArraySlice<Word> = []
    var count: Int { words.count }
    var isAtEnd: Bool { words.isEmpty }

    /// - Returns: nil for a malformed line.
    init?(_ line: some Collection<UInt8>) {
        var rest = Array(line)[...]
        while let byte = rest.first {
            if byte == UInt8(ascii: "\"") {
                guard let text = Self.quoted(&rest) else { return nil }
                words.append(.quoted(text))
            } else {
                let word = rest.prefix { $0 != UInt8(ascii: " ") }
                guard !word.isEmpty, word.allSatisfy({ (0x21...0x7e).contains($0) }) else { return nil }
                words.append(.plain(String(decoding: word, as: UTF8.self)))
                rest = rest[word.endIndex...]
            }
            guard let space = rest.popFirst() else { break }
            guard space == UInt8(ascii: " "), !rest.isEmpty else { return nil }
        }
    }

    /// Reads a quoted text with systemd's escapes (cescape): `\n` and similar ones, `\\`, `\"`, and three octal digits
    /// for other bytes.
    private static func quoted(_ rest: inout ArraySlice<UInt8>) -> String? {
        rest.removeFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(printable: bytes)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { return nil }
                if let plain = escapes[escaped] {
                    bytes.append(plain)
                } else {
                    guard let octal = UInt8(String(decoding: [escaped] + rest.prefix(2), as: UTF8.self), radix: 8),
                        rest.count >= 2, (UInt8(ascii: "0")...UInt8(ascii: "3")).contains(escaped)
                    else { return nil }
                    rest = rest.dropFirst(2)
                    bytes.append(octal)
                }
            case 0x20...0x7e: bytes.append(byte)
            default: return nil
            }
        }
        return nil
    }

    private static let escapes: [UInt8: UInt8] = [
        UInt8(ascii: "\""): UInt8(ascii: "\""), UInt8(ascii: "\\"): UInt8(ascii: "\\"),
        UInt8(ascii: "'"): UInt8(ascii: "'"), UInt8(ascii: "a"): 7, UInt8(ascii: "b"): 8, UInt8(ascii: "t"): 9,
        UInt8(ascii: "n"): 10, UInt8(ascii: "v"): 11, UInt8(ascii: "f"): 12, UInt8(ascii: "r"): 13,
    ]

    mutating func next() -> Word? { words.popFirst() }

    mutating func type(_ signature: String) -> Bool { next() == .plain(signature) }

    mutating func integer() -> Int? {
        guard case .plain(let word) = next() else { return nil }
        return Int(word)
    }

    mutating func flag() -> Bool? {
        switch next() {
        case .plain("true"): true
        case .plain("false"): false
        default: nil
        }
    }

    mutating func text() -> String? {
        guard case .quoted(let text) = next() else { return nil }
        return text
    }

    /// Reads a number. Values outside -200 to 0 dBm are ModemManager's "unknown" and have a nil value.
    mutating func strength() -> Strength? {
        guard case .plain(let word) = next(), let number = Double(word) else { return nil }
        return Strength(value: (-200.0..<0).contains(number) ? Int(number.rounded()) : nil)
    }
}
