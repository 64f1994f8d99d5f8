/// A server that the device is there for: its own broker, its app's server.
public struct Target: Sendable, Hashable {
    /// What is spoken, and with that how much is proved by an answer.
    public enum Service: String, Sendable, CaseIterable {
        /// Nothing is said. The other side's kernel answers, also for a program that hangs.
        case tcp
        /// A request for the head of `/`; any answer will do, but without TLS none that captive portals give (3xx, 511).
        case http
        /// MQTT 3.1.1: a client without a name says hello and pings; being refused is an answer.
        case mqtt
    }

    /// Letters, digits, `-` and `_`; 1 to 32 of them.
    public let name: String
    /// A host name, or the address of one.
    public let host: String
    /// 1 to 65535.
    public let port: Int
    public let service: Service
    /// Whether the connection is encrypted and the other side proves who it is.
    public let isTLS: Bool

    /// At most so many.
    public static let largestCount = 8
    public static let longestName = 32
}

extension Target: CustomStringConvertible {
    /// As in the settings: `broker=mqtts://mqtt.example.com:8883`.
    public var description: String {
        let scheme = Scheme(service: service, isTLS: isTLS)
        return "\(name)=\(scheme.rawValue)://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}

extension Target {
    /// How a setting may begin, before `://`.
    public static let schemes = Scheme.allCases.map(\.rawValue)
}

/// How a target is written: what is spoken, and whether encrypted.
enum Scheme: String, CaseIterable {
    case tcp, tls, http, https, mqtt, mqtts

    init(service: Target.Service, isTLS: Bool) {
        self =
            switch service {
            case .tcp: isTLS ? .tls : .tcp
            case .http: isTLS ? .https : .http
            case .mqtt: isTLS ? .mqtts : .mqtt
            }
    }

    var service: Target.Service {
        switch self {
        case .tcp, .tls: .tcp
        case .http, .https: .http
        case .mqtt, .mqtts: .mqtt
        }
    }

    var isTLS: Bool { self == .tls || self == .https || self == .mqtts }
}
