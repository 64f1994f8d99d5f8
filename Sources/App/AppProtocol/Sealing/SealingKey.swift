#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The device's public key for sealing passwords: the answer to `key.agree`.
///
/// The suite is DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305 (RFC 9180, clause 7) in PSK mode, with the local
/// key as PSK, the device id as PSK id, `altnet/1` as info and the bytes of the SSID as additional data.
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
