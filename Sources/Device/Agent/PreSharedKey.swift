import AgentModel
import CryptoExtras

/// Key that WPA2 derives from a passphrase: PBKDF2 with HMAC-SHA1, 4096 rounds, the SSID as salt, 256 bits (IEEE
/// 802.11-2020, annex J.4.1). The derivation takes milliseconds, so it runs once, when a network is stored.
package enum PreSharedKey {
    /// Derives the key. If `passphrase` is already the key in hexadecimal digits, returns that key.
    package static func derive(from passphrase: Secret, ssid: SSID) -> Secret {
        if let key = Passphrase.key(in: passphrase) { return key }
        return passphrase.withBytes { passphrase in
            do {
                // The standard's number of rounds is below the library's minimum.
                let key = try KDF.Insecure.PBKDF2.deriveKey(
                    from: passphrase, salt: ssid.bytes, using: .insecureSHA1, outputByteCount: 32,
                    unsafeUncheckedRounds: 4096)
                return key.withUnsafeBytes { Secret($0) }
            } catch {
                preconditionFailure("PBKDF2 fails only without memory: \(error)")
            }
        }
    }
}
