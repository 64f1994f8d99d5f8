import AgentModel
import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Replaces network hashes in messages over a relay.
///
/// Anybody with the hashes and the key on the device's label can guess passwords at the speed of SHA-256. A name is an
/// HMAC-SHA256 of the hash, with a secret of the device. It reveals nothing about the password, but changes with it.
public struct NetworkNames: Sendable {
    private let secret: SymmetricKey

    /// Creates a random secret, so names change with every restart.
    public init() { secret = SymmetricKey(size: .bits256) }

    /// - Parameter secret: known to the device only, with 256 bits of entropy.
    public init(derivedFrom secret: Secret) {
        self.secret = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret.symmetric, info: Array("altnet/\(ProtocolLimits.version) network names".utf8),
            outputByteCount: 32)
    }

    /// Returns the name that replaces a hash.
    public func name(of hash: NetworkHash) -> NetworkHash {
        let message = Array("altnet/\(ProtocolLimits.version) network".utf8) + hash.bytes
        return NetworkHash(HMAC<SHA256>.authenticationCode(for: message, using: secret))
    }

    static let key = CodingUserInfoKey(rawValue: "altnet.networkNames")
}
