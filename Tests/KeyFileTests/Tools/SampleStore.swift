import AgentModel
import Glibc

@testable import KeyFile

/// A store with its root key in a directory of its own.
struct SampleStore {
    let folder: String

    var path: String { folder + "/keyfile" }
    var rootKeyPath: String { folder + "/root-key" }
    var place: StorePlace { StorePlace(path: path, rootKey: .file(path: rootKeyPath)) }
    var anchored: StorePlace {
        StorePlace(path: path, rootKey: .file(path: rootKeyPath), anchorPath: folder + "/anchor")
    }

    /// Runs `body` with a store of these states, one commit each.
    static func with(
        _ states: [StoredState], anchored: Bool = false, _ body: (SampleStore) throws -> Void
    ) throws {
        try withScratchDirectory { folder in
            let store = SampleStore(folder: folder)
            try store.commit(states, anchored: anchored)
            try body(store)
        }
    }

    func commit(_ states: [StoredState], anchored: Bool = false) throws {
        let keyFile = try (anchored ? self.anchored : place).open(maximumBackups: 10)
        for state in states { try keyFile.commit(state) }
    }

    /// What could be changed by accident: names, contents, modes and times of everything.
    func everything() throws -> [String] {
        try names(in: folder).map { name in
            var status = stat()
            guard lstat("\(folder)/\(name)", &status) == 0 else { throw ScratchError(errno: errno) }
            let times =
                "\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)"
            return "\(name) \(status.st_mode) \(times) \(try content(of: "\(folder)/\(name)").hashValue)"
        }
    }
}

extension StoredState {
    /// The states of a device whose networks were seen so many times, one after the other: a record each.
    static func seen(times: Int, first: UInt32 = 1) throws -> [StoredState] {
        let state = try sample()
        return (0..<UInt32(times)).map { number in
            var state = state
            state.statistics[SampleNames.home] = NetworkStatistics(lastSeen: first + number, lastSignal: -50)
            return state
        }
    }

    static func sample() throws -> StoredState {
        let home = try sampleNetwork(SampleNames.home, password: SampleNames.password)
        let attic = try sampleNetwork(SampleNames.attic, password: "attic password")
        return StoredState(
            home: home, current: home, backups: [attic, try sampleNetwork(try SSID("Garden"))], backupsRevision: 4,
            pendingSwitch: PendingSwitch(id: "s-1", target: attic, cameFrom: home.ssid),
            statistics: [home.ssid: NetworkStatistics(lastSeen: 1_700_000_000, lastSignal: -50)],
            replayCounters: ["phone": 7])
    }
}

enum SampleNames {
    static let password = "very secret words"
    static let home = named("Home")
    static let attic = named("Attic")

    private static func named(_ name: String) -> SSID {
        guard let ssid = try? SSID(name) else { preconditionFailure("a name of 1 to 32 bytes") }
        return ssid
    }
}

func sampleNetwork(_ ssid: SSID, password: String? = nil) throws -> StoredNetwork {
    let psk = Secret((0..<32).map { 0xc0 + $0 })
    return StoredNetwork(
        ssid: ssid, credential: password.map { .passphrase(Secret(text: $0), psk: psk) } ?? .none,
        security: password == nil ? .open : .wpa2)
}

func content(of path: String) throws -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw ScratchError(errno: errno) }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 17)
    let count = read(file, &bytes, bytes.count)
    guard count >= 0 else { throw ScratchError(errno: errno) }
    return Array(bytes.prefix(count))
}
