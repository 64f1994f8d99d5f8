import AgentModel
import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Random value of 32 bytes for one use, sent as standard Base64.
public struct Nonce: Sendable, Hashable {
    public let bytes: [UInt8]

    public static let length = 32

    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    private init(drawn bytes: [UInt8]) { self.bytes = bytes }

    /// Returns a nonce from the system's random number generator.
    public static func random() -> Nonce {
        var random = SystemRandomNumberGenerator()
        return Nonce(drawn: (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) })
    }
}

/// Proof of having a key: HMAC-SHA256 (RFC 2104, RFC 6234); standard Base64 in a line.
public struct Proof: Sendable, Equatable {
    public let bytes: [UInt8]

    public static let length = 32

    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        self.bytes = bytes
    }

    /// - Parameter key: the app's key, used as raw bytes.
    public init(of message: some Sequence<UInt8>, with key: Secret) {
        bytes = Array(HMAC<SHA256>.authenticationCode(for: Array(message), using: key.symmetric))
    }

    /// Checks the proof in constant time.
    public func isValid(of message: some Sequence<UInt8>, with key: Secret) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(bytes, authenticating: Array(message), using: key.symmetric)
    }
}

/// SHA-256 of a certificate's DER; hexadecimal digits in a pairing code.
public struct CertificateFingerprint: Sendable, Hashable {
    public let bytes: [UInt8]

    public init?(_ bytes: [UInt8]) {
        guard bytes.count == SHA256.byteCount else { return nil }
        self.bytes = bytes
    }

    public init(of certificate: some Sequence<UInt8>) { bytes = Array(SHA256.hash(data: Array(certificate))) }
}

extension CertificateFingerprint: CustomStringConvertible {
    public var description: String { Hex.string(bytes) }
}

extension Secret {
    /// Returns the secret as a CryptoKit key, which CryptoKit wipes when the last copy is released.
    var symmetric: SymmetricKey { withBytes { SymmetricKey(data: $0) } }
}

extension Nonce: Codable {
    public init(from decoder: any Decoder) throws {
        guard let nonce = Nonce(try decoder.base64()) else { throw decoder.malformed("is not the Base64 of 32 bytes") }
        self = nonce
    }

    public func encode(to encoder: any Encoder) throws { try encoder.encode(base64: bytes) }
}

extension Proof: Codable {
    public init(from decoder: any Decoder) throws {
        guard let proof = Proof(try decoder.base64()) else { throw decoder.malformed("is not the Base64 of 32 bytes") }
        self = proof
    }

    public func encode(to encoder: any Encoder) throws { try encoder.encode(base64: bytes) }
}

extension Decoder {
    /// Decodes standard Base64. Returns an empty array if it is invalid.
    func base64() throws -> [UInt8] {
        Data(base64Encoded: try singleValueContainer().decode(String.self)).map(Array.init) ?? []
    }
}

extension Encoder {
    func encode(base64 bytes: [UInt8]) throws {
        var container = singleValueContainer()
        try container.encode(Data(bytes).base64EncodedString())
    }
}
