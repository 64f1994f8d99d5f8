import AgentModel
import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Names for the stored networks in all that a relay carries, in place of their hashes.
///
/// A hash is a SHA-256 of the network's password: who reads it and has the label's key can try passwords at that speed.
/// A name is an HMAC-SHA256 of the hash with a secret that no app and no label has, so it says nothing about the
/// password, and it is the network's for as long as the password is.
public struct NetworkNames: Sendable {
    private let secret: SymmetricKey

    /// With a random secret: the names are other ones after a restart.
    public init() { secret = SymmetricKey(size: .bits256) }

    /// - Parameter secret: of the device alone, with 256 bits of entropy.
    public init(derivedFrom secret: Secret) {
        self.secret = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret.symmetric, info: Array("altnet/\(ProtocolLimits.version) network names".utf8),
            outputByteCount: 32)
    }

    public func name(of hash: NetworkHash) -> NetworkHash {
        let message = Array("altnet/\(ProtocolLimits.version) network".utf8) + hash.bytes
        return NetworkHash(HMAC<SHA256>.authenticationCode(for: message, using: secret))
    }

    static let key = CodingUserInfoKey(rawValue: "altnet.networkNames")
}
