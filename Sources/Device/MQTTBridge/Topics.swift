import AgentModel
import AppProtocol

public struct Topics: Sendable, Equatable {
    public let base: String
    private let prefix: String

    public init(prefix: String, deviceId: String) {
        self.prefix = prefix
        base = prefix + "/" + Self.level(deviceId)
    }

    /// Topic of `online` or `offline`, retained. The will uses it too.
    public var availability: String { base + "/availability" }
    /// Topic of ``StatusMessage``, retained.
    public var status: String { base + "/status" }
    /// Topic of the latest signal, retained.
    public var signal: String { base + "/signal" }
    /// Topic of the stored networks without passwords, retained.
    public var backups: String { base + "/backups" }
    /// Topic of the device's decisions with their reasons.
    public var decision: String { base + "/decision" }
    public var switchProgress: String { base + "/switch" }
    public var outage: String { base + "/outage" }
    /// Topic of the end of a commanded scan.
    public var scan: String { base + "/scan" }
    public var request: String { base + "/request" }
    /// Topic of answers to requests without a response topic.
    public var response: String { base + "/response" }
    /// Topic of commands from Home Assistant's select and buttons.
    public var homeAssistant: String { base + "/home-assistant" }
    /// Topic of the newest firmware version for all devices of the prefix, retained. The fleet's owner publishes it.
    public var firmware: String { prefix + "/firmware" }

    /// Topic of an app's messages to the device in a tunnel. The ID is 32 hexadecimal digits, or `+` for all.
    public func tunnelUp(_ id: String) -> String { "\(base)/tunnel/\(id)/up" }
    /// Topic of the device's messages to an app in a tunnel.
    public func tunnelDown(_ id: String) -> String { "\(base)/tunnel/\(id)/down" }

    /// Returns the ID of a tunnel; nil for any other topic than an app's messages in a tunnel.
    func tunnel(ofUp topic: String) -> String? {
        let (head, tail) = (base + "/tunnel/", "/up")
        guard topic.hasPrefix(head), topic.hasSuffix(tail) else { return nil }
        let id = topic.utf8.dropFirst(head.utf8.count).dropLast(tail.utf8.count)
        let isHexadecimal = id.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        return id.count == 32 && isHexadecimal ? String(id) : nil
    }

    public var retained: [String] { [status, signal, backups, availability] }

    /// Home Assistant's discovery topic of the device.
    public static func discovery(_ discoveryPrefix: String, deviceId: String) -> String {
        "\(discoveryPrefix)/device/\(objectID(deviceId))/config"
    }

    /// Topic on which Home Assistant announces its start.
    public static func birth(_ discoveryPrefix: String) -> String { discoveryPrefix + "/status" }

    /// Returns a unique name of letters, digits, hyphens and underscores for Home Assistant.
    public static func objectID(_ deviceId: String) -> String {
        var text = "altnet_"
        for byte in deviceId.utf8 {
            let scalar = Unicode.Scalar(byte)
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "-": text.unicodeScalars.append(scalar)
            default: text += "_" + Hex.string([byte])
            }
        }
        return text
    }

    /// Returns the topic level of a device ID, with `+`, `#`, `/` and `%` percent-encoded.
    static func level(_ deviceId: String) -> String {
        deviceId.utf8.reduce(into: "") { level, byte in
            switch byte {
            case UInt8(ascii: "+"), UInt8(ascii: "#"), UInt8(ascii: "/"), UInt8(ascii: "%"):
                level += "%" + Hex.string([byte])
            default: level.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
    }

    /// Returns the device and name of a topic `prefix/device/name`, else nil.
    public static func device(of topic: String, below prefix: String) -> (id: String, name: String)? {
        let levels = topic.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        guard topic.hasPrefix(prefix + "/"), levels.count == 3, let id = deviceId(String(levels[1])) else { return nil }
        return (id, String(levels[2]))
    }

    /// Decodes a topic level; nil if it is not a device ID.
    public static func deviceId(_ level: String) -> String? {
        var bytes: [UInt8] = []
        var rest = level.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let escaped = Hex.bytes(String(decoding: rest.prefix(2), as: UTF8.self)), escaped.count == 1 else {
                return nil
            }
            bytes += escaped
            rest = rest.dropFirst(2)
        }
        guard ProtocolLimits.deviceIdLength.contains(bytes.count), bytes.allSatisfy({ (0x21...0x7e).contains($0) })
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether a topic is valid for publishing (MQTT 5, 4.7): text without wildcards and control characters.
    public static func isName(_ topic: String) -> Bool {
        !topic.isEmpty && topic.utf8.count <= 65_535
            && topic.unicodeScalars.allSatisfy { scalar in
                scalar != "+" && scalar != "#" && scalar.value >= 0x20 && !(0x7f...0x9f).contains(scalar.value)
                    && scalar.value & 0xfffe != 0xfffe && !(0xfdd0...0xfdef).contains(scalar.value)
            }
    }

    /// Whether a text is a valid prefix: at most 64 bytes, no empty level, no `$` at the start.
    public static func isPrefix(_ text: String) -> Bool {
        isName(text) && text.utf8.count <= 64 && !text.hasPrefix("$")
            && text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
    }

    /// Whether an answer may go to this topic. Otherwise a requester could make the device publish false states, or
    /// send messages to Home Assistant or other devices.
    func mayAnswer(to topic: String, discoveryPrefix: String?) -> Bool {
        guard Self.isName(topic), topic.utf8.count <= BridgeLimits.responseTopic, !topic.hasPrefix("$") else {
            return false
        }
        if topic == response || topic.hasPrefix(response + "/") { return true }
        return !topic.hasPrefix(prefix + "/") && !topic.hasPrefix((discoveryPrefix ?? "homeassistant") + "/")
    }
}
