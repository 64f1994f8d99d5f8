import AgentModel

/// A key for a device: the owner's key, which is the device's local key, or an app's own key.
public struct DeviceKey: Sendable, Equatable {
    /// Device ID: 1 to 64 printable ASCII characters without spaces. Not a secret.
    public let deviceId: String
    /// The key, 16 to 64 bytes: the device's local key if `name` is the owner's, otherwise the app's key.
    public let localKey: Secret
    public let name: KeyName
    /// The certificate that the device must show; nil to accept any certificate that the device proves with the key.
    public var certificate: CertificateFingerprint?

    /// - Throws: `malformed` for a wrong length or character.
    public init(
        deviceId: String, localKey: Secret, name: KeyName = .owner, certificate: CertificateFingerprint? = nil
    ) throws(ProtocolError) {
        guard ProtocolLimits.deviceIdLength.contains(deviceId.utf8.count),
            deviceId.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else {
            throw ProtocolError(.malformed, "a device id must have 1 to 64 printable characters without spaces")
        }
        guard ProtocolLimits.localKeyLength.contains(localKey.count) else {
            throw ProtocolError(.malformed, "a local key must have 16 to 64 bytes")
        }
        self.deviceId = deviceId
        self.localKey = localKey
        self.name = name
        self.certificate = certificate
    }

    /// A random key, which fits no device.
    package init(unknown deviceId: String) {
        self.deviceId = deviceId
        localKey = Secret((0..<ProtocolLimits.localKeyLength.upperBound).map { _ in UInt8.random(in: .min ... .max) })
        name = .owner
    }

    public var isOwners: Bool { name == .owner }
}

/// The content of a device's QR code: its ID, a key and the certificate. Keep it as secret as the key.
///
/// `altnet://pair?v=1&id=9f86d081884c7d65&key=0123456789abcdef0123456789abcdef&cert=...`, a URI (RFC 3986) that phones
/// pass to the app with this scheme. ID and key are percent-encoded bytes; `cert` is a SHA-256 in hexadecimal digits.
/// An app's key has a `name`; `claim=1` marks an invitation.
public struct PairingCode: Sendable, Equatable {
    public let device: DeviceKey
    /// Whether the key is valid for one use only. The app uses it to claim its own key (`key.claim`).
    public let isInvitation: Bool

    /// Maximum length of a pairing code in bytes.
    public static let maximumLength = 1024

    public static let scheme = "altnet:"

    private static let version = "1"
    private static let names = ["v", "id", "key", "name", "cert", "claim"]

    public init(_ device: DeviceKey, isInvitation: Bool = false) {
        (self.device, self.isInvitation) = (device, isInvitation)
    }

    /// Reads a code and ignores unknown parameters. Codes without a certificate may begin with `altnet:pair?`.
    public init(reading code: some Collection<UInt8>) throws(PairingCodeError) {
        guard code.count <= Self.maximumLength, let start = code.firstIndex(of: UInt8(ascii: "?")),
            ["//pair", "//pair/", "pair"].contains(where: { path in
                code.prefix(upTo: start).elementsEqual((Self.scheme + path).utf8, by: Self.isSameLetter)
            })
        else { throw .notAPairingCode }
        var values: [String: [UInt8]] = [:]
        defer { for name in values.keys { values[name]?.withUnsafeMutableBytes { wipe($0) } } }
        for parameter in code[start...].dropFirst().split(
            separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        {
            guard let equals = parameter.firstIndex(of: UInt8(ascii: "=")) else { throw .malformed }
            let name = String(decoding: parameter[..<equals], as: UTF8.self)
            guard Self.names.contains(name) else { continue }
            guard values[name] == nil else { throw .repeated(name) }
            values[name] = try Self.decode(parameter[equals...].dropFirst())
        }
        guard let version = values["v"] else { throw .missing("v") }
        guard version.elementsEqual(Self.version.utf8) else { throw .otherVersion }
        guard let id = values["id"] else { throw .missing("id") }
        guard let key = values["key"] else { throw .missing("key") }
        let name = try values["name"].map(Self.name) ?? .owner
        let certificate = try values["cert"].map(Self.fingerprint)
        isInvitation = try values["claim"].map(Self.flag) ?? false
        guard !isInvitation || name != .owner else { throw .malformed }
        do {
            device = try DeviceKey(
                deviceId: String(decoding: id, as: UTF8.self), localKey: Secret(key), name: name,
                certificate: certificate)
        } catch {
            throw .impossibleDevice(error.message)
        }
    }

    private static func name(_ bytes: [UInt8]) throws(PairingCodeError) -> KeyName {
        guard let text = String(validating: bytes, as: UTF8.self), let name = KeyName(text) else { throw .malformed }
        return name
    }

    private static func fingerprint(_ bytes: [UInt8]) throws(PairingCodeError) -> CertificateFingerprint {
        guard let digits = Hex.bytes(String(decoding: bytes, as: UTF8.self)),
            let fingerprint = CertificateFingerprint(digits)
        else { throw .malformed }
        return fingerprint
    }

    private static func flag(_ bytes: [UInt8]) throws(PairingCodeError) -> Bool {
        switch bytes {
        case [UInt8(ascii: "0")]: false
        case [UInt8(ascii: "1")]: true
        default: throw .malformed
        }
    }

    /// Returns the code as text. It contains the key: show it to the key's owner only.
    public func uri() -> String {
        let key = device.localKey.withBytes { Self.encode($0) }
        var uri = "\(Self.scheme)//pair?v=\(Self.version)&id=\(Self.encode(device.deviceId.utf8))&key=\(key)"
        if !device.isOwners { uri += "&name=" + Self.encode(device.name.text.utf8) }
        if let certificate = device.certificate { uri += "&cert=\(certificate)" }
        if isInvitation { uri += "&claim=1" }
        return uri
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

    /// True for an unreserved character (RFC 3986, 2.3).
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Compares a letter without regard to case (RFC 3986, 3.1).
    private static func isSameLetter(_ byte: UInt8, _ lowercase: UInt8) -> Bool {
        byte == lowercase || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) && byte | 0x20 == lowercase
    }
}

extension PairingCode: CustomStringConvertible, CustomDebugStringConvertible {
    /// Description without the key.
    public var description: String { "pairing code of \(device.deviceId)" }
    public var debugDescription: String { description }
}

/// An error in a pairing code. Errors never repeat the input.
public enum PairingCodeError: Error, Sendable, Equatable {
    case notAPairingCode
    /// Unknown version of the code.
    case otherVersion
    /// A parameter has no value, or an invalid character.
    case malformed
    /// Name of the missing parameter.
    case missing(String)
    /// Name of the repeated parameter.
    case repeated(String)
    /// The ID or the key is invalid.
    case impossibleDevice(String)
}

extension PairingCodeError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notAPairingCode: "not a pairing code: it must begin with altnet://pair?"
        case .otherVersion: "the pairing code has an unknown version: update altnet"
        case .malformed: "the pairing code is damaged: scan it again"
        case .missing(let name): "the pairing code is incomplete: it has no \(name)"
        case .repeated(let name): "the pairing code has more than one \(name)"
        case .impossibleDevice(let problem): "the pairing code is invalid: \(problem)"
        }
    }
}
