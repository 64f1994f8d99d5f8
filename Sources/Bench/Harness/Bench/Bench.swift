import AgentModel
import AppClient
import AppProtocol
import FoundationEssentials
import JSONValues

/// Environment of the device under test: networks in range and, if available, a switch for access points.
public struct Bench: Sendable {
    public let networks: [BenchNetwork]
    public let accessPoints: (any AccessPointSwitch)?

    public init(networks: [BenchNetwork] = [], accessPoints: (any AccessPointSwitch)? = nil) {
        self.networks = networks
        self.accessPoints = accessPoints
    }

    func network(_ ssid: SSID) -> BenchNetwork? { networks.first { $0.ssid == ssid } }
}

/// A network in range of the device, with its password.
public struct BenchNetwork: Sendable {
    public let name: String
    public let ssid: SSID
    public let password: Secret?
    /// Address of the device in this network; nil for the target's address.
    public let address: Address?

    public struct Address: Sendable, Equatable {
        public let host: String
        /// Port number; nil for the target's port.
        public let port: Int?

        public init(host: String, port: Int? = nil) {
            self.host = host
            self.port = port
        }
    }

    public init(name: String, ssid: SSID, password: Secret?, address: Address? = nil) {
        self.name = name
        self.ssid = ssid
        self.password = password
        self.address = address
    }
}

/// Turns access points on and off. A user's program or the lab implements it.
public protocol AccessPointSwitch: Sendable {
    func names() async throws -> [String]

    /// Turns the access point on or off. Returns when it has started or stopped to send.
    func turn(_ name: String, on isOn: Bool) async throws
}

public struct DeviceUnderTest: Sendable {
    public let endpoint: Endpoint
    /// Key of the owner's app. Over a Unix socket, only checks of hashes and seals need it.
    public let key: DeviceKey?
    /// Time limit for connecting, and for each answer.
    public let patience: Duration
    /// Time limit for a switch. It includes a return to the earlier network and new addresses.
    public let switchTime: Duration

    public init(
        host: String, port: Int, key: DeviceKey, patience: Duration = .seconds(10),
        switchTime: Duration = .seconds(120)
    ) {
        endpoint = .network(host: host, port: port, device: key)
        self.key = key
        self.patience = patience
        self.switchTime = switchTime
    }

    public init(
        socket path: String, key: DeviceKey? = nil, patience: Duration = .seconds(10),
        switchTime: Duration = .seconds(120)
    ) {
        endpoint = .unixSocket(path: path)
        self.key = key
        self.patience = patience
        self.switchTime = switchTime
    }

    /// - Parameter route: the way through the device's MQTT broker, in tunnels.
    public init(
        broker route: BrokerRoute, key: DeviceKey, patience: Duration = .seconds(10),
        switchTime: Duration = .seconds(120)
    ) {
        endpoint = .broker(route, device: key)
        self.key = key
        self.patience = patience
        self.switchTime = switchTime
    }

    /// Time limit for each attempt if the device has several possible addresses.
    var patienceWithOnePlace: Duration { patience / 5 }

    /// Whether the owner's app proves a key: in the network, or at a broker.
    var isNetwork: Bool { !endpoint.isLocal }

    /// Whether connections run in tunnels of a broker. A tunnel ends with either side of its connection.
    var isBroker: Bool { endpoint.isBroker }
}

/// File with the networks of a bench (Docs/integrator/test-devices.md).
public struct NetworksFile: Sendable {
    public let networks: [BenchNetwork]

    private static let maximumLength = 1 << 20

    /// - Throws: `NetworksFileError`. Its description contains names from the file, but no passwords.
    public init(path: String) throws(NetworksFileError) {
        guard let data = try? Data(contentsOf: URL(filePath: path)), data.count <= Self.maximumLength else {
            throw .unreadable(path)
        }
        try self.init(Array(data), path: path)
    }

    init(_ bytes: [UInt8], path: String) throws(NetworksFileError) {
        guard let entries = JSONValue(line: bytes)?["networks"]?.array else { throw .notJSON(path) }
        var networks: [BenchNetwork] = []
        for entry in entries {
            let network = try BenchNetwork(entry, number: networks.count + 1)
            guard !networks.contains(where: { $0.ssid == network.ssid || $0.name == network.name }) else {
                throw .entry(network.name, "is in the file twice")
            }
            networks.append(network)
        }
        self.networks = networks
    }
}

extension BenchNetwork {
    fileprivate init(_ entry: JSONValue, number: Int) throws(NetworksFileError) {
        let place = Redaction.printable((entry["name"]?.text ?? "number \(number)").utf8)
        let name = SSID.JSONMembers(ssid: entry["ssid"]?.text, ssidHex: entry["ssidHex"]?.text)
        guard let ssid = (try? name.name) ?? nil else {
            throw .entry(place, "needs an ssid of 1 to 32 bytes, or an ssidHex")
        }
        let password = entry["password"]?.text.map { Secret(text: $0) }
        do { if let password { try Passphrase.validate(password) } } catch { throw .entry(place, "\(error)") }
        self.init(
            name: entry["name"]?.text ?? ssid.description, ssid: ssid, password: password,
            address: try entry["device"].map { (value) throws(NetworksFileError) in try Address(value, place) })
    }
}

extension BenchNetwork.Address {
    fileprivate init(_ value: JSONValue, _ place: String) throws(NetworksFileError) {
        guard let host = value["host"]?.text ?? value.text, !host.isEmpty else {
            throw .entry(place, #"needs a host in "device": give one, or leave "device" out"#)
        }
        let port = value["port"]?.integer
        guard port.map((1...65_535).contains) ?? true else {
            throw .entry(place, "has a port that is not a number from 1 to 65535")
        }
        self.init(host: host, port: port)
    }
}

public enum NetworksFileError: Error, Equatable, CustomStringConvertible {
    case unreadable(String)
    case notJSON(String)
    case entry(String, String)

    public var description: String {
        switch self {
        case .unreadable(let path):
            "cannot read the file of networks, check that it exists and is at most 1 MB: \(path)"
        case .notJSON(let path): #"not a JSON object with a list "networks": \#(path)"#
        case .entry(let name, let what): "the network \(name) \(what)"
        }
    }
}
