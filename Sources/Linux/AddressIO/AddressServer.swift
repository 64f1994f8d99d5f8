import AgentModel
import DHCP
import Linux
import Netlink

/// Sets the address of the setup access point's interface, and serves DHCP there. Needs `CAP_NET_RAW` and
/// `CAP_NET_ADMIN`.
///
/// The clients' traffic is never forwarded, even if other settings of the device allow forwarding.
@AgentLoop
public final class AddressServer {
    private let setter: AddressSetter
    private var packets: PacketSocket?
    private var server: DHCPServer
    private let onProblem: (String) -> Void
    /// Problems already reported, at most 32.
    private var reported: Set<String> = []

    /// Metric of the route to the clients, so high that any other route is preferred.
    private static let metric = 1_000_000

    /// - Parameter onProblem: called on the loop with one line of text.
    /// - Throws: `SystemError` or `NetlinkError` if a socket cannot be opened.
    public init(
        interface index: Int, settings: DHCPServer.Settings, onProblem: @escaping @AgentLoop (String) -> Void
    ) throws {
        server = DHCPServer(settings: settings)
        self.onProblem = onProblem
        setter = try AddressSetter(on: index)
        packets = try PacketSocket(.dhcpServer, on: index) { [weak self] in self?.received($0) }
        setter.onProblem = { [weak self] in self?.report("\($0)") }
        guard let address = settings.address.address else { return }
        setter.forbidForwarding()
        setter.set(
            AddressPlan(
                address: address, prefixLength: settings.prefixLength, on: index, lasting: nil, gateway: nil,
                metric: Self.metric))
    }

    /// Removes the address and stops answering.
    public func close() {
        packets = nil
        setter.remove()
    }

    private func received(_ packet: PacketSocket.Packet) {
        guard
            let answer = server.handle(packet.bytes, from: packet.sender, checksum: packet.checksum, at: .now)
        else { return }
        do throws(SystemError) { try packets?.send(answer.packet, to: answer.hardware) } catch { report("\(error)") }
    }

    private func report(_ problem: String) {
        guard reported.count < 32, reported.insert(problem).inserted else { return }
        onProblem(problem)
    }
}
