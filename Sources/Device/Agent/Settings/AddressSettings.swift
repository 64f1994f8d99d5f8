import AgentModel
import Crypto
import DHCP

/// The program that gets the interface's addresses.
public enum AddressClient: String, CaseIterable, Sendable {
    case altnet
    /// Another one, which the owner has set up.
    case other
}

/// Where the network's name servers go.
public enum ResolverChoice: String, CaseIterable, Sendable {
    /// To the first of the next three that is there.
    case auto
    /// systemd-resolved.
    case resolved
    case resolvconf
    /// /etc/resolv.conf.
    case file
    /// Nowhere.
    case none
}

/// How the device says to DHCP servers which client it is, as it is set.
public enum DHCPIdentity: Sendable, Hashable {
    case hardware
    case text(ClientIdentifier)
    /// An identifier of the device and a number of the interface (RFC 4361, 6.1).
    case device

    /// - Parameter setting: `hardware`, `duid`, or `text:` with 1 to 254 bytes after it.
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

    /// - Parameter deviceId: the device's id, which a server does not learn by this.
    public func identifier(deviceId: String, interface: String) -> ClientIdentifier {
        switch self {
        case .hardware: return .hardware
        case .text(let identifier): return identifier
        case .device:
            // DUID-UUID (RFC 6355, 4), with a UUID of version 8 (RFC 9562, 5.8).
            var uuid = Array(SHA256.hash(data: Array("altnet DUID ".utf8) + Array(deviceId.utf8)).prefix(16))
            uuid[6] = uuid[6] & 0x0f | 0x80
            uuid[8] = uuid[8] & 0x3f | 0x80
            let association = SHA256.hash(data: Array(interface.utf8)).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
            return .unique(association: association, device: [0, 4] + uuid) ?? .hardware
        }
    }
}

extension AgentSettings {
    /// What the DHCP client of an interface is to do.
    public func dhcp(deviceId: String, interface: String) -> DHCPSettings {
        DHCPSettings(
            identifier: dhcpIdentity.identifier(deviceId: deviceId, interface: interface), hostName: dhcpHostName,
            isAnonymous: isDHCPAnonymous)
    }
}
