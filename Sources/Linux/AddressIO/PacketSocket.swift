import AgentModel
import CLinux
import DHCP
import Glibc
import Linux

/// Moves one kind of packet past the kernel's own IPv4, which has no address yet. Needs `CAP_NET_RAW`.
///
/// Closing such a socket makes the kernel wait for all its processors (af_packet.c, `packet_release`), so one lasts as
/// long as its interface, and not as long as a link.
@AgentLoop
final class PacketSocket {
    /// What is sent and received, behind the link's header.
    enum Kind {
        /// From the IPv4 header on: answers of DHCP servers, which go to UDP port 68.
        case dhcp
        /// The same: questions of DHCP clients, which go to UDP port 67.
        case dhcpServer
        case arp
        /// From the IPv6 header on: answers of DHCPv6 servers, which go to UDP port 546.
        case dhcpv6
    }

    struct Packet {
        /// The bytes behind the link's header.
        let bytes: [UInt8]
        let checksum: ChecksumState
        /// The hardware address that the link names as the sender, zero where it names none.
        let sender: HardwareAddress
    }

    private let kind: Kind
    private let index: Int32
    private let descriptor: Int32
    private let onPacket: (Packet) -> Void
    private var watch: ReadWatch?

    /// Reads at most so many packets in a row, so that a flood does not keep timers and other sockets waiting.
    private static let packetsPerTurn = 32
    /// More than any message that is understood.
    private static let longest = 4096

    /// - Parameters:
    ///   - index: of the interface.
    ///   - onPacket: called on the loop for each packet that arrives.
    /// - Throws: `EPERM` without `CAP_NET_RAW`, `EAFNOSUPPORT` where packet sockets are not allowed
    ///   (`RestrictAddressFamilies` of systemd.exec(5)), `ENODEV` without such an interface.
    init(
        _ kind: Kind, on index: Int, onPacket: @escaping (Packet) -> Void
    ) throws(SystemError) {
        self.kind = kind
        self.index = Int32(clamping: index)
        self.onPacket = onPacket
        descriptor = packet_open()
        guard descriptor >= 0 else { throw SystemError("open a packet socket", errno: errno) }
        let filter = kind.filter
        guard filter.attach(to: descriptor), packet_bind(descriptor, kind.number, self.index) == 0 else {
            let failure = errno
            close(descriptor)
            throw SystemError("listen on interface \(index)", errno: failure)
        }
        watch = ReadWatch(fileDescriptor: descriptor) { [weak self] in self?.receive() }
    }

    isolated deinit {
        watch?.cancel { [descriptor] in close(descriptor) }
    }

    /// Leaves out messages of ARP that are neither answers nor about this address: in a large network many a device asks
    /// for others each second, and none of them is to wake this one. Nil for an address that is not known yet.
    func listen(about address: IPv4Address?) {
        guard kind == .arp else { return }
        _ = PacketFilter.arp(about: address).attach(to: descriptor)
    }

    /// Sends a packet at once, or not at all.
    func send(_ bytes: [UInt8], to hardware: HardwareAddress) throws(SystemError) {
        guard packet_send(descriptor, kind.number, index, hardware.bytes, bytes, bytes.count) < 0 else { return }
        throw SystemError("send by interface \(index)", errno: errno)
    }

    private func receive() {
        for _ in 0..<Self.packetsPerTurn {
            switch nextPacket() {
            case .packet(let packet): onPacket(packet)
            case .none: return
            // Too long, interrupted, or the interface went down, which is told once for each time.
            case .failed: continue
            }
        }
    }

    private enum Received {
        case packet(Packet)
        case failed
        case none
    }

    private func nextPacket() -> Received {
        withUnsafeTemporaryAllocation(byteCount: Self.longest, alignment: 1) { buffer in
            var isPartial: Int32 = 0
            var sender = [UInt8](repeating: 0, count: 6)
            let count = packet_receive(descriptor, buffer.baseAddress, buffer.count, &isPartial, &sender)
            guard count >= 0 else { return errno == EAGAIN ? .none : .failed }
            guard count <= buffer.count else { return .failed }
            return .packet(
                Packet(
                    bytes: Array(buffer[..<count]), checksum: isPartial == 0 ? .complete : .partial,
                    sender: HardwareAddress(bytes: sender) ?? .zero))
        }
    }
}

extension PacketSocket.Kind {
    /// `ETH_P_*`.
    fileprivate var number: UInt16 {
        switch self {
        case .dhcp, .dhcpServer: UInt16(ETH_P_IP)
        case .arp: UInt16(ETH_P_ARP)
        case .dhcpv6: UInt16(ETH_P_IPV6)
        }
    }

    fileprivate var filter: PacketFilter {
        switch self {
        case .dhcp: .dhcp(to: 68)
        case .dhcpServer: .dhcp(to: 67)
        case .arp: .arp(about: nil)
        case .dhcpv6: .dhcpv6
        }
    }
}

/// Sends messages of DHCP between addresses that the kernel has a route for.
///
/// A raw socket, for the kernel then finds the next hop and its hardware address, as it does for everything else. A UDP
/// socket would have to have port 68, which needs one more capability and collides with other DHCP clients; a packet
/// socket would need the hardware address of the server or of the gateway to it.
@AgentLoop
final class RoutedSender {
    private let descriptor: Int32

    /// - Parameter index: of the interface that everything goes out by.
    init(on index: Int) throws(SystemError) {
        descriptor = packet_open_sender(Int32(clamping: index))
        guard descriptor >= 0 else { throw SystemError("open a raw socket on interface \(index)", errno: errno) }
    }

    deinit { close(descriptor) }

    /// - Parameter packet: from its IPv4 header on.
    func send(_ packet: [UInt8], to destination: IPv4Address) throws(SystemError) {
        guard packet_send_routed(descriptor, destination.bytes, packet, packet.count) < 0 else { return }
        throw SystemError("send to \(destination)", errno: errno)
    }
}

/// A program of the classic Berkeley packet filter, by which the kernel leaves out packets before a process wakes for
/// them. Places count from the first byte behind the link's header.
struct PacketFilter {
    private let steps: [Step]

    private enum Step {
        case byte(at: UInt32)
        case pair(at: UInt32)
        case word(at: UInt32)
        /// Bytes behind an IPv4 header, of which this place tells the length.
        case headerLength(at: UInt32)
        case pairBehindHeader(at: UInt32)
        /// Anything else is left out.
        case require(UInt32)
        /// What has one of these bits is left out.
        case refuse(bits: UInt32)
        case accept(UInt32)
    }

    /// UDP to this port, in one piece.
    static func dhcp(to port: UInt32) -> PacketFilter {
        PacketFilter(steps: [
            .byte(at: 9), .require(UInt32(IPPROTO_UDP)),
            .pair(at: 6), .refuse(bits: 0x3fff),  // More fragments, or an offset.
            .headerLength(at: 0), .pairBehindHeader(at: 2), .require(port),
        ])
    }

    /// UDP to port 546, in one piece and right behind the header of IPv6.
    static let dhcpv6 = PacketFilter(steps: [
        .byte(at: 6), .require(UInt32(IPPROTO_UDP)), .pair(at: 42), .require(546),
    ])

    /// ARP for IPv4 over Ethernet: answers, and what the host with this address says; nil for all questions too.
    static func arp(about address: IPv4Address?) -> PacketFilter {
        let kind: [Step] = [.word(at: 0), .require(0x0001_0800), .pair(at: 4), .require(0x0604)]
        let question: [Step] = address.map { [.word(at: 14), .require($0.bits)] } ?? [.require(1)]
        return PacketFilter(steps: kind + [.pair(at: 6), .accept(2)] + question)
    }

    func attach(to descriptor: Int32) -> Bool {
        let program = program
        return packet_filter(descriptor, program, UInt16(clamping: program.count)) == 0
    }

    /// The steps, then one instruction that accepts and one that does not.
    private var program: [sock_filter] {
        steps.enumerated().map { place, step in
            let (accept, refuse) = (UInt8(clamping: steps.count - place - 1), UInt8(clamping: steps.count - place))
            return switch step {
            case .byte(let place): Self.instruction(BPF_LD | BPF_B | BPF_ABS, place)
            case .pair(let place): Self.instruction(BPF_LD | BPF_H | BPF_ABS, place)
            case .word(let place): Self.instruction(BPF_LD | BPF_W | BPF_ABS, place)
            case .headerLength(let place): Self.instruction(BPF_LDX | BPF_B | BPF_MSH, place)
            case .pairBehindHeader(let place): Self.instruction(BPF_LD | BPF_H | BPF_IND, place)
            case .require(let value): Self.instruction(BPF_JMP | BPF_JEQ | BPF_K, value, no: refuse)
            case .refuse(let bits): Self.instruction(BPF_JMP | BPF_JSET | BPF_K, bits, yes: refuse)
            case .accept(let value): Self.instruction(BPF_JMP | BPF_JEQ | BPF_K, value, yes: accept)
            }
        } + [Self.instruction(BPF_RET | BPF_K, .max), Self.instruction(BPF_RET | BPF_K, 0)]
    }

    /// - Parameters:
    ///   - yes: how many instructions to leave out where the comparison holds.
    ///   - no: and where it does not.
    private static func instruction(_ code: Int32, _ value: UInt32, yes: UInt8 = 0, no: UInt8 = 0) -> sock_filter {
        sock_filter(code: UInt16(truncatingIfNeeded: code), jt: yes, jf: no, k: value)
    }
}
