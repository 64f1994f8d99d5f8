import AgentModel
import AppClient
import AppProtocol
import JSONValues
import Synchronization

/// One run of one check, with its connections, networks and limits.
final class CheckRun: Sendable {
    let target: DeviceUnderTest
    let bench: Bench
    let baseline: Baseline
    let transcript = Transcript()
    /// Whether the check may drop stored networks that cannot be stored again.
    let isDestructive: Bool
    private let state: Mutex<State>

    private struct State {
        var wires: [Wire] = []
        var endpoint: Endpoint
        var lastNetwork = 0
    }

    init(target: DeviceUnderTest, bench: Bench, baseline: Baseline, isDestructive: Bool) {
        self.target = target
        self.bench = bench
        self.baseline = baseline
        self.isDestructive = isDestructive
        state = Mutex(State(endpoint: target.endpoint))
        for network in bench.networks {
            network.password.map { transcript.keepSecret($0.withBytes { String(decoding: $0, as: UTF8.self) }) }
        }
    }

    // MARK: Connections

    /// Opens a connection like the owner's app. The connection is closed at the end of the check.
    func open() async throws -> Wire {
        do {
            return try await open(handshake: nil)
        } catch WireConnectFailure.handshake {
            throw Deviation("the owner's connection", got: "the device broke off the handshake")
        } catch WireConnectFailure.refused(let error) {
            throw Deviation("the owner's connection", got: "\(error)")
        } catch WireConnectFailure.unreachable(let why) {
            throw Deviation("a connection", got: why)
        }
    }

    /// Opens a connection, which is closed at the end of the check.
    /// - Parameter handshake: start of the connection; nil for that of the owner's app.
    func open(handshake: Handshake?, patience: Duration? = nil) async throws(WireConnectFailure) -> Wire {
        // A device has four tunnels at a time, and the harness needs one.
        if target.isBroker, let oldest = state.withLock({ $0.wires.count > 2 ? $0.wires.removeFirst() : nil }) {
            await oldest.close()
        }
        let wire = try await Wire.open(
            state.withLock { $0.endpoint }, transcript, handshake: handshake, patience: patience ?? target.patience)
        state.withLock { $0.wires.append(wire) }
        return wire
    }

    func listening() async throws -> Wire {
        let wire = try await open()
        try await wire.subscribe()
        return wire
    }

    var newestWire: Wire? { state.withLock { $0.wires.last } }

    func closeConnections() async {
        let wires = state.withLock { state in
            defer { state.wires = [] }
            return state.wires
        }
        for wire in wires { await wire.close() }
    }

    /// Uses the device's address in this network from now on; nil for the target's address.
    func follow(to network: BenchNetwork?) {
        guard case .network(let host, let port, let device) = target.endpoint else { return }
        let address = network?.address
        state.withLock {
            $0.endpoint = .network(host: address?.host ?? host, port: address?.port ?? port, device: device)
        }
    }

    // MARK: Resources for checks

    func key() throws(Obstacle) -> DeviceKey {
        guard let key = target.key else { throw Obstacle("needs --device-id and --key-file") }
        return key
    }

    func needsDirectConnection() throws(Obstacle) {
        if target.isBroker { throw Obstacle("not through a broker: its tunnels are few and end with either side") }
    }

    func needsFeature(_ name: String) throws(Obstacle) {
        guard baseline.capabilities.features.contains(name) else {
            throw Obstacle("the device does not offer \(name) in its features")
        }
    }

    /// Returns the device's entries as hashes. Updates include them so that no entry is lost.
    /// - Parameter room: required number of free entries.
    func kept(leaving room: Int) throws(Obstacle) -> [JSONValue] {
        guard let kept = baseline.kept(leaving: room, mayLose: isDestructive) else {
            throw Obstacle(
                "needs \(room) free entries of \(baseline.backups.max), but its networks cannot be stored again: "
                    + "give their passwords with --networks, or --destructive")
        }
        return kept.map { ["hash": .text($0.hash.base64)] }
    }

    /// Returns a network that does not exist, with a unique SSID and password.
    func fresh() throws -> CheckNetwork {
        let number = state.withLock { state in
            state.lastNetwork += 1
            return state.lastNetwork
        }
        return CheckNetwork(ssid: try SSID("harness-\(Self.random())-\(number)"), password: freshPassword())
    }

    func freshPassword() -> String {
        let password = "harness \(Self.random())\(Self.random())"
        transcript.keepSecret(password)
        return password
    }

    private static func random() -> String { Hex.string((0..<4).map { _ in UInt8.random(in: 0...255) }) }

    /// Returns the network as an entry of an update or as the target of a switch. Over the network,
    /// ``Wire/ask(_:_:sealing:)`` seals the password.
    func entry(_ network: CheckNetwork) -> JSONValue {
        guard let password = network.password else { return network.json.with(["security": "open"]) }
        return network.json.with(["password": .text(password)])
    }
}

struct CheckNetwork: Sendable {
    /// JSON of the entry without the password: `ssid` or `ssidHex`, and further members.
    let json: JSONValue
    let ssid: SSID
    let password: String?

    init(ssid: SSID, password: String?, isHidden: Bool = false) {
        self.ssid = ssid
        self.password = password
        let members = SSID.JSONMembers(ssid)
        let name: JSONValue = members.ssid.map { ["ssid": .text($0)] } ?? ["ssidHex": .text(members.ssidHex ?? "")]
        json = isHidden ? name.with(["hidden": true]) : name
    }
}
