import AgentModel
import Crypto

/// Name and password of the device's own access point. Both follow from what is on the device's label, so that an app that
/// has read the pairing code can join it.
public struct DeviceAccessPoint: Sendable, Equatable {
    public let ssid: SSID
    /// 14 characters: three groups of four letters and digits, none of which looks like another one, with hyphens between
    /// them. 60 bits, for what is on the air can be tried against a list at leisure.
    public let password: Secret

    /// - Parameter ssid: as it is set on the device; nil for the name that it has by itself.
    /// - Returns: nil for the key of an app, from which the password does not follow.
    public init?(of device: DeviceKey, named ssid: SSID? = nil) {
        guard device.isOwners, let own = ssid ?? Self.name(of: device.deviceId) else { return nil }
        self.ssid = own
        password = Self.password(from: device.localKey)
    }

    /// `altnet-` and the last four characters of the device's id.
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

    /// The code by which a phone's camera joins it, as secret as the password: `WIFI:T:WPA;S:altnet-1234;P:...;;`.
    public func code() -> String {
        let name = ssid.bytes.flatMap { byte in
            Self.special.contains(byte) ? [UInt8(ascii: "\\"), byte] : [byte]
        }
        let password = password.withBytes { String(decoding: $0, as: UTF8.self) }
        return "WIFI:T:WPA;S:\(String(decoding: name, as: UTF8.self));P:\(password);;"
    }

    private static let special = Set(#"\;,:""#.utf8)
}
