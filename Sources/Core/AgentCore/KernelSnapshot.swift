import AgentModel
import AppProtocol

package struct StationID: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// Name in the kernel, such as `wlan0`.
    package let interface: String

    package init(_ interface: String) { self.interface = interface }
    package init(stringLiteral interface: String) { self.interface = interface }

    package var description: String { interface }
}

/// An interface with a default route over which traffic can leave the device.
package struct UplinkCandidate: Hashable, Sendable {
    package let interface: String
    package let kind: Uplink
    /// Whether the link has a carrier, and a modem its connection.
    package let isConnected: Bool

    package init(interface: String, kind: Uplink, isConnected: Bool = true) {
        (self.interface, self.kind, self.isConnected) = (interface, kind, isConnected)
    }
}

/// Kernel state of radios, addresses and routes at an event.
package struct KernelSnapshot: Sendable, Equatable {
    package struct Station: Sendable, Equatable {
        package var isSupported = true
        /// Index of the interface; nil if nl80211 does not report it.
        package var index: Int?
        /// Whether rtnetlink reports the interface.
        package var hasLink = true
        /// Whether the interface is administratively up.
        package var isLinkUp = true
        /// Reason why the radio is blocked, while the interface is down.
        package var block: RadioBlock?
        /// Whether driver and firmware perform the whole join (FullMAC); false if unknown.
        package var joinsByItself = false
        /// Whether a scan of the agent is running.
        package var isScanning = false
        /// Global addresses in a stable order.
        package var addresses: [InterfaceAddress] = []
        /// Default routes, without the agent's own routes.
        package var routes: [DefaultRoute] = []

        package init(index: Int?) { self.index = index }

        package var isPresent: Bool { index != nil }
        package var isUp: Bool { isSupported && isLinkUp }
    }

    package var stations: [StationID: Station] = [:]
    /// Uplink that carries the traffic; nil without one.
    package var uplink: Uplink?
    /// Uplink below `uplink` if that is a tunnel; else nil.
    package var carrier: Uplink?
    package var uplinkInterface: String?
    /// Uplink that carries the traffic; nil if that is a station.
    package var otherUplink: Uplink?
    /// Interface of `otherUplink`; nil if unknown.
    package var otherUplinkInterface: String?
    /// Interfaces over which traffic can leave the device, best first, as the kernel orders them without the agent's
    /// preference.
    package var uplinks: [UplinkCandidate] = []
    /// Status of the modem that carries the traffic, else of another modem; nil without one.
    package var modem: ModemStatus?

    package init() {}

    /// - Parameter index: Index of an interface.
    func station(of index: Int) -> StationID? { stations.first { $0.value.index == index }?.key }
}
