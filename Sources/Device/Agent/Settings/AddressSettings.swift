import Crypto
import DHCP

public enum AddressClient: String, CaseIterable, Sendable {
    case altnet
    case other
}

/// Program that gets the network's name servers.
public enum ResolverChoice: String, CaseIterable, Sendable {
    /// The first of the next three choices that is available.
    case auto
    case resolved
    case resolvconf
    case file
    case none
}

public enum DHCPIdentity: Sendable, Hashable {
    case hardware
    case text(ClientIdentifier)
    /// Identifier derived from the device ID and the interface (RFC 4361, 6.1).
    case device

    /// - Parameter setting: `hardware`, `duid`, or `text:` followed by 1 to 254 bytes.
    init?(_ setting: String) {
        switch setting {
        case "hardware": self = .hardware
        case "duid": self = .device
        default:
            guard setting.hasPrefix("text:"), let text = ClientIdentifier.text(String(setting.dropFirst(5))) else {
                return nil
            }
            self = .text(text)
        }
    }

    /// - Parameter deviceId: ID of the device. The identifier contains a hash of it, so servers cannot read the ID.
    public func identifier(deviceId: String, interface: String) -> ClientIdentifier {
        switch self {
        case .hardware: return .hardware
        case .text(let identifier): return identifier
        case .device:
            // A DUID-UUID (RFC 6355, 4) with a UUID of version 8 (RFC 9562, 5.8).
            var uuid = Array(SHA256.hash(data: Array("altnet DUID ".utf8) + Array(deviceId.utf8)).prefix(16))
            uuid[6] = uuid[6] & 0x0f | 0x80
            uuid[8] = uuid[8] & 0x3f | 0x80
            let association = SHA256.hash(data: Array(interface.utf8)).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
            return .unique(association: association, device: [0, 4] + uuid) ?? .hardware
        }
    }
}

extension AgentSettings {
    public func dhcp(deviceId: String, interface: String) -> DHCPSettings {
        DHCPSettings(
            identifier: dhcpIdentity.identifier(deviceId: deviceId, interface: interface), hostName: dhcpHostName,
            isAnonymous: isDHCPAnonymous)
    }
}
