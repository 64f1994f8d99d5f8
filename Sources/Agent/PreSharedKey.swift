import AgentModel
import CryptoExtras

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The key that WPA2 derives from a passphrase: PBKDF2 with HMAC-SHA1, 4096 rounds, the SSID as salt, 256 bits
/// (IEEE 802.11-2020, annex J.4.1). It takes milliseconds, so it is done once, when a network is stored.
enum PreSharedKey {
    static func derive(from passphrase: Secret, ssid: SSID) throws -> Secret {
        let key = try passphrase.withBytes { bytes in
            try KDF.Insecure.PBKDF2.deriveKey(
                from: bytes, salt: ssid.bytes, using: .insecureSHA1, outputByteCount: 32, unsafeUncheckedRounds: 4096)
        }
        return key.withUnsafeBytes { Secret($0) }
    }
}
