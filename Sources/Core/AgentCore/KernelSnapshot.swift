import AgentModel
import AppProtocol

package struct StationID: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// Name in the kernel, such as `wlan0`.
    package let interface: String

    package init(_ interface: String) { self.interface = interface }
    package init(stringLiteral interface: String) { self.interface = interface }

    package var description: String { interface }
}

/// Kernel state of radios, addresses and routes. Sent before the event that it belongs to.
package struct KernelSnapshot: Sendable, Equatable {
    package struct Station: Sendable, Equatable {
        package var isSupported = true
        /// Whether nl80211 reports the interface.
        package var isPresent = true
        /// Whether rtnetlink reports the interface.
        package var hasLink = true
        /// Whether the interface is administratively up.
        package var isLinkUp = true
        /// Reason why the radio is blocked, while the interface is down.
        package var block: RadioBlock?
        /// Whether driver and firmware join on their own (FullMAC); false if unknown.
        package var joinsByItself = false
        /// Whether an own scan is running.
        package var isScanning = false
        /// Global addresses in a stable order.
        package var addresses: [LinkAddress] = []
        /// Default routes, without those of the agent.
        package var routes: [LinkRoute] = []

        package init() {}

        package var isUp: Bool { isSupported && isLinkUp }
    }

    package var stations: [StationID: Station] = [:]
    /// Uplink of the traffic, and the one below it if that is a tunnel.
    package var uplink: Uplink?
    package var carrier: Uplink?
    package var uplinkInterface: String?
    /// Uplink of the traffic other than the stations.
    package var otherUplink: Uplink?
    /// Modem that carries the traffic, else another one.
    package var modem: ModemStatus?

    package init() {}
}

package struct LinkAddress: Hashable, Sendable {
    package let isIPv4: Bool
    /// 4 or 16 bytes in network order.
    package let bytes: [UInt8]
    package let prefixLength: Int
    package let isGlobal: Bool
    /// Not usable: duplicate address detection is running or has failed (RFC 4862, 5.4).
    package let isTentative: Bool
    /// Usual notation without the prefix length.
    package let text: String

    package init(
        isIPv4: Bool, bytes: [UInt8], prefixLength: Int, isGlobal: Bool = true, isTentative: Bool = false, text: String
    ) {
        (self.isIPv4, self.bytes, self.prefixLength) = (isIPv4, bytes, prefixLength)
        (self.isGlobal, self.isTentative, self.text) = (isGlobal, isTentative, text)
    }
}

package struct LinkRoute: Hashable, Sendable {
    package let isIPv4: Bool
    /// Nil on point-to-point links.
    package let gateway: [UInt8]?

    package init(isIPv4: Bool, gateway: [UInt8]?) { (self.isIPv4, self.gateway) = (isIPv4, gateway) }
}
