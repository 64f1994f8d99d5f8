import AgentModel
import Crypto
import KeyFile
import PassphraseHash

/// The key that WPA2 derives from a passphrase: PBKDF2 with HMAC-SHA1, 4096 rounds, the SSID as salt, 256 bits
/// (IEEE 802.11-2020, annex J.4.1). It takes milliseconds, so it is done once, when a network is stored.
enum PreSharedKey {
    static func derive(from passphrase: Secret, ssid: SSID) -> Secret {
        var key = [UInt8](repeating: 0, count: 32)
        defer { key.withUnsafeMutableBytes { wipe($0) } }
        passphrase.withBytes { passphrase in
            key.withUnsafeMutableBytes { key in
                ssid.bytes.withUnsafeBytes { salt in
                    PBKDF2<Insecure.SHA1>.derive(key, from: passphrase, salt: salt, rounds: 4096)
                }
            }
        }
        return Secret(key)
    }
}
