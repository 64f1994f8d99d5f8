#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A Wi-Fi password that only the device can read, whoever carries it there.
///
/// Sealed with HPKE (RFC 9180) in PSK mode, one message a key exchange: ``SealingKey`` says how.
public struct SealedPassword: Sendable, Equatable {
    /// Which of the device's keys it was sealed with.
    public let keyId: String
    /// The encapsulated key and, after it, the ciphertext: ``length`` bytes.
    public let box: [UInt8]

    /// A password is padded to one length before it is sealed, so that the box does not tell how long it is:
    /// 32 bytes of encapsulated key, ``paddedLength`` of password, 16 of authentication tag.
    public static let length = encapsulatedLength + paddedLength + 16
    static let encapsulatedLength = 32
    static let paddedLength = 64

    var encapsulatedKey: [UInt8] { Array(box.prefix(Self.encapsulatedLength)) }
    var ciphertext: [UInt8] { Array(box.dropFirst(Self.encapsulatedLength)) }

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
