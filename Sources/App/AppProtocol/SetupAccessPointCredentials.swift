import AgentModel
import Crypto

/// Name and password of the setup access point. Both derive from the device's label.
public struct SetupAccessPointCredentials: Sendable, Equatable {
    public let ssid: SSID
    /// Password of 14 characters with 60 bits of entropy: three groups of unambiguous letters and digits, separated by
    /// hyphens. The length resists offline guessing from recorded frames.
    public let password: Secret

    /// - Parameter ssid: the name set on the device; nil for the default.
    /// - Returns: nil for an app's key, because the password derives from the owner's key only.
    public init?(of device: DeviceKey, named ssid: SSID? = nil) {
        guard device.isOwners, let own = ssid ?? Self.name(of: device.deviceId) else { return nil }
        self.ssid = own
        password = Self.password(from: device.localKey)
    }

    /// Returns the name: `altnet-` and the last four characters of the device ID.
    static func name(of deviceId: String) -> SSID? { try? SSID("altnet-" + deviceId.suffix(4)) }

    private static let letters = Array("abcdefghijkmnpqrstuvwxyz23456789".utf8)
    private static let purpose = Array("altnet access point password".utf8)

    private static func password(from key: Secret) -> Secret {
        let derived = key.withBytes { bytes in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: bytes), info: purpose, outputByteCount: 12)
        }
        var text = derived.withUnsafeBytes { bytes in bytes.map { letters[Int($0) % letters.count] } }
        defer { text.withUnsafeMutableBytes { wipe($0) } }
        text.insert(UInt8(ascii: "-"), at: 8)
        text.insert(UInt8(ascii: "-"), at: 4)
        return Secret(text)
    }

    /// Returns the QR code of the access point, `WIFI:T:WPA;S:altnet-1234;P:...;;`. Keep it as secret as the password.
    public func code() -> String {
        let name = ssid.bytes.flatMap { byte in
            Self.special.contains(byte) ? [UInt8(ascii: "\\"), byte] : [byte]
        }
        let password = password.withBytes { String(decoding: $0, as: UTF8.self) }
        return "WIFI:T:WPA;S:\(String(decoding: name, as: UTF8.self));P:\(password);;"
    }

    private static let special = Set(#"\;,:""#.utf8)
}
