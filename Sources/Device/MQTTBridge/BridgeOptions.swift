import AgentModel
import AppProtocol

public struct BridgeOptions: Sendable, Equatable {
    /// Address of the broker; nil if not set. The bridge is then idle.
    public var broker: BrokerAddress?
    public var user: String?
    /// Folder with the password, certificates and keys; nil for the service's credentials.
    public var secrets: String?
    public var bridge = BridgeSettings()

    public struct Faults: Error, Equatable {
        public let faults: [(name: String, value: String)]

        public static func == (left: Faults, right: Faults) -> Bool {
            left.faults.elementsEqual(right.faults) { $0 == $1 }
        }
    }

    /// Names of the settings, without the prefix `ALTNET_MQTT_`.
    public enum Name: String, Sendable, CaseIterable {
        case broker = "BROKER"
        case user = "USER"
        case secrets = "SECRETS"
        case clientID = "CLIENT_ID"
        case prefix = "PREFIX"
        case commands = "COMMANDS"
        case discovery = "DISCOVERY"
        case signal = "SIGNAL_S"
        case keepAlive = "KEEPALIVE_S"
        case willDelay = "WILL_DELAY_S"
        case session = "SESSION_S"
        case spread = "SPREAD_S"
        case retry = "RETRY_S"

        package var form: SettingForm {
            switch self {
            case .broker:
                .other(
                    "mqtts://HOST or mqtt://HOST, and :PORT if it is not 8883 or 1883; an IPv6 address in brackets")
            case .user: .other("1 to 128 bytes of text")
            case .secrets: .path
            case .clientID: .other("1 to 64 letters, digits, dots, hyphens and underscores")
            case .prefix: .other("levels of a topic, of 64 bytes at most, without + and #")
            case .commands: .oneOf(["none"] + Role.allCases.map(\.rawValue))
            case .discovery: .other("levels of a topic, of 64 bytes at most, without + and #; no for none")
            case .signal: .number(1...3600, .seconds)
            case .keepAlive: .number(10...3600, .seconds)
            case .willDelay: .number(0...3600, .seconds)
            case .session: .number(0...604_800, .seconds)
            case .spread: .number(1...3600, .seconds)
            case .retry: .number(1...3600, .seconds)
            }
        }
    }

    /// - Parameter values: values by name. An empty value counts as not set.
    /// - Throws: ``Faults`` with all invalid values.
    public init(_ values: [Name: String]) throws(Faults) {
        self.init()
        var faults: [(name: String, value: String)] = []
        func apply<Value>(_ name: Name, _ read: (String) -> Value?, _ store: (Value) -> Void) {
            guard let text = values[name], !text.isEmpty else { return }
            if let value = read(text) { store(value) } else { faults.append((name.rawValue, text)) }
        }
        func seconds(_ name: Name, _ store: (Duration) -> Void) {
            guard case .number(let range, _) = name.form else { return }
            apply(name) {
                Int($0).flatMap { range.contains($0) ? .seconds($0) : nil }
            } _: {
                store($0)
            }
        }
        apply(.broker, BrokerAddress.init) { broker = $0 }
        apply(.user) {
            (1...128).contains($0.utf8.count) && Topics.isName($0.filter { $0 != "+" && $0 != "#" }) ? $0 : nil
        } _: {
            user = $0
        }
        apply(.secrets) {
            $0.hasPrefix("/") && !$0.utf8.contains(0) ? $0 : nil
        } _: {
            secrets = $0
        }
        apply(.clientID, Self.clientID) { bridge.clientID = $0 }
        apply(.prefix) {
            Topics.isPrefix($0) ? $0 : nil
        } _: {
            bridge.prefix = $0
        }
        apply(.commands) {
            $0 == "none" ? .some(nil) : Role(rawValue: $0).map(Optional.some)
        } _: {
            bridge.role = $0
        }
        apply(.discovery) {
            $0 == "no" ? .some(nil) : Topics.isPrefix($0) ? .some($0) : nil
        } _: {
            bridge.discoveryPrefix = $0
        }
        seconds(.signal) { bridge.signalInterval = $0 }
        seconds(.keepAlive) { bridge.keepAlive = $0 }
        seconds(.willDelay) { bridge.willDelay = $0 }
        seconds(.session) { bridge.sessionExpiry = $0 }
        seconds(.spread) { bridge.spread = $0 }
        seconds(.retry) { bridge.longestWait = $0 }
        guard faults.isEmpty else { throw Faults(faults: faults) }
    }

    public init() {}

    private static func clientID(_ text: String) -> String? {
        let isAllowed = text.utf8.allSatisfy { byte in
            switch Unicode.Scalar(byte) {
            case "a"..."z", "A"..."Z", "0"..."9", ".", "-", "_": true
            default: false
            }
        }
        return isAllowed && (1...64).contains(text.utf8.count) ? text : nil
    }
}

public struct BrokerAddress: Sendable, Equatable {
    public let host: String
    public let port: Int
    public let isEncrypted: Bool

    /// Parses `mqtts://HOST:PORT` or `mqtt://HOST:PORT`. The default port is 8883 or 1883.
    public init?(_ text: String) {
        let rest: Substring
        if text.hasPrefix("mqtts://") {
            (rest, isEncrypted) = (text.dropFirst(8), true)
        } else if text.hasPrefix("mqtt://") {
            (rest, isEncrypted) = (text.dropFirst(7), false)
        } else {
            return nil
        }
        let standard = isEncrypted ? 8883 : 1883
        let tail: Substring
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            host = String(rest[rest.index(after: rest.startIndex)..<end])
            tail = rest[rest.index(after: end)...]
            guard host.contains(":"), host.utf8.allSatisfy({ Self.isAddressByte($0) }) else { return nil }
        } else {
            let end = rest.firstIndex(of: ":") ?? rest.endIndex
            host = String(rest[..<end])
            tail = rest[end...]
            guard (1...253).contains(host.utf8.count), host.utf8.allSatisfy({ Self.isNameByte($0) }),
                host.split(separator: ".", omittingEmptySubsequences: false).allSatisfy({ (1...63).contains($0.count) })
            else { return nil }
        }
        guard !tail.isEmpty else {
            port = standard
            return
        }
        guard tail.hasPrefix(":"), let number = UInt16(tail.dropFirst()), number > 0 else { return nil }
        port = Int(number)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_": true
        default: false
        }
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "a"..."f", "A"..."F", "0"..."9", ":", ".", "%": true
        default: false
        }
    }
}
