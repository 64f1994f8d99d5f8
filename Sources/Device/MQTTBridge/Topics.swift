import AgentModel
import AppProtocol

/// The topics of one device.
public struct Topics: Sendable, Equatable {
    /// Before all of them: the prefix and the device.
    public let base: String
    private let prefix: String

    public init(prefix: String, deviceId: String) {
        self.prefix = prefix
        base = prefix + "/" + Self.level(deviceId)
    }

    /// `online` or `offline`, retained; the will.
    public var availability: String { base + "/availability" }
    /// ``StatusMessage``, retained.
    public var status: String { base + "/status" }
    /// The newest measurement of the link, retained.
    public var signal: String { base + "/signal" }
    /// The stored networks without their passwords, retained.
    public var backups: String { base + "/backups" }
    /// What the device decided, and why.
    public var decision: String { base + "/decision" }
    /// The phases of a commanded switch.
    public var switchProgress: String { base + "/switch" }
    /// ``OutageMessage`` for each outage that has ended.
    public var outage: String { base + "/outage" }
    /// The end of a scan that was asked for.
    public var scan: String { base + "/scan" }
    /// Where questions and commands come in.
    public var request: String { base + "/request" }
    /// Where an answer goes whose request names no topic for it.
    public var response: String { base + "/response" }
    /// Where Home Assistant's select and buttons come in.
    public var homeAssistant: String { base + "/home-assistant" }
    /// The newest version of the firmware that there is, of all devices of the prefix. Its owner publishes it, retained.
    public var firmware: String { prefix + "/firmware" }

    /// All that is kept by the broker.
    public var retained: [String] { [status, signal, backups, availability] }

    /// Of a device in Home Assistant: letters, digits, hyphens and underscores.
    public static func discovery(_ discoveryPrefix: String, deviceId: String) -> String {
        "\(discoveryPrefix)/device/\(objectID(deviceId))/config"
    }

    /// The topic on which Home Assistant tells that it has started.
    public static func birth(_ discoveryPrefix: String) -> String { discoveryPrefix + "/status" }

    /// A name that Home Assistant takes; ids that differ give names that differ.
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

    /// One level of a topic: a device id with what means something in topics percent-encoded.
    static func level(_ deviceId: String) -> String {
        deviceId.utf8.reduce(into: "") { level, byte in
            switch byte {
            case UInt8(ascii: "+"), UInt8(ascii: "#"), UInt8(ascii: "/"), UInt8(ascii: "%"):
                level += "%" + Hex.string([byte])
            default: level.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
    }

    /// The device of a topic `prefix/device/name`, and that name; nil for another topic.
    public static func device(of topic: String, below prefix: String) -> (id: String, name: String)? {
        let levels = topic.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
        guard topic.hasPrefix(prefix + "/"), levels.count == 3, let id = deviceId(String(levels[1])) else { return nil }
        return (id, String(levels[2]))
    }

    /// The device whose level of a topic this is; nil where it is that of none.
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

    /// Whether something may be published there (MQTT 5, 4.7): text without wildcards and control characters.
    public static func isName(_ topic: String) -> Bool {
        !topic.isEmpty && topic.utf8.count <= 65_535
            && topic.unicodeScalars.allSatisfy { scalar in
                scalar != "+" && scalar != "#" && scalar.value >= 0x20 && !(0x7f...0x9f).contains(scalar.value)
                    && scalar.value & 0xfffe != 0xfffe && !(0xfdd0...0xfdef).contains(scalar.value)
            }
    }

    /// Whether a device's topics may begin so: at most 64 bytes, no empty level, none of the broker's own.
    public static func isPrefix(_ text: String) -> Bool {
        isName(text) && text.utf8.count <= 64 && !text.hasPrefix("$")
            && text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
    }

    /// Whether an answer may go there. A requester must not have the device say in its own name what it did not say, nor
    /// speak to Home Assistant or to other devices of the prefix in its place.
    func mayAnswer(to topic: String, discoveryPrefix: String?) -> Bool {
        guard Self.isName(topic), topic.utf8.count <= BridgeLimits.responseTopic, !topic.hasPrefix("$") else {
            return false
        }
        if topic == response || topic.hasPrefix(response + "/") { return true }
        return !topic.hasPrefix(prefix + "/") && !topic.hasPrefix((discoveryPrefix ?? "homeassistant") + "/")
    }
}
