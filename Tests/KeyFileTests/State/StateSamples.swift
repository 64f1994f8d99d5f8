import AgentModel
import Randomness

@testable import KeyFile

extension StoredState {
    /// A valid state of arbitrary content, now and then at its limits. Networks come from a small pool, so that roles
    /// share them, names come back with other passwords, and successive states have much in common.
    static func arbitrary(using random: inout SeededRandom) throws -> StoredState {
        var state = StoredState(backupsRevision: Bool.random(using: &random) ? random.next() : 0)
        let pool = try (0..<12).map { try StoredNetwork.arbitrary(mark: $0, using: &random) }
        func some() -> StoredNetwork? { Bool.random(using: &random) ? pool.randomElement(using: &random) : nil }
        state.home = some()
        state.chosen = some()
        state.current = some()
        state.previous = some()
        var names: Set<SSID> = []
        state.backups = Array(
            pool.shuffled(using: &random).filter { names.insert($0.ssid).inserted }
                .prefix(Int.random(in: 0...10, using: &random)))
        if Bool.random(using: &random) {
            let id = random.text(0...64)
            state.pendingSwitch = PendingSwitch(id: id, target: some(), cameFrom: some()?.ssid)
        }
        for ssid in Set(state.networks.map(\.ssid)) where Bool.random(using: &random) {
            state.statistics[ssid] = .arbitrary(using: &random)
        }
        for _ in 0..<Int.random(in: 0...8, using: &random) {
            state.replayCounters[random.text(1...32)] = random.next()
        }
        return state.normalised()
    }
}

extension StoredNetwork {
    /// One of 64 names and as many passwords.
    static func arbitrary(mark: UInt8, using random: inout SeededRandom) throws -> StoredNetwork {
        let variant = UInt8.random(in: 0..<64, using: &random)
        let name = [mark % 10, variant] + Array(repeating: variant, count: Int(variant) % 31)
        let passphrase = Secret(Array(repeating: 0x20 + variant, count: 8 + Int(variant) % 56))
        let psk = Secret((0..<32).map { $0 &+ variant })
        return StoredNetwork(
            ssid: try SSID(bytes: name),
            credential: Bool.random(using: &random) ? .none : .passphrase(passphrase, psk: psk),
            security: Bool.random(using: &random) ? nil : Security.allCases.randomElement(using: &random),
            floor: LinkProtection(rawValue: UInt8.random(in: 0...7, using: &random)),
            isHidden: Bool.random(using: &random))
    }
}

extension NetworkStatistics {
    static func arbitrary(using random: inout SeededRandom) -> NetworkStatistics {
        NetworkStatistics(
            lastSeen: Bool.random(using: &random) ? nil : UInt32.random(in: 0 ... .max, using: &random),
            lastSignal: Bool.random(using: &random) ? nil : Int8.random(in: -128...127, using: &random),
            lastFrequency: Bool.random(using: &random)
                ? nil : Frequency(megahertz: Int.random(in: 1...65_535, using: &random)),
            lastFailure: Bool.random(using: &random) ? nil : JoinFailure.allCases.randomElement(using: &random),
            provenAccessPoints: Bool.random(using: &random)
                ? []
                : (0..<UInt8.random(in: 1...4, using: &random)).compactMap {
                    BSSID(bytes: [2, .random(in: 0 ... .max, using: &random), 0, 0, 0, $0])
                })
    }
}

extension SeededRandom {
    /// Text of so many bytes in UTF-8.
    mutating func text(_ length: ClosedRange<Int>) -> String {
        var text = ""
        for _ in 0..<Int.random(in: length, using: &self) {
            let next = ["a", "Z", "0", "-", " ", "é", "\u{0}", "日", "🔑"].randomElement(using: &self) ?? ""
            if text.utf8.count + next.utf8.count <= length.upperBound { text += next }
        }
        return text.isEmpty && length.lowerBound > 0 ? "x" : text
    }
}

/// As much as a state can be.
func largestState() throws -> StoredState {
    func network(_ number: UInt8) throws -> StoredNetwork {
        StoredNetwork(
            ssid: try SSID(bytes: Array(repeating: number, count: 32)),
            credential: .passphrase(
                Secret(Array(repeating: 0x40 + number, count: 63)), psk: Secret(Array(repeating: number, count: 32))),
            security: .wpa2wpa3, floor: [.sae, .pmf], isHidden: true)
    }
    var state = StoredState(
        home: try network(1), chosen: try network(2), current: try network(3), previous: try network(4),
        backups: try (11...20).map(network), backupsRevision: .max,
        pendingSwitch: PendingSwitch(
            id: String(repeating: "i", count: 64), target: try network(5), cameFrom: try network(1).ssid))
    for ssid in Set(state.networks.map(\.ssid)) {
        state.statistics[ssid] = NetworkStatistics(
            lastSeen: .max, lastSignal: -128, lastFrequency: Frequency(megahertz: 7115), lastFailure: .interfaceDown,
            provenAccessPoints: (1...4).compactMap { BSSID(bytes: [0xfe, 0xff, 0xff, 0xff, 0xff, $0]) })
    }
    for letter in "abcdefgh" { state.replayCounters[String(repeating: letter, count: 32)] = .max }
    return state
}
