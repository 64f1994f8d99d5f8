import AgentModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The file that names the networks of a bench, documented in Docs/harness.md.
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

/// What is wrong with a file of networks.
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
