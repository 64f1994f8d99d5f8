import AgentModel
import DHCP
import Linux
import Netlink

/// Gives the interface of the device's own access point its address, and its clients theirs. Hands a `DHCPServer` packets
/// and time, and sends what it says. Needs `CAP_NET_RAW` and `CAP_NET_ADMIN`.
///
/// What the clients send is not forwarded, whatever the device's other settings are.
@AgentLoop
public final class AddressServer {
    private let setter: AddressSetter
    private var packets: PacketSocket?
    private var server: DHCPServer
    private let onProblem: (String) -> Void
    /// What could not be done, each once.
    private var told: Set<String> = []

    /// Of the route to the clients: it is never preferred.
    private static let metric = 1_000_000

    /// - Parameters:
    ///   - index: of the interface.
    ///   - onProblem: called on the loop, with one line.
    public init(
        interface index: Int, settings: DHCPServer.Settings, onProblem: @escaping @AgentLoop (String) -> Void
    ) throws {
        server = DHCPServer(settings: settings)
        self.onProblem = onProblem
        setter = try AddressSetter(on: index)
        packets = try PacketSocket(.dhcpServer, on: index) { [weak self] in self?.received($0) }
        setter.onProblem = { [weak self] in self?.tell("\($0)") }
        guard let address = settings.address.address else { return }
        setter.forbidForwarding()
        setter.set(
            AddressPlan(
                address: address, prefixLength: settings.prefixLength, on: index, lasting: nil, gateway: nil,
                metric: Self.metric))
    }

    /// Takes the address away, and answers no more.
    public func close() {
        packets = nil
        setter.remove()
    }

    private func received(_ packet: PacketSocket.Packet) {
        guard
            let answer = server.handle(packet.bytes, from: packet.sender, checksum: packet.checksum, at: .now)
        else { return }
        do throws(SystemError) { try packets?.send(answer.packet, to: answer.hardware) } catch { tell("\(error)") }
    }

    private func tell(_ problem: String) {
        guard told.count < 32, told.insert(problem).inserted else { return }
        onProblem(problem)
    }
}
