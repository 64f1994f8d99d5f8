import AgentModel
import AppClient
import AppProtocol
import JSONValues

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The surroundings of the device under test: networks that it can be sent to, and perhaps a way to turn their access
/// points off.
public struct Bench: Sendable {
    public let networks: [BenchNetwork]
    public let accessPoints: (any AccessPointSwitch)?

    public init(networks: [BenchNetwork] = [], accessPoints: (any AccessPointSwitch)? = nil) {
        self.networks = networks
        self.accessPoints = accessPoints
    }

    func network(_ ssid: SSID) -> BenchNetwork? { networks.first { $0.ssid == ssid } }
}

/// A network in range of the device, whose password the harness knows.
public struct BenchNetwork: Sendable {
    /// The access point's name for ``AccessPointSwitch``.
    public let name: String
    public let ssid: SSID
    /// Nil for an open network.
    public let password: Secret?
    /// The device's address while it is on this network; nil if it is the same as everywhere.
    public let address: Address?

    public struct Address: Sendable, Equatable {
        public let host: String
        /// Nil for the same port as everywhere.
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

/// Turns access points on and off: a user's program at a bench, or the lab.
public protocol AccessPointSwitch: Sendable {
    /// Those that it can turn.
    func names() async throws -> [String]

    /// Returns once the access point is on the air, or has left it.
    func turn(_ name: String, on isOn: Bool) async throws
}

/// The device under test, as the harness reaches it.
public struct Target: Sendable {
    public let endpoint: Endpoint
    /// The pairing key of the owner's app. Over a Unix socket it is only needed for what is computed with it: hashes
    /// and seals.
    public let key: DeviceKey?
    /// How long connecting and each answer may take.
    public let patience: Duration
    /// How long a switch may take with its way back, both with an address.
    public let switchTime: Duration

    /// A device in the network.
    public init(
        host: String, port: Int = ProtocolLimits.port, key: DeviceKey, patience: Duration = .seconds(10),
        switchTime: Duration = .seconds(120)
    ) {
        endpoint = .network(host: host, port: port, device: key)
        self.key = key
        self.patience = patience
        self.switchTime = switchTime
    }

    /// An agent on this machine.
    public init(
        socket path: String, key: DeviceKey? = nil, patience: Duration = .seconds(10),
        switchTime: Duration = .seconds(120)
    ) {
        endpoint = .unixSocket(path: path)
        self.key = key
        self.patience = patience
        self.switchTime = switchTime
    }

    /// How long one of several places may take where the device could be.
    var patienceWithOnePlace: Duration { patience / 5 }

    var isNetwork: Bool { if case .network = endpoint { true } else { false } }
}

/// The file that names the networks of a bench, documented in Docs/integrator/test-devices.md.
public struct NetworksFile: Sendable {
    public let networks: [BenchNetwork]

    private static let maximumLength = 1 << 20

    /// - Throws: `NetworksFileError`, which repeats nothing of the file but names.
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
                throw .entry(network.name, "is there twice")
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
            throw .entry(place, #"needs a host in "device", or nothing"#)
        }
        let port = value["port"]?.integer
        guard port.map((1...65_535).contains) ?? true else { throw .entry(place, "has no port from 1 to 65535") }
        self.init(host: host, port: port)
    }
}

/// The fault in a file of networks.
public enum NetworksFileError: Error, Equatable, CustomStringConvertible {
    case unreadable(String)
    case notJSON(String)
    case entry(String, String)

    public var description: String {
        switch self {
        case .unreadable(let path): "\(path) cannot be read"
        case .notJSON(let path): #"\#(path) is no JSON object with "networks", a list"#
        case .entry(let name, let what): "the network \(name) \(what)"
        }
    }
}
