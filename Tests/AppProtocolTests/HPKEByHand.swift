import AgentModel
import AppProtocol
import Crypto
import Foundation

/// HPKE's key schedule (RFC 9180, clauses 4.1 and 5.1) for what no honest sender does: a shared point of zeros.
enum HPKEByHand {
    private static let kem = Data("KEM".utf8) + [0x00, 0x20]
    private static let suite = Data("HPKE".utf8) + [0x00, 0x20, 0x00, 0x01, 0x00, 0x03]

    /// - Returns: ciphertext and tag.
    static func seal(
        _ password: Secret, ssid: SSID, for device: DeviceKey, to recipient: SealingKey, as encapsulated: [UInt8]
    ) throws -> [UInt8] {
        let agreed = extract(salt: Data(), kem, "eae_prk", Data(count: 32))
        let shared = expand(agreed, kem, "shared_secret", Data(encapsulated + recipient.publicKey), count: 32)
        let context =
            Data([0x01]) + extract(salt: Data(), suite, "psk_id_hash", Data(device.deviceId.utf8))
            + extract(salt: Data(), suite, "info_hash", Data("altnet/1".utf8))
        let secret = extract(salt: shared, suite, "secret", device.localKey.withBytes { Data($0) })
        let padded = password.withBytes { Data($0) } + Data(count: 64 - password.count)
        let box = try ChaChaPoly.seal(
            padded, using: SymmetricKey(data: expand(secret, suite, "key", context, count: 32)),
            nonce: ChaChaPoly.Nonce(data: expand(secret, suite, "base_nonce", context, count: 12)),
            authenticating: ssid.bytes)
        return Array(box.ciphertext + box.tag)
    }

    private static func extract(salt: Data, _ suite: Data, _ label: String, _ input: Data) -> Data {
        let labelled = Data("HPKE-v1".utf8) + suite + Data(label.utf8) + input
        return Data(HMAC<SHA256>.authenticationCode(for: labelled, using: SymmetricKey(data: salt)))
    }

    private static func expand(_ key: Data, _ suite: Data, _ label: String, _ info: Data, count: UInt8) -> Data {
        let labelled = Data([0, count]) + Data("HPKE-v1".utf8) + suite + Data(label.utf8) + info + [1]
        return Data(HMAC<SHA256>.authenticationCode(for: labelled, using: SymmetricKey(data: key))).prefix(Int(count))
    }
}
