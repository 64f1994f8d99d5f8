import AgentModel

/// The secret of a device and its owner's app. It gives full access to the device.
public struct DeviceKey: Sendable, Equatable {
    /// 1 to 64 printable ASCII characters without spaces. Not a secret.
    public let deviceId: String
    /// 16 to 64 bytes.
    public let localKey: Secret

    /// - Throws: `malformed` where one of them is too short, too long, or has characters that it may not have.
    public init(deviceId: String, localKey: Secret) throws(ProtocolError) {
        guard ProtocolLimits.deviceIdLength.contains(deviceId.utf8.count),
            deviceId.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else {
            throw ProtocolError(.malformed, "a device id has 1 to 64 printable characters without spaces")
        }
        guard ProtocolLimits.localKeyLength.contains(localKey.count) else {
            throw ProtocolError(.malformed, "a local key has 16 to 64 bytes")
        }
        self.deviceId = deviceId
        self.localKey = localKey
    }
}

/// The content of a device's QR code: its id, and the local key with which its owner's app talks to it.
///
/// `altnet:pair?v=1&id=9f86d081884c7d65&key=0123456789abcdef0123456789abcdef`, a URI (RFC 3986), so that a phone can
/// hand it to the app that claims the scheme. The values are the bytes of the id and of the local key, percent-encoded
/// where they are not unreserved characters. The code gives full access to the device: it is as secret as the key.
public struct PairingCode: Sendable, Equatable {
    public let device: DeviceKey

    /// The longest code that is read, in bytes.
    public static let maximumLength = 512

    /// The beginning of every code.
    public static let scheme = "altnet:"

    private static let version = "1"

    public init(_ device: DeviceKey) { self.device = device }

    /// Reads a code, from a camera or a file. Parameters that this version does not know are skipped.
    public init(reading code: some Collection<UInt8>) throws(PairingCodeError) {
        guard code.count <= Self.maximumLength, let start = code.firstIndex(of: UInt8(ascii: "?")),
            code.prefix(upTo: start).elementsEqual((Self.scheme + "pair").utf8, by: Self.isSameLetter)
        else { throw .notAPairingCode }
        var values: [String: [UInt8]] = [:]
        defer { for name in values.keys { values[name]?.withUnsafeMutableBytes { wipe($0) } } }
        for parameter in code[start...].dropFirst().split(
            separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        {
            guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")) else { throw .malformed }
            let name = String(decoding: parameter[..<equals], as: UTF8.self)
            guard ["v", "id", "key"].contains(name) else { continue }
            guard values[name] == nil else { throw .repeated(name) }
            values[name] = try Self.decode(parameter[equals...].dropFirst())
        }
        guard let version = values["v"] else { throw .missing("v") }
        guard version.elementsEqual(Self.version.utf8) else { throw .otherVersion }
        guard let id = values["id"] else { throw .missing("id") }
        guard let key = values["key"] else { throw .missing("key") }
        do {
            device = try DeviceKey(deviceId: String(decoding: id, as: UTF8.self), localKey: Secret(key))
        } catch {
            throw .impossibleDevice(error.message)
        }
    }

    /// The code as text, which holds the local key in the open: show it to the owner only.
    public func uri() -> String {
        let key = device.localKey.withBytes { Self.encode($0) }
        return "\(Self.scheme)pair?v=\(Self.version)&id=\(Self.encode(device.deviceId.utf8))&key=\(key)"
    }

    private static func encode(_ bytes: some Sequence<UInt8>) -> String {
        bytes.reduce(into: "") { text, byte in
            text += isUnreserved(byte) ? String(Unicode.Scalar(byte)) : "%" + Hex.string([byte]).uppercased()
        }
    }

    private static func decode(_ text: some Collection<UInt8>) throws(PairingCodeError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                guard (0x21...0x7e).contains(byte) else { throw .malformed }
                bytes.append(byte)
                continue
            }
            guard let escaped = Hex.bytes(String(decoding: rest.prefix(2), as: UTF8.self)), escaped.count == 1 else {
                throw .malformed
            }
            bytes += escaped
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// RFC 3986, 2.3.
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Schemes are compared without regard to case (RFC 3986, 3.1), and so is the word after it.
    private static func isSameLetter(_ byte: UInt8, _ lowercase: UInt8) -> Bool {
        byte == lowercase || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) && byte | 0x20 == lowercase
    }
}

extension PairingCode: CustomStringConvertible, CustomDebugStringConvertible {
    /// Says whose it is, and not the key.
    public var description: String { "pairing code of \(device.deviceId)" }
    public var debugDescription: String { description }
}

/// Why something is no pairing code. None of them repeats what was read.
public enum PairingCodeError: Error, Sendable, Equatable {
    case notAPairingCode
    /// Of a version that is not known here.
    case otherVersion
    /// A parameter without a value, or a character that may not be there.
    case malformed
    /// There is no such parameter.
    case missing(String)
    /// There is more than one such parameter.
    case repeated(String)
    /// No device has such an id or such a key.
    case impossibleDevice(String)
}

extension PairingCodeError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notAPairingCode: "this is not a pairing code: one begins with altnet:pair?"
        case .otherVersion: "this pairing code is of a version that is not known here: update altnet"
        case .malformed: "the pairing code is damaged"
        case .missing(let name): "the pairing code is cut short: it has no \(name)"
        case .repeated(let name): "the pairing code has more than one \(name)"
        case .impossibleDevice(let problem): "the pairing code is of no device: \(problem)"
        }
    }
}
