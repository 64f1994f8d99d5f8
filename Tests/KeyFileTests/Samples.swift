import AgentModel
import KeyFileSimulation
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
    let home = try network("Home")
    return StoredState(
        home: home, chosen: try network("Café", password: nil), current: home, previous: try network("Attic"),
        backups: [try network("Attic", password: "12345678", hidden: true), try network("Garden", password: nil)],
        backupsRevision: 0x0102_0304_0506_0708,
        pendingSwitch: PendingSwitch(id: "s-1", target: try network("Attic"), cameFrom: try SSID("Home")),
        statistics: [home.ssid: NetworkStatistics(lastSeen: 1_700_000_000, lastSignal: -50)],
        replayCounters: ["app": 7])
}

/// The root key of the tests' logs.
let testRoot = Secret(repeatElement(0x5a, count: RootKeys.size))

extension RecordLog {
    /// A log on simulated storage.
    convenience init(
        on storage: any SimulatedStorage, roots: [Secret] = [testRoot],
        random: any RandomNumberGenerator = SeededRandom(seed: 1)
    ) throws(KeyFileError) {
        try self.init(
            medium: try storage.medium(), roots: roots, path: "/store/keyfile", random: random, now: { 1_700_000_000 })
    }
}

extension SimulatedBoard {
    /// A board with this file in the place of the store, and everything else as it is.
    func replacingStore(with bytes: [UInt8]?) -> SimulatedBoard {
        var files = disk.files
        files[SimulatedDisk.storeName] = bytes
        return SimulatedBoard(SimulatedDisk(files: files), isAnchored: isAnchored)
    }

    /// The bytes of the store's file.
    var store: [UInt8] { disk.files[SimulatedDisk.storeName] ?? [] }
}

/// A board whose file has been through several rounds over all sectors, and the states that were committed, in order.
func usedBoard(
    commits: Int, isAnchored: Bool = false, seed: UInt64 = 20
) throws -> (board: SimulatedBoard, states: [StoredState]) {
    let board = SimulatedBoard(SimulatedDisk(), isAnchored: isAnchored)
    let store = try board.open()
    var walk = StateWalk(seed: seed)
    var states = [StoredState()]
    while states.count <= commits {
        let next = walk.next()
        guard next != store.state else { continue }
        try store.commit(next)
        states.append(next)
    }
    return (board, states)
}
