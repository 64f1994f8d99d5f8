import AgentModel
import Crypto

/// The hardware address by which the device joins a network.
public enum MACAddressChoice: String, Sendable, CaseIterable {
    /// The one that the interface has.
    case permanent
    /// One for each network, and the same each time.
    case perNetwork = "per-network"
    /// Another one in each join.
    case random

    /// - Parameters:
    ///   - interface: two of the device's in one network have two addresses.
    ///   - key: known to the device alone, or the addresses of its networks could be told from one another's.
    /// - Returns: nil where the interface keeps the address that it has.
    func address(
        in network: SSID, of interface: String, key: Secret, random: inout some RandomNumberGenerator
    ) -> HardwareAddress? {
        var bytes: [UInt8]
        switch self {
        case .permanent: return nil
        case .perNetwork:
            // A name of an interface has no zero, so two texts of different parts are different.
            let text = Array("altnet MAC address \(interface)\0".utf8) + network.bytes
            bytes = key.withBytes { key in
                Array(HMAC<SHA256>.authenticationCode(for: text, using: SymmetricKey(data: key)).prefix(6))
            }
        case .random: bytes = (0..<6).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        // Locally administered, and of one interface (IEEE 802-2014, 8.2).
        bytes[0] = bytes[0] & 0xfc | 0x02
        return HardwareAddress(bytes: bytes)
    }
}
