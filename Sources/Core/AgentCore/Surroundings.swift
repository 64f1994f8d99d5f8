import AgentModel
import AppProtocol

/// Names one of the device's station interfaces.
package struct StationID: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// As the kernel names it, such as `wlan0`.
    package let interface: String

    package init(_ interface: String) { self.interface = interface }
    package init(stringLiteral interface: String) { self.interface = interface }

    package var description: String { interface }
}

/// What the kernel says of radios, addresses and routes at one moment. The runner tells it before the event that it
/// goes with; by itself it has no consequence but for what is asked next.
package struct Surroundings: Sendable, Equatable {
    package struct Station: Sendable, Equatable {
        /// Whether the kernel has nl80211.
        package var isSupported = true
        /// Whether nl80211 has the interface.
        package var isPresent = true
        /// Whether rtnetlink has a link of this name.
        package var hasLink = true
        /// Whether an administrator, or the agent, has set that link up.
        package var isLinkUp = true
        /// What keeps its radio from working, while the link is down.
        package var block: RadioBlock?
        /// Whether its driver and firmware do all of a join, where that is known.
        package var joinsByItself = false
        /// Whether a scan of the agent's own is under way on its radio.
        package var isScanning = false
        /// Its global addresses, in an order that does not change.
        package var addresses: [LinkAddress] = []
        /// Its default routes, but for those that the agent made.
        package var routes: [LinkRoute] = []

        package init() {}

        package var isUp: Bool { isSupported && isLinkUp }
    }

    package var stations: [StationID: Station] = [:]
    /// What carries the traffic, and what is beneath it where that is a tunnel.
    package var uplink: Uplink?
    package var carrier: Uplink?
    package var uplinkInterface: String?
    /// What carries the traffic besides the device's stations.
    package var otherUplink: Uplink?
    /// The modem that carries the traffic, or else another that the device has.
    package var modem: ModemStatus?

    package init() {}
}

/// An address of a station.
package struct LinkAddress: Hashable, Sendable {
    package let isIPv4: Bool
    /// Four or sixteen, in network order.
    package let bytes: [UInt8]
    package let prefixLength: Int
    package let isGlobal: Bool
    /// Not to be used yet, or not at all: its uniqueness is being checked, or the check failed (RFC 4862, 5.4).
    package let isTentative: Bool
    /// In its usual notation, without the prefix length.
    package let text: String

    package init(
        isIPv4: Bool, bytes: [UInt8], prefixLength: Int, isGlobal: Bool = true, isTentative: Bool = false, text: String
    ) {
        (self.isIPv4, self.bytes, self.prefixLength) = (isIPv4, bytes, prefixLength)
        (self.isGlobal, self.isTentative, self.text) = (isGlobal, isTentative, text)
    }
}

/// A default route of a station.
package struct LinkRoute: Hashable, Sendable {
    package let isIPv4: Bool
    /// Nil on links without one, such as point-to-point links.
    package let gateway: [UInt8]?

    package init(isIPv4: Bool, gateway: [UInt8]?) { (self.isIPv4, self.gateway) = (isIPv4, gateway) }
}
