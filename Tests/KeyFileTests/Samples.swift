import AgentModel
import Glibc
import KeyFileSimulation
import Randomness
import Testing

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
    /// One of 64 names and as many passwords, or users' credentials.
    static func arbitrary(mark: UInt8, using random: inout SeededRandom) throws -> StoredNetwork {
        let variant = UInt8.random(in: 0..<64, using: &random)
        let name = [mark % 10, variant] + Array(repeating: variant, count: Int(variant) % 31)
        let passphrase = Secret(Array(repeating: 0x20 + variant, count: 8 + Int(variant) % 56))
        let psk = Secret((0..<32).map { $0 &+ variant })
        let user = try EnterpriseCredential(
            method: .peap, identity: "user \(variant)", password: passphrase, usesSystemAuthorities: true,
            serverName: "radius.example.com")
        let credential: JoinRequest.Credential =
            variant % 8 == 7 ? .enterprise(user) : .passphrase(passphrase, psk: psk)
        return StoredNetwork(
            ssid: try SSID(bytes: name), credential: Bool.random(using: &random) ? .none : credential,
            security: Bool.random(using: &random) ? nil : Security.allCases.randomElement(using: &random),
            minimumSecurity: LinkProtection(rawValue: UInt8.random(in: 0...7, using: &random)),
            isHidden: Bool.random(using: &random),
            staticAddress: Bool.random(using: &random) ? nil : .arbitrary(&random),
            options: .arbitrary(&random))
    }
}

extension NetworkOptions {
    static func arbitrary(_ random: inout SeededRandom) -> NetworkOptions {
        NetworkOptions(
            allowsTKIP: Bool.random(using: &random), isManual: Bool.random(using: &random),
            isMetered: [nil, true, false].randomElement(using: &random) ?? nil,
            band: ([nil] + Band.allCases).randomElement(using: &random) ?? nil,
            bssid: Bool.random(using: &random)
                ? nil : BSSID(bytes: [2, .random(in: 0 ... .max, using: &random), 0, 0, 0, 1]),
            ipv6: Bool.random(using: &random) ? nil : .arbitraryIPv6(&random))
    }
}

extension StaticAddress {
    static func arbitrary(_ random: inout SeededRandom) -> StaticAddress? {
        let servers = ["10.0.0.1", "2001:db8::53", "9.9.9.9"].compactMap { IPAddress($0) }
        return try? StaticAddress(
            "10.\(Int.random(in: 0...255, using: &random)).0.\(Int.random(in: 2...254, using: &random))/8",
            gateway: Bool.random(using: &random) ? nil : servers[0],
            nameServers: Array(servers.shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random))))
    }

    static func arbitraryIPv6(_ random: inout SeededRandom) -> StaticAddress? {
        let servers = ["2001:db8::53", "9.9.9.9"].compactMap { IPAddress($0) }
        return try? StaticAddress(
            "2001:db8::\(Int.random(in: 2...9999, using: &random))/\(Int.random(in: 8...64, using: &random))",
            gateway: ["fe80::1", "2001:db8::1"].randomElement(using: &random).flatMap { IPAddress($0) },
            nameServers: Array(servers.prefix(Int.random(in: 0...2, using: &random))))
    }
}

extension StoredLease {
    static func arbitrary(_ random: inout SeededRandom) -> StoredLease? {
        guard let own = StaticAddress.arbitrary(&random), let server = IPAddress("10.0.0.1"),
            let hardware = HardwareAddress(bytes: [2, 0, 0, 0, 0, .random(in: 0 ... .max, using: &random)])
        else { return nil }
        return StoredLease(
            address: own.address, prefixLength: own.prefixLength, gateway: own.gateway,
            gatewayHardware: own.gateway == nil || Bool.random(using: &random) ? nil : hardware, server: server,
            hardware: hardware, nameServers: own.nameServers.filter(\.isIPv4),
            expiry: .random(in: 0 ... .max, using: &random))
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
            verifiedAccessPoints: Bool.random(using: &random)
                ? []
                : (0..<UInt8.random(in: 1...4, using: &random)).compactMap {
                    BSSID(bytes: [2, .random(in: 0 ... .max, using: &random), 0, 0, 0, $0])
                },
            lease: Bool.random(using: &random) ? nil : .arbitrary(&random),
            learnedMinimumSecurity: LearnedMinimumSecurity(code: .random(in: 0...63, using: &random)))
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
/// - Parameters:
///   - address: of the device in each of its networks.
///   - options: of each of its networks.
func largestState(address: StaticAddress? = nil, options: NetworkOptions = .init()) throws -> StoredState {
    let lease = StoredLease(
        address: try #require(IPAddress("192.168.1.20")), prefixLength: 24, gateway: IPAddress("192.168.1.1"),
        gatewayHardware: HardwareAddress(bytes: [2, 0, 0, 0, 0, 1]), server: try #require(IPAddress("192.168.1.1")),
        hardware: try #require(HardwareAddress(bytes: [2, 0, 0, 0, 0, 2])),
        nameServers: ["9.9.9.9", "8.8.8.8", "1.1.1.1"].compactMap { IPAddress($0) }, expiry: .max)
    func network(_ number: UInt8) throws -> StoredNetwork {
        StoredNetwork(
            ssid: try SSID(bytes: Array(repeating: number, count: 32)),
            credential: .passphrase(
                Secret(Array(repeating: 0x40 + number, count: 63)), psk: Secret(Array(repeating: number, count: 32))),
            security: .wpa2wpa3, minimumSecurity: [.sae, .pmf], isHidden: true, staticAddress: address,
            options: options)
    }
    var state = StoredState(
        home: try network(1), chosen: try network(2), current: try network(3), previous: try network(4),
        backups: try (11...20).map(network), backupsRevision: .max,
        pendingSwitch: PendingSwitch(
            id: String(repeating: "i", count: 64), target: try network(5), cameFrom: try network(1).ssid))
    for ssid in Set(state.networks.map(\.ssid)) {
        state.statistics[ssid] = NetworkStatistics(
            lastSeen: .max, lastSignal: -128, lastFrequency: Frequency(megahertz: 7115), lastFailure: .interfaceDown,
            verifiedAccessPoints: (1...4).compactMap { BSSID(bytes: [0xfe, 0xff, 0xff, 0xff, 0xff, $0]) }, lease: lease,
            learnedMinimumSecurity: LearnedMinimumSecurity(code: 0x2f))
    }
    for letter in "abcdefgh" { state.replayCounters[String(repeating: letter, count: 32)] = .max }
    return state.normalised()
}

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

    /// Everything that could be changed by accident: names, contents, modes and times.
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

/// A system call that a test needs and that failed.
struct ScratchError: Error, Equatable {
    var errno: Int32
}

/// Runs `body` with a new directory that is removed afterwards.
func withScratchDirectory(_ body: (String) throws -> Void) throws {
    var template = Array("/tmp/altnet-keyfile-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw ScratchError(errno: errno) }
    let path = String(cString: made)
    defer { removeAll(in: path) }
    try body(path)
}

/// Removes a directory and what is in it.
func removeAll(in path: String) {
    for name in names(in: path) {
        if unlink("\(path)/\(name)") != 0 { removeAll(in: "\(path)/\(name)") }
    }
    rmdir(path)
}

/// The sorted names of what is in a directory.
func names(in path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
}

/// The permission bits of a file.
func mode(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}

func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o600) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw ScratchError(errno: errno) }
    defer { close(descriptor) }
    guard fchmod(descriptor, mode) == 0 else { throw ScratchError(errno: errno) }
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { throw ScratchError(errno: errno) }
        rest = rest.dropFirst(count)
    }
}

/// Reads a number that was written in the machine's own byte order.
func readNumber(from path: String) throws -> UInt64 {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    var number: UInt64 = 0
    guard read(descriptor, &number, 8) == 8 else { throw ScratchError(errno: errno) }
    return number
}

/// Whether a file system can be mounted here.
let canMount: Bool = {
    guard geteuid() == 0 else { return false }
    return (try? withTinyFileSystem { _ in }) != nil
}()

/// Runs `body` with an empty file system of 64 KiB in memory.
func withTinyFileSystem(_ body: (String) throws -> Void) throws {
    try withScratchDirectory { scratch in
        guard mount("none", scratch, "tmpfs", 0, "size=64k") == 0 else { throw ScratchError(errno: errno) }
        defer { umount2(scratch, Int32(MNT_DETACH)) }
        try body(scratch)
    }
}
