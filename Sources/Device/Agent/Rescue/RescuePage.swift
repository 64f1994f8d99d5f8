import DHCP

/// The page of the device's own access point: its names and its web server. It is opened and closed with the access point.
///
/// It tells `DeviceAgent.browserAsked()` what a user asks for, and not the probes by which a phone's system looks for the
/// internet: an idle phone makes those, too.
package protocol RescuePage: Sendable {
    /// - Parameters:
    ///   - interface: the one to answer on, and on no other.
    ///   - address: the device's own there, with which the interface is provided.
    func open(on interface: String, address: IPv4Address) async throws
    func close() async
}
