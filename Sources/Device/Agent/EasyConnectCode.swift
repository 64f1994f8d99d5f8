import AgentModel
import AppProtocol
import Crypto
import FoundationEssentials

/// Code of the device for Wi-Fi Easy Connect (DPP), and its private key.
///
/// Both are derived from the device ID and the local key, so the device need not store them. A label stays valid as
/// long as the pairing code. Neither reveals the local key (HKDF, RFC 5869).
package struct EasyConnectCode: Sendable, Equatable {
    /// Private key in DER (RFC 5915).
    package let privateKey: Secret
    /// Text of the QR code (Wi-Fi Easy Connect 3.0, 5.2.1): the listen channel and the public key.
    package let uri: String

    package init(of device: DeviceKey) {
        var counter: UInt8 = 0
        while true {
            if let key = Self.key(of: device, counter) {
                privateKey = Self.encoded(key)
                // SubjectPublicKeyInfo (RFC 5480) with a compressed point.
                let info = Self.publicKeyHeader + Array(key.publicKey.compressedRepresentation)
                uri = "DPP:C:81/6;K:\(Data(info).base64EncodedString());;"
                return
            }
            // About one number in 2^32 is not a valid key of the curve: try the next one.
            counter &+= 1
        }
    }

    private static func key(of device: DeviceKey, _ counter: UInt8) -> P256.Signing.PrivateKey? {
        let secret = device.localKey.withBytes { SymmetricKey(data: $0) }
        let bytes = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: secret, salt: Array(device.deviceId.utf8),
            info: Array("altnet easy connect 1".utf8) + [counter], outputByteCount: 32)
        return bytes.withUnsafeBytes { try? P256.Signing.PrivateKey(rawRepresentation: $0) }
    }

    /// Encodes an ECPrivateKey: version 1, private key, curve, public key.
    private static func encoded(_ key: P256.Signing.PrivateKey) -> Secret {
        var bytes: [UInt8] = [0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20]
        defer { bytes.withUnsafeMutableBytes { wipe($0) } }
        key.rawRepresentation.withUnsafeBytes { bytes += $0 }
        bytes += [0xa0, 0x0a, 0x06, 0x08] + curve + [0xa1, 0x44, 0x03, 0x42, 0x00] + key.publicKey.x963Representation
        return Secret(bytes)
    }

    /// Object identifier of the curve prime256v1.
    private static let curve: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
    private static let publicKeyHeader: [UInt8] =
        [0x30, 0x39, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08] + curve
        + [0x03, 0x22, 0x00]
}
