import AgentModel

/// One of the device's own servers, such as its broker.
public struct Target: Sendable, Hashable {
    /// The protocol, which determines how much an answer proves.
    public enum Service: String, Sendable, CaseIterable {
        /// Connects by TCP only: the kernel answers even if the program hangs.
        case tcp
        /// Requests HEAD of `/`. Any answer counts, except a captive portal's (3xx, 511) without TLS.
        case http
        /// Sends MQTT 3.1.1 CONNECT and pings. A refusal counts as an answer.
        case mqtt
    }

    /// Name of 1 to 32 letters, digits, `-` and `_`.
    public let name: String
    /// Host name or address.
    public let host: String
    /// Port number, 1 to 65535.
    public let port: Int
    public let service: Service
    /// Whether the connection is encrypted and the server authenticated.
    public let isTLS: Bool

    public static let largestCount = 8
    public static let longestName = 32
}

extension Target: CustomStringConvertible {
    /// The target in the form of the settings: `broker=mqtts://mqtt.example.com:8883`.
    public var description: String { "\(name)=\(url)" }

    /// URL such as `mqtts://mqtt.example.com:8883`.
    public var url: String {
        let scheme = Scheme(service: service, isTLS: isTLS)
        return "\(scheme.rawValue)://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}

extension Target {
    public static let schemes = Scheme.allCases.map(\.rawValue)
}

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

    /// Port of a server that is set without one.
    var port: Int {
        switch self {
        case .tcp, .http: 80
        case .tls, .https: 443
        case .mqtt: 1883
        case .mqtts: 8883
        }
    }
}

extension Target {
    /// Reads the setting of all targets: `NAME=[SCHEME://]HOST[:PORT]`, separated by spaces.
    public static func all(_ setting: String) throws(TargetError) -> [Target] {
        var targets: [Target] = []
        for word in setting.split(whereSeparator: { $0 == " " || $0 == "\t" || $0 == "\n" }) {
            targets.append(try Target(setting: String(word)))
        }
        try check(targets)
        return targets
    }

    /// - Parameter setting: `broker=mqtts://mqtt.example.com:8883`, `app=tls://app.example.com:443`,
    ///   `box=[fd00::1]:22`, `router=192.0.2.1`; the default is `tcp` and port 80.
    public init(setting: String) throws(TargetError) {
        guard let equals = setting.firstIndex(of: "=") else { throw .malformed(setting) }
        try self.init(name: String(setting[..<equals]), url: setting[setting.index(after: equals)...])
    }

    /// - Parameters:
    ///   - name: 1 to 32 letters, digits, `-` and `_`.
    ///   - url: `mqtts://mqtt.example.com:8883`; the default is `tcp` and port 80.
    public init(name: String, url: String) throws(TargetError) {
        try self.init(name: name, url: url[...])
    }

    private init(name: String, url: Substring) throws(TargetError) {
        guard (1...Self.longestName).contains(name.utf8.count), name.utf8.allSatisfy(\.isNameCharacter) else {
            throw .badName(name)
        }
        var rest = url
        var scheme = Scheme.tcp
        if let parts = rest.split(atFirst: "://") {
            guard let known = Scheme(rawValue: String(parts.before)) else { throw .badScheme(String(parts.before)) }
            scheme = known
            rest = parts.after
        }
        var number = scheme.port
        if rest.last != "]", let colon = rest.lastIndex(of: ":") {
            number = try Self.port(rest[rest.index(after: colon)...])
            rest = rest[..<colon]
        }
        self.init(
            name: name, host: try Self.checked(host: rest), port: number, service: scheme.service, isTLS: scheme.isTLS)
    }

    private static func port(_ text: Substring) throws(TargetError) -> Int {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy(\.isDigit), let number = Int(text),
            (1...65_535).contains(number)
        else { throw .badPort(String(text)) }
        return number
    }

    /// Checks the number of targets, and their names for duplicates.
    public static func check(_ targets: [Target]) throws(TargetError) {
        for (index, target) in targets.enumerated() where targets[..<index].contains(where: { $0.name == target.name })
        {
            throw .duplicateName(target.name)
        }
        guard targets.count <= largestCount else { throw .tooMany(targets.count) }
    }
}

extension UInt8 {
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    fileprivate var isNameCharacter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: isDigit
        }
    }
}

extension Substring {
    fileprivate func split(atFirst separator: String) -> (before: Substring, after: Substring)? {
        for index in indices where self[index...].hasPrefix(separator) {
            return (self[..<index], self[self.index(index, offsetBy: separator.count)...])
        }
        return nil
    }
}

extension Target {
    /// - Parameter text: a name, an IPv4 address, or an IPv6 address in brackets.
    /// - Returns: the host without brackets.
    static func checked(host text: Substring) throws(TargetError) -> String {
        // Refuses zones, because the interface determines the zone of a link-local address.
        if text.first == "[", text.last == "]", !text.contains("%") {
            let address = text.dropFirst().dropLast()
            guard address.contains(":"), IPAddress(address) != nil else { throw .badHost(String(text)) }
            return String(address)
        }
        guard !text.contains(":"), (try? Host(String(text))) != nil else { throw .badHost(String(text)) }
        return String(text)
    }

    var isAddress: Bool { IPAddress(host) != nil }
}

/// An invalid setting of a server.
public enum TargetError: Error, Equatable, Sendable {
    /// The text is not `NAME=[SCHEME://]HOST[:PORT]`.
    case malformed(String)
    case badName(String)
    case duplicateName(String)
    case badScheme(String)
    case badHost(String)
    case badPort(String)
    case tooMany(Int)
}

extension TargetError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed(let text):
            "the target \(shown(text)) is not NAME=HOST[:PORT], such as broker=mqtts://mqtt.example.com:8883"
        case .badName(let text):
            "the name \(shown(text)) of a target must be 1 to \(Target.longestName) letters, digits, - and _"
        case .duplicateName(let text):
            "two targets have the name \(shown(text)): rename one of them"
        case .badScheme(let text):
            "\(shown(text)) is an unknown scheme: use one of \(Scheme.allCases.map(\.rawValue).joined(separator: ", "))"
        case .badHost(let text):
            "\(shown(text)) is neither a host name nor an address; write an IPv6 address in brackets, a non-ASCII name"
                + " in its xn-- form"
        case .badPort(let text):
            "\(shown(text)) is not a port: it must be 1 to 65535"
        case .tooMany(let count):
            "too many targets: at most \(Target.largestCount), not \(count)"
        }
    }

    /// Returns the user's text, safe for one line of a terminal.
    private func shown(_ text: String) -> String { "'" + String(text.withoutCredentials.prefix(64)).printable + "'" }
}
