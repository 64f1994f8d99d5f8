import AgentModel
import Randomness

@testable import KeyFile

/// A network with a password. The derived key is a pattern, not the real derivation, which is not the store's business.
func network(_ name: String, password: String? = "correct horse", hidden: Bool = false) throws -> StoredNetwork {
    guard let password else { return StoredNetwork(ssid: try SSID(name), credential: .none, isHidden: hidden) }
    let psk = Secret((0..<32).map { UInt8(truncatingIfNeeded: $0 &+ password.utf8.count) })
    return StoredNetwork(
        ssid: try SSID(name), credential: .passphrase(Secret(text: password), psk: psk), isHidden: hidden)
}

/// One of everything.
func fullState() throws -> StoredState {
    StoredState(
        home: try network("Home"), chosen: try network("Café", password: nil),
        backups: [try network("Attic", password: "12345678", hidden: true), try network("Garden", password: nil)],
        backupsRevision: 0x0102_0304_0506_0708,
        pendingSwitch: PendingSwitch(id: "s-1", target: try network("Attic"), cameFrom: try SSID("Home")))
}

/// A state of arbitrary content within the rules, and now and then at their limits.
func randomState(using random: inout SeededRandom) throws -> StoredState {
    func bytes(_ length: ClosedRange<Int>, _ values: ClosedRange<UInt8>) -> [UInt8] {
        (0..<Int.random(in: length, using: &random)).map { _ in UInt8.random(in: values, using: &random) }
    }
    func network(_ mark: UInt8) throws -> StoredNetwork {
        let isOpen = Bool.random(using: &random)
        let passphrase = Secret(bytes(8...63, 0x20...0x7e))
        let psk = Secret(bytes(32...32, 0...255))
        return StoredNetwork(
            ssid: try SSID(bytes: [mark] + bytes(0...31, 0...255)),
            credential: isOpen ? .none : .passphrase(passphrase, psk: psk), isHidden: Bool.random(using: &random))
    }
    var state = StoredState(backupsRevision: random.next())
    if Bool.random(using: &random) { state.home = try network(0) }
    if Bool.random(using: &random) { state.chosen = try network(1) }
    for mark in 0..<UInt8.random(in: 0...10, using: &random) { state.backups.append(try network(mark)) }
    if Bool.random(using: &random) {
        let cameFrom = Bool.random(using: &random) ? try SSID(bytes: bytes(1...32, 0...255)) : nil
        let id = String(decoding: bytes(0...64, 0x20...0x7e), as: UTF8.self)
        state.pendingSwitch = PendingSwitch(id: id, target: try network(2), cameFrom: cameFrom)
    }
    return state
}

extension Image {
    var bytes: [UInt8] { encoded().withBytes { Array($0) } }

    static func decode(_ bytes: [UInt8]) throws -> Image {
        try bytes.withUnsafeBytes { bytes in
            _ = try version(of: bytes)
            return try Image(decoding: bytes)
        }
    }
}
