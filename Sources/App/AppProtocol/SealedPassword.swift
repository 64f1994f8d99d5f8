import AgentModel
import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Asks for the device's sealing key: body of `key.agree`.
public struct SealingKeyQuery: Sendable, Equatable, Codable {
    /// Name of the app's key for the device's proof; nil for the owner's.
    public var key: KeyName?
    /// Nonce that the proof covers; nil for no proof.
    public var nonce: Nonce?

    public init(key: KeyName? = nil, nonce: Nonce? = nil) { (self.key, self.nonce) = (key, nonce) }
}

/// The device's public key for sealing passwords: answer to `key.agree`.
///
/// The suite is DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM (RFC 9180, clause 7) in base mode. Its info is
/// `altnet/1 seal`, its additional data the text of the ``SealContext``.
public struct SealingKey: Sendable, Equatable {
    /// Name of the key. It changes with restarts and from time to time.
    public let keyId: String
    /// X25519 public key of 32 bytes.
    public let publicKey: [UInt8]
    /// HMAC-SHA256 with the app key's bytes over `altnet/1 key`, the public key, the app's nonce and the device ID. Nil
    /// if not requested.
    public let proof: Proof?

    public init?(keyId: String, publicKey: [UInt8], proof: Proof? = nil) {
        guard ProtocolLimits.keyIdLength.contains(keyId.utf8.count), publicKey.count == 32 else { return nil }
        self.keyId = keyId
        self.publicKey = publicKey
        self.proof = proof
    }

    /// Returns the key with a proof by an app's key.
    func proved(by key: Secret, over nonce: Nonce, deviceId: String) -> SealingKey {
        let proof = Proof(of: message(nonce, deviceId), with: key)
        return SealingKey(keyId: keyId, publicKey: publicKey, proof: proof) ?? self
    }

    /// Whether the device has proved this key for this nonce.
    public func isProved(to device: DeviceKey, over nonce: Nonce) -> Bool {
        proof?.isValid(of: message(nonce, device.deviceId), with: device.localKey) ?? false
    }

    private func message(_ nonce: Nonce, _ deviceId: String) -> [UInt8] {
        Array("altnet/\(ProtocolLimits.version) key".utf8) + publicKey + nonce.bytes + Array(deviceId.utf8)
    }
}

extension SealingKey: Codable {
    private enum CodingKeys: String, CodingKey {
        case keyId, publicKey, proof
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let bytes = Data(base64Encoded: try container.decode(String.self, forKey: .publicKey)).map(Array.init) ?? []
        guard
            let key = SealingKey(
                keyId: try container.decode(String.self, forKey: .keyId), publicKey: bytes,
                proof: try container.decodeIfPresent(Proof.self, forKey: .proof))
        else { throw decoder.malformed("is not a key: a keyId and the Base64 of 32 bytes") }
        self = key
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(keyId, forKey: .keyId)
        try container.encode(Data(publicKey).base64EncodedString(), forKey: .publicKey)
        try container.encodeIfPresent(proof, forKey: .proof)
    }
}

/// Data that only the device can read and only an app with a key can create.
///
/// HPKE (RFC 9180) seals the data in base mode, with one message for each key exchange: see ``SealingKey``.
public struct SealedBox: Sendable, Equatable {
    public let keyId: String
    /// The encapsulated key, then the ciphertext.
    public let bytes: [UInt8]
    /// Name of the app's key that proves the box.
    public let key: KeyName
    /// HMAC-SHA256 with the app key's bytes over `altnet/1 box`, the SHA-256 of the ``SealContext``'s text and the box.
    public let proof: Proof

    /// - Parameter length: returns true for valid lengths of `bytes`.
    public init?(
        keyId: String, bytes: [UInt8], key: KeyName = .owner, proof: Proof, where length: (Int) -> Bool = { _ in true }
    ) {
        guard ProtocolLimits.keyIdLength.contains(keyId.utf8.count), length(bytes.count) else { return nil }
        (self.keyId, self.bytes, self.key, self.proof) = (keyId, bytes, key, proof)
    }

    static func message(_ bytes: [UInt8], _ context: String) -> [UInt8] {
        Array("altnet/\(ProtocolLimits.version) box".utf8) + Array(SHA256.hash(data: Array(context.utf8))) + bytes
    }

    enum CodingKeys: String, CodingKey {
        case keyId, box, key, proof
    }

    static func read(
        from members: KeyedDecodingContainer<CodingKeys>, where length: (Int) -> Bool
    ) throws -> SealedBox? {
        let bytes = Data(base64Encoded: try members.decode(String.self, forKey: .box)).map(Array.init) ?? []
        return SealedBox(
            keyId: try members.decode(String.self, forKey: .keyId), bytes: bytes,
            key: try members.decodeIfPresent(KeyName.self, forKey: .key) ?? .owner,
            proof: try members.decode(Proof.self, forKey: .proof), where: length)
    }

    func write(to members: inout KeyedEncodingContainer<CodingKeys>) throws {
        try members.encode(keyId, forKey: .keyId)
        try members.encode(Data(bytes).base64EncodedString(), forKey: .box)
        if key != .owner { try members.encode(key, forKey: .key) }
        try members.encode(proof, forKey: .proof)
    }
}

/// A password that only the device can open.
public struct SealedPassword: Sendable, Equatable {
    public let sealed: SealedBox

    /// Length of a box: 32 bytes of encapsulated key, ``paddedLength`` of password, 16 of authentication tag. The
    /// padding hides the password's length.
    public static let length = paddedLength + overhead
    static let encapsulatedLength = 32
    /// Bytes of a box in addition to its content.
    static let overhead = encapsulatedLength + 16
    static let paddedLength = 64

    /// - Returns: nil for a box of the wrong length.
    public init?(_ sealed: SealedBox) {
        guard sealed.bytes.count == Self.length else { return nil }
        self.sealed = sealed
    }
}

extension SealedPassword: Codable {
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: SealedBox.CodingKeys.self)
        guard let sealed = try SealedBox.read(from: members, where: { $0 == Self.length }) else {
            throw decoder.malformed("is not a sealed password: a keyId, the Base64 of \(Self.length) bytes, a proof")
        }
        self.sealed = sealed
    }

    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: SealedBox.CodingKeys.self)
        try sealed.write(to: &members)
    }
}

extension SealingKey {
    /// Seals a password for one request to one device. Every call creates another box, because the device accepts each
    /// box once.
    /// - Throws: `invalidPassword` for a password that is invalid or longer than 64 bytes, `sealInvalid` for an invalid
    ///   key.
    public func seal(
        _ password: Secret, in context: SealContext, for device: DeviceKey
    ) throws(ProtocolError) -> SealedPassword {
        do {
            try Passphrase.validate(password, for: context.security)
        } catch {
            throw ProtocolError(.invalidPassword, "\(error)")
        }
        guard password.count <= SealedPassword.paddedLength else {
            throw ProtocolError(
                .invalidPassword,
                "a sealed password has \(SealedPassword.paddedLength) bytes at most, this one has \(password.count): "
                    + "set a longer one on the device")
        }
        guard
            let sealed = SealedPassword(
                try box(password, paddedTo: SealedPassword.paddedLength, in: context, for: device))
        else { throw ProtocolError(.internalError, "a box has the wrong length") }
        return sealed
    }

    /// - Parameter length: padded length in bytes, at least that of the content. The content must not end in a zero
    ///   byte.
    func box(
        _ content: Secret, paddedTo length: Int, in context: SealContext, for device: DeviceKey
    ) throws(ProtocolError) -> SealedBox {
        var padded = [UInt8](repeating: 0, count: length)
        defer { padded.withUnsafeMutableBytes { wipe($0) } }
        content.withBytes { content in padded.withUnsafeMutableBytes { $0.copyMemory(from: content) } }
        let text = context.text(deviceId: device.deviceId)
        let bytes: [UInt8]
        do {
            let recipientKey = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey)
            try Curve25519.KeyAgreement.PrivateKey().requireAgreement(with: recipientKey)
            var sender = try HPKE.Sender(
                recipientKey: recipientKey, ciphersuite: SealedBox.suite, info: SealedBox.info)
            bytes = Array(sender.encapsulatedKey + (try sender.seal(padded, authenticating: Array(text.utf8))))
        } catch {
            throw ProtocolError(.sealInvalid, "the device's key cannot be used for sealing")
        }
        let proof = Proof(of: SealedBox.message(bytes, text), with: device.localKey)
        guard let box = SealedBox(keyId: keyId, bytes: bytes, key: device.name, proof: proof) else {
            throw ProtocolError(.sealInvalid, "the device's key cannot be used for sealing")
        }
        return box
    }
}

extension SealedBox {
    static let suite = HPKE.Ciphersuite(kem: .Curve25519_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .AES_GCM_128)
    static let info = Data("altnet/\(ProtocolLimits.version) seal".utf8)
}

extension Curve25519.KeyAgreement.PrivateKey {
    /// - Throws: `incorrectParameterSize` for a public key of small order, whose shared secret is zero. RFC 9180,
    ///   clause 7.1.4, requires this check, and swift-crypto omits it.
    func requireAgreement(with publicKey: Curve25519.KeyAgreement.PublicKey) throws {
        let shared = try sharedSecretFromKeyAgreement(with: publicKey)
        guard shared.withUnsafeBytes({ $0.reduce(0, |) }) != 0 else { throw CryptoKitError.incorrectParameterSize }
    }
}
