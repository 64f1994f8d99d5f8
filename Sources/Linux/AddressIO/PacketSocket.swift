import AgentModel
import CLinux
import DHCP
import Glibc
import Linux

/// Sends and receives one kind of packet without the kernel's IP stack, which needs an address. Needs `CAP_NET_RAW`.
///
/// Keep one socket as long as its interface, not as long as a link. Closing it makes the kernel wait for all processors
/// (af_packet.c, `packet_release`).
@AgentLoop
final class PacketSocket {
    /// Kinds of packets, without the link's header.
    enum Kind {
        /// Answers of DHCP servers to UDP port 68, from the IPv4 header on.
        case dhcp
        /// Requests of DHCP clients to UDP port 67, from the IPv4 header on.
        case dhcpServer
        case arp
        /// Answers of DHCPv6 servers to UDP port 546, from the IPv6 header on.
        case dhcpv6
    }

    struct Packet {
        let bytes: [UInt8]
        let checksum: ChecksumState
        /// Hardware address of the sender; zero if the link has none.
        let sender: HardwareAddress
    }

    private let kind: Kind
    private let index: Int32
    private let descriptor: Int32
    private let onPacket: (Packet) -> Void
    private var watch: ReadWatch?

    /// Maximum number of packets read in a row, so that a flood does not delay timers and other sockets.
    private static let packetsPerTurn = 32
    /// Maximum length of a packet in bytes, longer than any valid message.
    private static let longest = 4096

    /// - Throws: `EPERM` without `CAP_NET_RAW`, `EAFNOSUPPORT` if packet sockets are not allowed
    ///   (`RestrictAddressFamilies` of systemd.exec(5)), `ENODEV` if the interface does not exist.
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

    /// Receives only ARP replies, and ARP messages from a host that uses this address. Large networks carry many
    /// requests per second, which must not wake the device.
    /// - Parameter address: the device's own address; nil while it is unknown, to receive all requests too.
    func listen(about address: IPv4Address?) {
        guard kind == .arp else { return }
        _ = PacketFilter.arp(about: address).attach(to: descriptor)
    }

    /// Sends a packet without waiting.
    /// - Throws: the failure of sendto(2).
    func send(_ bytes: [UInt8], to hardware: HardwareAddress) throws(SystemError) {
        guard packet_send(descriptor, kind.number, index, hardware.bytes, bytes, bytes.count) < 0 else { return }
        throw SystemError("send on interface \(index)", errno: errno)
    }

    private func receive() {
        for _ in 0..<Self.packetsPerTurn {
            switch nextPacket() {
            case .packet(let packet): onPacket(packet)
            case .none: return
            // The packet is too long, the call was interrupted, or the interface went down (reported once each time).
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

/// Sends DHCP messages between addresses that the kernel has a route for.
///
/// Uses a raw socket, so the kernel finds the next hop and its hardware address. A UDP socket would need port 68, hence
/// another capability, and would conflict with other DHCP clients. A packet socket would need the hardware address of
/// the next hop.
@AgentLoop
final class RoutedSender {
    private let descriptor: Int32

    init(on index: Int) throws(SystemError) {
        descriptor = packet_open_sender(Int32(clamping: index))
        guard descriptor >= 0 else { throw SystemError("open a raw socket on interface \(index)", errno: errno) }
    }

    deinit { close(descriptor) }

    /// - Parameter packet: IPv4 packet with its header.
    func send(_ packet: [UInt8], to destination: IPv4Address) throws(SystemError) {
        guard packet_send_routed(descriptor, destination.bytes, packet, packet.count) < 0 else { return }
        throw SystemError("send to \(destination)", errno: errno)
    }
}

/// A program of the classic Berkeley packet filter: the kernel drops packets without waking the process. Offsets count
/// from the first byte after the link's header.
struct PacketFilter {
    private let steps: [Step]

    private enum Step {
        case byte(at: UInt32)
        case pair(at: UInt32)
        case word(at: UInt32)
        /// Reads the length of the IPv4 header at this offset, for `pairBehindHeader`.
        case headerLength(at: UInt32)
        case pairBehindHeader(at: UInt32)
        /// Drops the packet if the value read last differs.
        case require(UInt32)
        /// Drops the packet if the value read last has any of these bits.
        case refuse(bits: UInt32)
        case accept(UInt32)
    }

    /// Accepts unfragmented UDP packets to this port.
    static func dhcp(to port: UInt32) -> PacketFilter {
        PacketFilter(steps: [
            .byte(at: 9), .require(UInt32(IPPROTO_UDP)),
            .pair(at: 6), .refuse(bits: 0x3fff),  // The flag "more fragments" or a fragment offset.
            .headerLength(at: 0), .pairBehindHeader(at: 2), .require(port),
        ])
    }

    /// Accepts UDP packets to port 546, unfragmented and directly after the IPv6 header.
    static let dhcpv6 = PacketFilter(steps: [
        .byte(at: 6), .require(UInt32(IPPROTO_UDP)), .pair(at: 42), .require(546),
    ])

    /// Accepts ARP for IPv4 over Ethernet: replies, and messages from `address`; if it is nil, all requests too.
    static func arp(about address: IPv4Address?) -> PacketFilter {
        let kind: [Step] = [.word(at: 0), .require(0x0001_0800), .pair(at: 4), .require(0x0604)]
        let question: [Step] = address.map { [.word(at: 14), .require($0.bits)] } ?? [.require(1)]
        return PacketFilter(steps: kind + [.pair(at: 6), .accept(2)] + question)
    }

    func attach(to descriptor: Int32) -> Bool {
        let program = program
        return packet_filter(descriptor, program, UInt16(clamping: program.count)) == 0
    }

    /// Instructions of the steps, then one that accepts and one that drops the packet.
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
    ///   - yes: number of instructions to skip if the comparison holds.
    ///   - no: number of instructions to skip if it does not hold.
    private static func instruction(_ code: Int32, _ value: UInt32, yes: UInt8 = 0, no: UInt8 = 0) -> sock_filter {
        sock_filter(code: UInt16(truncatingIfNeeded: code), jt: yes, jf: no, k: value)
    }
}
