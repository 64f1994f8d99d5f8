import AgentModel
import Crypto
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The device's side of sealed passwords: its keys, and what it has opened already.
///
/// The private keys are in memory only. A restart makes a new one, so nothing that was sealed before can be opened, or
/// played again, after it.
public final class SealOpener: Sendable {
    private let device: DeviceKey
    private let now: @Sendable () -> ContinuousClock.Instant
    private let keys: Mutex<SealingKeyRing>

    public init(
        _ device: DeviceKey, rotation: SealRotation = SealRotation(),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.device = device
        self.now = now
        keys = Mutex(SealingKeyRing(rotation: rotation, now: now()))
    }

    /// The key to seal with now.
    public var key: SealingKey {
        get throws(ProtocolError) {
            let publicKey = keys.withLock { $0.present(at: now()).publicKey }
            guard let key = SealingKey(keyId: publicKey.keyId, publicKey: Array(publicKey.rawRepresentation)) else {
                throw ProtocolError(.internalError, "the key to seal with has the wrong length")
            }
            return key
        }
    }

    /// Opens a sealed password, once: also where the request that it came with fails later, or where what is in it is no
    /// password.
    /// - Throws: `keyRotated`, `sealInvalid`, `sealUsed`, or `invalidPassword` for what is no Wi-Fi password.
    public func open(_ sealed: SealedPassword, ssid: SSID) throws(ProtocolError) -> Secret {
        let password = try keys.withLock { (keys) throws(ProtocolError) -> Secret in
            guard let key = keys.key(named: sealed.keyId, at: now()) else {
                throw ProtocolError(.keyRotated, "the device has another key by now than the one that was sealed with")
            }
            // Opened before it is looked up, so that only who can seal learns what was sealed.
            guard let password = try? open(sealed, with: key, ssid: ssid) else {
                throw ProtocolError(.sealInvalid, "what is sealed cannot be opened")
            }
            guard keys.use(sealed.encapsulatedKey, of: sealed.keyId) else {
                throw ProtocolError(.sealUsed, "what is sealed was opened before")
            }
            return password
        }
        do {
            try Passphrase.validate(password)
        } catch {
            throw ProtocolError(.invalidPassword, "\(error)")
        }
        return password
    }

    private func open(
        _ sealed: SealedPassword, with key: Curve25519.KeyAgreement.PrivateKey, ssid: SSID
    ) throws -> Secret {
        try key.requireAgreement(with: Curve25519.KeyAgreement.PublicKey(rawRepresentation: sealed.encapsulatedKey))
        var recipient = try HPKE.Recipient(
            privateKey: key, ciphersuite: SealedPassword.suite, info: SealedPassword.info,
            encapsulatedKey: Data(sealed.encapsulatedKey), presharedKey: device.presharedKey,
            presharedKeyIdentifier: Data(device.deviceId.utf8))
        var padded = try recipient.open(sealed.ciphertext, authenticating: ssid.bytes)
        defer { padded.withUnsafeMutableBytes { wipe($0) } }
        let length = padded.lastIndex { $0 != 0 }.map { $0 - padded.startIndex + 1 } ?? 0
        return Secret(padded.prefix(length))
    }
}
