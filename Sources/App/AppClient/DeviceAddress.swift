import AgentModel
import AppProtocol

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A device address as a user writes it: `HOST[:PORT]`, IPv6 in brackets.
public struct DeviceAddress: Sendable, Equatable {
    /// Host name or address, without brackets. A link-local address has a zone (`fe80::1%wlan0`).
    public let host: String
    public let port: Int

    /// - Throws: `InvalidDeviceAddress`.
    public init(_ text: String) throws(InvalidDeviceAddress) {
        let name: Substring
        let rest: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else {
                throw InvalidDeviceAddress(description: "the bracket is not closed")
            }
            name = text[..<end].dropFirst()
            rest = text[end...].dropFirst()
            guard Self.isIPv6(name) else {
                throw InvalidDeviceAddress(description: "only an IPv6 address has brackets")
            }
        } else {
            name = text.prefix { $0 != ":" }
            rest = text[name.endIndex...]
            guard !rest.dropFirst().contains(":") else {
                throw InvalidDeviceAddress(
                    description: "write an IPv6 address in brackets, such as [fe80::1%wlan0]:\(ProtocolLimits.port)")
            }
            guard Self.isHostName(name) else {
                throw InvalidDeviceAddress(description: "not a host name or an address")
            }
        }
        host = String(name)
        port = try rest.isEmpty ? ProtocolLimits.port : Self.port(rest)
    }

    private static func port(_ text: Substring) throws(InvalidDeviceAddress) -> Int {
        let digits = text.dropFirst()
        guard text.first == ":", !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = Int(digits), (1...65_535).contains(port)
        else {
            throw InvalidDeviceAddress(description: "the port must be 1 to 65535, such as HOST:\(ProtocolLimits.port)")
        }
        return port
    }

    /// Accepts up to 253 bytes (RFC 1035, 2.3.4). Refuses a leading hyphen, which a command would take for an option.
    private static func isHostName(_ text: Substring) -> Bool {
        (1...253).contains(text.utf8.count) && text.first != "-"
            && text.unicodeScalars.allSatisfy { $0.isPlain && !" /@[]%".unicodeScalars.contains($0) }
    }

    private static func isIPv6(_ text: Substring) -> Bool {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        var address = in6_addr()
        guard inet_pton(AF_INET6, String(parts[0]), &address) == 1 else { return false }
        guard parts.count == 2 else { return true }
        // A zone is an interface name or number.
        return (1..<Int(IFNAMSIZ)).contains(parts[1].utf8.count)
            && parts[1].unicodeScalars.allSatisfy { $0.isASCII && $0.isPlain && $0 != " " && $0 != "/" }
    }
}

/// An invalid device address. The description says what is wrong.
public struct InvalidDeviceAddress: Error, Equatable, CustomStringConvertible {
    public let description: String
}

/// The place to connect to: the agent on this machine, or a device in the network or at a broker.
public indirect enum Endpoint: Sendable, Equatable {
    /// The agent on this machine.
    case unixSocket(path: String)
    /// A device in the network. It must prove that it has the key, and show the key's certificate if there is one.
    case network(host: String, port: Int = ProtocolLimits.port, device: DeviceKey)
    /// A device at an MQTT broker, which only carries the connection. The device proves its key as in the network.
    case broker(BrokerRoute, device: DeviceKey)
    /// Two endpoints of one device. Connects to the second once the first has failed or has not answered for two
    /// seconds.
    case first(Endpoint, otherwise: Endpoint)

    package var isLocal: Bool { if case .unixSocket = self { true } else { false } }
    package var isBroker: Bool { if case .broker = self { true } else { false } }

    /// Key of the device; nil for the agent on this machine.
    var device: DeviceKey? {
        switch self {
        case .unixSocket: nil
        case .network(_, _, let device), .broker(_, let device): device
        case .first(let first, let other): first.device ?? other.device
        }
    }
}

extension Endpoint: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unixSocket(let path): path
        case .network(let host, let port, let device):
            "\(device.deviceId) at \(host.contains(":") ? "[\(host)]" : host):\(port)"
        case .broker(let route, let device): "\(device.deviceId) at \(route.shown)"
        case .first(let first, let other): "\(first) or \(other)"
        }
    }
}
