import AgentModel
import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension SealingKey {
    /// Seals a password for one network of one device.
    ///
    /// Every call makes another box, also for the same password: the device accepts each once.
    /// - Throws: `invalidPassword` for what is no Wi-Fi password, `sealInvalid` where the key is none.
    public func seal(
        _ password: Secret, ssid: SSID, for device: DeviceKey
    ) throws(ProtocolError) -> SealedPassword {
        do {
            try Passphrase.validate(password)
        } catch {
            throw ProtocolError(.invalidPassword, "\(error)")
        }
        guard let box = try? box(password, ssid: ssid, device: device),
            let sealed = SealedPassword(keyId: keyId, box: box)
        else {
            throw ProtocolError(.sealInvalid, "the device's key is none to seal with")
        }
        return sealed
    }

    private func box(_ password: Secret, ssid: SSID, device: DeviceKey) throws -> [UInt8] {
        let recipientKey = try Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey)
        try Curve25519.KeyAgreement.PrivateKey().requireAgreement(with: recipientKey)
        var sender = try HPKE.Sender(
            recipientKey: recipientKey, ciphersuite: SealedPassword.suite, info: SealedPassword.info,
            presharedKey: device.presharedKey,
            presharedKeyIdentifier: Data(device.deviceId.utf8))
        var padded = [UInt8](repeating: 0, count: SealedPassword.paddedLength)
        defer { padded.withUnsafeMutableBytes { wipe($0) } }
        password.withBytes { password in padded.withUnsafeMutableBytes { $0.copyMemory(from: password) } }
        return Array(sender.encapsulatedKey + (try sender.seal(padded, authenticating: ssid.bytes)))
    }
}

extension SealedPassword {
    static let suite = HPKE.Ciphersuite.Curve25519_SHA256_ChachaPoly
    /// Ties a box to this protocol and its version.
    static let info = Data("altnet/\(ProtocolLimits.version)".utf8)
}

extension Curve25519.KeyAgreement.PrivateKey {
    /// - Throws: for a public key of small order, with which everybody agrees on zeros. RFC 9180, clause 7.1.4, has both
    ///   sides refuse it, and swift-crypto leaves that to its user.
    func requireAgreement(with publicKey: Curve25519.KeyAgreement.PublicKey) throws {
        let shared = try sharedSecretFromKeyAgreement(with: publicKey)
        guard shared.withUnsafeBytes({ $0.reduce(0, |) }) != 0 else { throw CryptoKitError.incorrectParameterSize }
    }
}

extension DeviceKey {
    /// Wiped when the last copy goes.
    var presharedKey: SymmetricKey { localKey.withBytes { SymmetricKey(data: $0) } }
}
