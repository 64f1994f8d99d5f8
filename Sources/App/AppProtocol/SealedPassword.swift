import AgentModel
import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The device's public key for sealing passwords: the answer to `key.agree`.
///
/// The suite is DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305 (RFC 9180, clause 7) in PSK mode, with the
/// local key as PSK, the device id as PSK id, `altnet/1` as info and the bytes of the SSID as additional data.
public struct SealingKey: Sendable, Equatable {
    /// Names this key; the device has another one after a restart and from time to time.
    public let keyId: String
    /// X25519: 32 bytes.
    public let publicKey: [UInt8]

    public init?(keyId: String, publicKey: [UInt8]) {
        guard ProtocolLimits.keyIdLength.contains(keyId.utf8.count), publicKey.count == 32 else { return nil }
        self.keyId = keyId
        self.publicKey = publicKey
    }
}

extension SealingKey: Codable {
    private enum CodingKeys: String, CodingKey {
        case keyId, publicKey
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let bytes = Data(base64Encoded: try container.decode(String.self, forKey: .publicKey)).map(Array.init) ?? []
        guard let key = SealingKey(keyId: try container.decode(String.self, forKey: .keyId), publicKey: bytes) else {
            throw decoder.malformed("is not a key: a keyId and the Base64 of 32 bytes")
        }
        self = key
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(keyId, forKey: .keyId)
        try container.encode(Data(publicKey).base64EncodedString(), forKey: .publicKey)
    }
}

/// A Wi-Fi password that only the device can read, over any relay.
///
/// Sealed with HPKE (RFC 9180) in PSK mode, one message a key exchange: ``SealingKey`` says how.
public struct SealedPassword: Sendable, Equatable {
    /// The device's key that it was sealed with.
    public let keyId: String
    /// The encapsulated key and, after it, the ciphertext: ``length`` bytes.
    public let box: [UInt8]

    /// A password is padded to one length before it is sealed, so that the box does not tell how long it is:
    /// 32 bytes of encapsulated key, ``paddedLength`` of password, 16 of authentication tag.
    public static let length = paddedLength + overhead
    static let encapsulatedLength = 32
    /// What a box has beside what is in it.
    static let overhead = encapsulatedLength + 16
    static let paddedLength = 64

    public init?(keyId: String, box: [UInt8]) {
        guard ProtocolLimits.keyIdLength.contains(keyId.utf8.count), box.count == Self.length else { return nil }
        self.keyId = keyId
        self.box = box
    }
}

extension SealedPassword: Codable {
    private enum CodingKeys: String, CodingKey {
        case keyId, box
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let box = Data(base64Encoded: try container.decode(String.self, forKey: .box)).map(Array.init) ?? []
        guard let password = SealedPassword(keyId: try container.decode(String.self, forKey: .keyId), box: box) else {
            throw decoder.malformed("is not a sealed password: a keyId and the Base64 of \(Self.length) bytes")
        }
        self = password
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(keyId, forKey: .keyId)
        try container.encode(Data(box).base64EncodedString(), forKey: .box)
    }
}

extension SealingKey {
    /// Seals a password for one network of one device.
    ///
    /// Every call makes another box, also for the same password: the device accepts each once.
    /// - Parameter security: as the network is sent with it; with `wpa3` the password may be what SAE alone takes.
    /// - Throws: `invalidPassword` for what is no Wi-Fi password, or too long for a box, `sealInvalid` where the key is
    ///   none.
    public func seal(
        _ password: Secret, ssid: SSID, for device: DeviceKey, security: Security? = nil
    ) throws(ProtocolError) -> SealedPassword {
        do {
            try Passphrase.validate(password, for: security)
        } catch {
            throw ProtocolError(.invalidPassword, "\(error)")
        }
        guard password.count <= SealedPassword.paddedLength else {
            throw ProtocolError(
                .invalidPassword,
                "a sealed password has \(SealedPassword.paddedLength) bytes at most, this one has \(password.count): "
                    + "set a longer one on the device")
        }
        guard let box = try? box(password, paddedTo: SealedPassword.paddedLength, ssid: ssid, device: device),
            let sealed = SealedPassword(keyId: keyId, box: box)
        else {
            throw ProtocolError(.sealInvalid, "the device's key is none to seal with")
        }
        return sealed
    }

    /// - Parameter length: at least that of the content, which does not end in a zero byte.
    func box(_ content: Secret, paddedTo length: Int, ssid: SSID, device: DeviceKey) throws -> [UInt8] {
        let recipientKey = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey)
        try Curve25519.KeyAgreement.PrivateKey().requireAgreement(with: recipientKey)
        var sender = try HPKE.Sender(
            recipientKey: recipientKey, ciphersuite: SealedPassword.suite, info: SealedPassword.info,
            presharedKey: device.presharedKey,
            presharedKeyIdentifier: Data(device.deviceId.utf8))
        var padded = [UInt8](repeating: 0, count: length)
        defer { padded.withUnsafeMutableBytes { wipe($0) } }
        content.withBytes { content in padded.withUnsafeMutableBytes { $0.copyMemory(from: content) } }
        return Array(sender.encapsulatedKey + (try sender.seal(padded, authenticating: ssid.bytes)))
    }
}

extension SealedPassword {
    static let suite = HPKE.Ciphersuite.Curve25519_SHA256_ChachaPoly
    /// Ties a box to this protocol and its version.
    static let info = Data("altnet/\(ProtocolLimits.version)".utf8)
}

extension Curve25519.KeyAgreement.PrivateKey {
    /// - Throws: for a public key of small order, with which every private key agrees on zeros. RFC 9180, clause 7.1.4,
    ///   has both sides refuse it, and swift-crypto leaves that to its user.
    func requireAgreement(with publicKey: Curve25519.KeyAgreement.PublicKey) throws {
        let shared = try sharedSecretFromKeyAgreement(with: publicKey)
        guard shared.withUnsafeBytes({ $0.reduce(0, |) }) != 0 else { throw CryptoKitError.incorrectParameterSize }
    }
}

extension DeviceKey {
    /// Wiped when the last copy goes.
    var presharedKey: SymmetricKey { localKey.withBytes { SymmetricKey(data: $0) } }
}
