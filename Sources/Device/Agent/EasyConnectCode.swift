import AgentModel
import AppProtocol
import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The device's code for Wi-Fi Easy Connect (DPP), and the key behind it.
///
/// Both follow from the device's id and local key, so there is nothing more to keep, and nothing that a power cut could leave
/// half done: the code on a label is the device's for as long as its pairing code is. Nothing of the local key can be told
/// from either (HKDF, RFC 5869).
package struct EasyConnectCode: Sendable, Equatable {
    /// The private key (RFC 5915, DER).
    package let privateKey: Secret
    /// As a configurator reads it from a QR code (Wi-Fi Easy Connect 3.0, 5.2.1): the channel that the device listens on, and
    /// its public key.
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
            // Of 2^32 numbers one is no key of the curve.
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

    /// ECPrivateKey: version 1, the number, the curve, the point.
    private static func encoded(_ key: P256.Signing.PrivateKey) -> Secret {
        var bytes: [UInt8] = [0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20]
        defer { bytes.withUnsafeMutableBytes { wipe($0) } }
        key.rawRepresentation.withUnsafeBytes { bytes += $0 }
        bytes += [0xa0, 0x0a, 0x06, 0x08] + curve + [0xa1, 0x44, 0x03, 0x42, 0x00] + key.publicKey.x963Representation
        return Secret(bytes)
    }

    /// prime256v1
    private static let curve: [UInt8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]
    private static let publicKeyHeader: [UInt8] =
        [0x30, 0x39, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08] + curve
        + [0x03, 0x22, 0x00]
}
