import AgentModel
import AppClient
import AppProtocol
import FoundationEssentials
import JSONValues

/// Environment of the device under test: networks in range, and optionally a switch for access points.
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
    /// Address of the device in this network; nil for the usual one.
    public let address: Address?

    public struct Address: Sendable, Equatable {
        public let host: String
        /// Port number; nil for the standard port.
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

/// Turns access points on and off: a user's program, or the lab.
public protocol AccessPointSwitch: Sendable {
    func names() async throws -> [String]

    /// Returns when the access point has started or stopped to send.
    func turn(_ name: String, on isOn: Bool) async throws
}

/// The device under test.
public struct DeviceUnderTest: Sendable {
    public let endpoint: Endpoint
    /// Key of the owner's app. A Unix socket needs it only for hashes and seals.
    public let key: DeviceKey?
    /// Limit for connecting, and for each answer.
    public let patience: Duration
    /// Limit for a switch, including the way back and addresses.
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

    /// Limit for one of several possible addresses of the device.
    var patienceWithOnePlace: Duration { patience / 5 }

    var isNetwork: Bool { if case .network = endpoint { true } else { false } }
}

/// File with the networks of a bench, documented in Docs/integrator/test-devices.md.
public struct NetworksFile: Sendable {
    public let networks: [BenchNetwork]

    private static let maximumLength = 1 << 20

    /// - Throws: `NetworksFileError`, which contains only names from the file.
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
