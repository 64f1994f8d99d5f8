import AgentModel
import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Identifies a network with its password: `Base64(SHA256(localKey + ssid + password))` over bytes. Apps use it to
/// refer to a password without sending it again. An open network has the empty password.
public struct NetworkHash: Hashable, Sendable {
    /// The hash's 32 bytes, stored in place because every kept event has one or two hashes.
    private let (first, second, third, fourth): (UInt64, UInt64, UInt64, UInt64)

    /// Standard Base64 with padding (RFC 4648, clause 4): 44 characters.
    public var base64: String {
        withUnsafeBytes(of: (first, second, third, fourth)) { Data($0).base64EncodedString() }
    }

    var bytes: [UInt8] { withUnsafeBytes(of: (first, second, third, fourth)) { Array($0) } }

    init(_ code: HMAC<SHA256>.MAC) { self = code.withUnsafeBytes { NetworkHash($0) } }

    private init(_ bytes: UnsafeRawBufferPointer) {
        (first, second, third, fourth) = bytes.loadUnaligned(as: (UInt64, UInt64, UInt64, UInt64).self)
    }

    public init(localKey: Secret, ssid: SSID, password: Secret?) {
        var hash = SHA256()
        localKey.withBytes { hash.update(bufferPointer: $0) }
        hash.update(data: ssid.bytes)
        password?.withBytes { hash.update(bufferPointer: $0) }
        self = hash.finalize().withUnsafeBytes { NetworkHash($0) }
    }

    /// Hashes an enterprise network. The SHA-256 of its credential, in hexadecimal digits, replaces the password.
    public init(localKey: Secret, ssid: SSID, enterprise: EnterpriseCredential) {
        let digest = enterprise.encoded.withBytes { bytes in
            var hash = SHA256()
            hash.update(bufferPointer: bytes)
            return hash.finalize().withUnsafeBytes { Hex.string($0) }
        }
        self.init(localKey: localKey, ssid: ssid, password: Secret(text: digest))
    }

    /// - Returns: nil unless `base64` is the canonical Base64 of 32 bytes.
    public init?(base64: String) {
        guard base64.utf8.count == 44, let bytes = Data(base64Encoded: base64), bytes.count == 32,
            bytes.base64EncodedString() == base64
        else { return nil }
        self = bytes.withUnsafeBytes { NetworkHash($0) }
    }
}

extension NetworkHash: CustomStringConvertible {
    public var description: String { base64 }
}

extension NetworkHash: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let hash = NetworkHash(base64: try container.decode(String.self)) else {
            throw decoder.malformed("is not the Base64 of a SHA-256 hash")
        }
        self = hash
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let names = NetworkNames.key.flatMap { encoder.userInfo[$0] } as? NetworkNames
        try container.encode((names?.name(of: self) ?? self).base64)
    }
}
