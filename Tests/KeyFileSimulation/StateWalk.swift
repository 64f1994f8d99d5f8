import AgentModel
import KeyFile
import Randomness

/// A random walk through the states that a device's key file can have: what the app and the agent would store in years.
package struct StateWalk {
    package private(set) var state = StoredState()
    package let maximumBackups: Int
    /// The bytes that the state can have beside all else, in cells of kinds that this altnet does not know.
    private let ballast: Int
    private var random: SeededRandom

    package init(
        seed: UInt64, maximumBackups: Int = 3, ballast: Int = 0, from state: StoredState = StoredState()
    ) {
        self.ballast = ballast
        random = SeededRandom(seed: seed)
        self.maximumBackups = maximumBackups
        self.state = state
    }

    /// The state after one more thing has happened to the device. It can be the same.
    package mutating func next() -> StoredState {
        switch random.below(17) {
        case 0...1: replaceBackups()
        case 2: addBackup()
        case 3: deleteBackup()
        case 4...5: changePassword()
        case 6: state.home = network()
        case 7: state.chosen = random.below(2) == 0 ? nil : network()
        case 8: beginOrEndSwitch()
        case 9: move()
        case 10: count()
        case 11: setAddress()
        case 12...14: see()
        case 15: stagePassword()
        default: load()
        }
        // Without what is known of networks that are gone.
        state = state.normalised()
        return state
    }

    /// Goes on from here.
    package mutating func resume(from state: StoredState) { self.state = state }

    private mutating func replaceBackups() {
        state.backups = []
        for _ in 0..<random.below(maximumBackups + 1) { append(network()) }
        state.backupsRevision += 1
    }

    private mutating func addBackup() {
        guard state.backups.count < maximumBackups else { return deleteBackup() }
        append(network())
        state.backupsRevision += 1
    }

    private mutating func append(_ network: StoredNetwork) {
        guard !state.backups.contains(where: { $0.ssid == network.ssid }) else { return }
        state.backups.append(network)
    }

    private mutating func deleteBackup() {
        guard !state.backups.isEmpty else { return }
        state.backups.remove(at: random.below(state.backups.count))
        state.backupsRevision += 1
    }

    private mutating func changePassword() {
        guard !state.backups.isEmpty else { return }
        state.backups[random.below(state.backups.count)].credential = passphrase()
        state.backupsRevision += 1
    }

    private mutating func stagePassword() {
        if let waiting = state.staged.first(where: { $0.phase == .staged }), random.below(2) == 0 {
            return state.endRotation(waiting.id, random.below(2) == 0 ? .committed : .expired)
        }
        guard let ssid = stored.randomElement(using: &random)?.ssid,
            case .passphrase(let passphrase, let psk) = passphrase()
        else { return }
        _ = state.stage(
            StagedPassword(
                id: "change \(random.below(20))", ssid: ssid,
                key: StagedPassword.Key(passphrase: passphrase, psk: psk),
                since: UInt32(truncatingIfNeeded: random.next()),
                keepFor: random.below(2) == 0 ? nil : UInt32(truncatingIfNeeded: random.next())))
    }

    private mutating func beginOrEndSwitch() {
        guard state.pendingSwitch == nil else {
            state.pendingSwitch = nil
            return
        }
        let target = state.backups.first ?? network()
        state.pendingSwitch = PendingSwitch(
            id: "switch \(random.below(1_000))", target: target, cameFrom: state.current?.ssid)
    }

    private mutating func move() {
        state.previous = state.current
        state.current = random.below(4) == 0 ? nil : state.backups.randomElement(using: &random) ?? state.home
    }

    private mutating func count() {
        state.replayCounters["app \(random.below(4))", default: 0] += UInt64(1 + random.below(3))
    }

    private mutating func see() {
        guard let ssid = stored.randomElement(using: &random)?.ssid else { return }
        state.statistics[ssid] = NetworkStatistics(
            lastSeen: UInt32(truncatingIfNeeded: random.next()), lastSignal: -Int8(random.below(100)),
            lastFrequency: Frequency(megahertz: 2_412 + 5 * random.below(13)),
            lastFailure: random.below(3) == 0 ? .wrongKey : nil,
            verifiedAccessPoints: (0..<random.below(5)).compactMap { BSSID(bytes: [2, 0, 0, 0, 0, UInt8($0)]) },
            lease: random.below(3) == 0 ? nil : lease())
    }

    private mutating func lease() -> StoredLease? {
        guard let address = address(), let gateway = address.gateway,
            let hardware = HardwareAddress(bytes: [2, 0, 0, 0, 1, UInt8(random.below(256))])
        else { return nil }
        return StoredLease(
            address: address.address, prefixLength: address.prefixLength, gateway: gateway,
            gatewayHardware: random.below(2) == 0 ? nil : hardware, server: gateway, hardware: hardware,
            nameServers: address.nameServers.filter(\.isIPv4), expiry: UInt32(truncatingIfNeeded: random.next()))
    }

    private mutating func address() -> StaticAddress? {
        let servers = ["192.168.7.1", "2001:db8::53", "9.9.9.9"].compactMap { IPAddress($0) }
        return try? StaticAddress(
            "192.168.7.\(2 + random.below(253))/24", gateway: servers[0],
            nameServers: Array(servers.prefix(random.below(4))))
    }

    private mutating func options() -> NetworkOptions {
        NetworkOptions(
            isManual: true, isMetered: [nil, true, false][random.below(3)],
            band: ([nil] + Band.allCases)[random.below(4)],
            bssid: random.below(2) == 0 ? nil : BSSID(bytes: [2, 0, 0, 0, 1, UInt8(random.below(256))]),
            ipv6: random.below(2) == 0
                ? nil
                : try? StaticAddress(
                    "2001:db8::\(1 + random.below(9))/64", gateway: IPAddress("fe80::1"),
                    nameServers: ["2001:db8::53"].compactMap { IPAddress($0) }))
    }

    /// The owner gives the device an address of its own and options in a network, or takes them back.
    private mutating func setAddress() {
        guard let network = stored.randomElement(using: &random) else { return }
        let address = random.below(3) == 0 ? nil : address()
        let options = address == nil ? NetworkOptions() : options()
        state.changeNetworks { copy in
            guard copy.ssid == network.ssid, copy.credential == network.credential else { return }
            copy.staticAddress = address
            copy.options = options
        }
    }

    /// Puts a cell of ballast in the place of another, or takes many away.
    private mutating func load() {
        guard ballast > 0 else { return }
        if random.below(8) == 0 { state.kept = state.kept.filter { _ in random.below(3) == 0 } }
        let id = CellID(kind: CellID.keptKinds.upperBound, index: UInt8(random.below(4)))
        let others = state.kept.reduce(0) { $1.key == id ? $0 : $0 + 4 + $1.value.count }
        let size = random.below(max(1, ballast - others - 4))
        let start = random.below(256)
        state.kept[id] = Secret((0..<size).map { UInt8(truncatingIfNeeded: start + $0 * 7) })
    }

    private var stored: [StoredNetwork] {
        [state.home, state.chosen, state.current, state.previous, state.pendingSwitch?.target].compactMap(\.self)
            + state.backups
    }

    /// Few, so that networks are deleted and come back.
    private static let ssids = (0..<12).compactMap { try? SSID("network \($0) " + String(repeating: "~", count: $0)) }

    private mutating func network() -> StoredNetwork {
        StoredNetwork(
            ssid: Self.ssids[random.below(Self.ssids.count)],
            credential: random.below(4) == 0 ? .none : passphrase(),
            security: random.below(3) == 0 ? nil : Security.allCases.randomElement(using: &random),
            isHidden: random.below(4) == 0)
    }

    private mutating func passphrase() -> JoinRequest.Credential {
        let text = (0..<8 + random.below(56)).map { _ in UInt8(0x20 + random.below(0x5f)) }
        let psk = (0..<32).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        return .passphrase(Secret(text), psk: Secret(psk))
    }
}
