import AgentModel
import DHCP
import Linux

/// Runs the DHCP client alone, to see what a server answers. Sets no address: it can run beside the agent or another
/// client. Needs `CAP_NET_RAW`.
@AgentLoop
public final class AddressTrial {
    public enum Event: Equatable, Sendable {
        case sent(DHCPMessage)
        /// Answer to this host, from the address of its sender.
        case received(DHCPMessage)
        case problem(DHCPProblem)
        /// A message could not be sent.
        case failed(SystemError)
        /// The end of the trial.
        case lease(Lease)
    }

    private let hardware: HardwareAddress
    private let onEvent: (Event) -> Void
    private var client: DHCPClient
    private var packets: PacketSocket?
    private var messages: PacketSocket?
    private var timer: LoopTimer?

    /// - Parameters:
    ///   - index: Index of an Ethernet or Wi-Fi interface, associated or with a cable.
    ///   - hardware: Hardware address of the interface.
    /// - Throws: `SystemError` if a socket cannot be opened, as `PacketSocket` says.
    public init(
        interface index: Int, hardware: HardwareAddress, settings: DHCPSettings = DHCPSettings(),
        onEvent: @escaping @AgentLoop @Sendable (Event) -> Void
    ) throws(SystemError) {
        (self.hardware, self.onEvent) = (hardware, onEvent)
        client = DHCPClient(settings: settings, random: SystemRandomNumberGenerator())
        packets = try PacketSocket(.dhcp, on: index) { [weak self] in self?.heard($0) }
        messages = try PacketSocket(.arp, on: index) { [weak self] in self?.handle(.arp($0.bytes)) }
    }

    public func begin() { handle(.linkUp(hardware: hardware, remembered: nil)) }

    private func heard(_ packet: PacketSocket.Packet) {
        if let datagram = try? UDPDatagram(reading: packet.bytes, checksum: packet.checksum),
            var message = try? DHCPMessage(reading: datagram.payload), message.hardware == hardware
        {
            message.sender = datagram.source
            onEvent(.received(message))
        }
        handle(.packet(packet.bytes, checksum: packet.checksum))
    }

    private func handle(_ event: DHCPClient.Event) {
        for effect in client.handle(event, at: .now) { perform(effect) }
        timer = nil
        guard let lease = client.lease else {
            timer = client.deadline.map(wait)
            return
        }
        (packets, messages) = (nil, nil)
        onEvent(.lease(lease))
    }

    private func wait(until deadline: Instant) -> LoopTimer {
        LoopTimer(after: deadline - .now) { [weak self] in self?.handle(.timer) }
    }

    private func perform(_ effect: DHCPClient.Effect) {
        do throws(SystemError) {
            switch effect {
            case .broadcast(let packet):
                if let datagram = try? UDPDatagram(reading: packet, from: .client),
                    let message = try? DHCPMessage(reading: datagram.payload)
                {
                    onEvent(.sent(message))
                }
                try packets?.send(packet, to: .broadcast)
            case .sendARP(let message, let hardware): try messages?.send(message.bytes, to: hardware)
            case .report(let problem): onEvent(.problem(problem))
            case .use, .unicast, .drop, .remember, .forget, .clear: break
            }
        } catch { onEvent(.failed(error)) }
    }
}
