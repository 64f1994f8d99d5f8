import AgentModel
import CNetlink
import Glibc

/// The way that packets for an address take, as the kernel finds it (`RTM_GETROUTE`): with all tables, rules and metrics.
public struct Way: Hashable, Sendable {
    /// The interface that they go out by.
    public let index: Int
    /// Nil where the address is on the link itself, or the link has no gateways.
    public let gateway: IPAddress?
    /// Whether the address is the device's own.
    public let isLocal: Bool

    init(index: Int, gateway: IPAddress?, isLocal: Bool) {
        (self.index, self.gateway, self.isLocal) = (index, gateway, isLocal)
    }

    /// - Returns: nil where packets would be thrown away.
    init?(_ payload: ArraySlice<UInt8>) {
        guard let report = RouteReport(payload), let hop = report.hops.first else { return nil }
        switch report.type {
        case RTN_UNICAST, RTN_LOCAL, RTN_BROADCAST, RTN_ANYCAST, RTN_MULTICAST: break
        default: return nil
        }
        index = hop.index
        gateway = hop.gateway.flatMap { IPAddress(bytes: $0) }
        isLocal = report.type == RTN_LOCAL
    }
}

extension RouteMonitor {
    /// Asks the kernel which way packets for an address would go. Nothing is sent there.
    /// - Returns: nil where there is none.
    public func way(to address: IPAddress) async throws(NetlinkError) -> Way? {
        do throws(NetlinkError) {
            return try await socket.reply(to: .way(to: address), attempting: "find the way to \(address)") { message in
                Int(message.type) == RTM_NEWROUTE ? Way(message.payload) : nil
            }
        } catch {
            // "Unreachable", "prohibited" and "black hole" as routes say it, and a kernel without IPv6.
            guard [ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, EAFNOSUPPORT, EOPNOTSUPP].contains(error.errno) else {
                throw error
            }
            return nil
        }
    }
}
