import Glibc
import Linux
import NetworkNamespaces

/// A host that answers questions of DHCP with lies, at 10.7.0.66 and with the hardware address of the other host: scapy,
/// which says what no server says.
@AgentLoop
final class HostileServer {
    private let network: AddressNetwork

    /// Debian's package python3-scapy.
    nonisolated static let isInstalled =
        access("/usr/bin/python3", X_OK) == 0 && access("/usr/lib/python3/dist-packages/scapy", R_OK) == 0

    /// Returns once it listens.
    /// - Parameters:
    ///   - lies: statements of Python that fill `packets`, from `q`, the question. See ``script``.
    ///   - answersARP: whether it claims every address.
    init(in network: AddressNetwork, lies: String = "pass", answersARP: Bool = false) async throws {
        self.network = network
        let folder = network.folder
        let indented = lies.split(separator: "\n").map { "    " + $0 }.joined(separator: "\n")
        let script = Self.script.replacing("    LIES", with: indented)
            .replacing("TOLD", with: "\(folder)/told").replacing("PROXY", with: answersARP ? "True" : "False")
        try await network.other.run(
            """
            cat > \(folder)/hostile.py <<'PYTHON'
            \(script)
            PYTHON
            mkfifo \(folder)/ready
            /usr/bin/python3 \(folder)/hostile.py > \(folder)/ready 2> \(folder)/hostile.log &
            echo $! > \(folder)/hostile.pid
            read line < \(folder)/ready || { cat \(folder)/hostile.log; false; }
            """)
    }

    /// Waits until it has answered a question.
    func hasAnswered() async throws {
        try await network.other.run("while [ ! -e \(network.folder)/told ]; do sleep 0.01; done")
    }

    func end() async throws {
        let folder = network.folder
        // What scapy complains about fails the test.
        try await network.other.run(
            "kill $(cat \(folder)/hostile.pid); cat \(folder)/hostile.log; [ ! -s \(folder)/hostile.log ]")
    }

    private static let script = """
        import logging, os, signal
        signal.alarm(300)  # Also where a test fails and does not end it.
        logging.getLogger("scapy").setLevel(logging.ERROR)
        from scapy.config import conf
        conf.verb, conf.use_pcap, conf.ipv6_enabled = 0, False, False
        from scapy.layers.l2 import ARP, Ether
        from scapy.layers.inet import IP, UDP, fragment
        from scapy.layers.dhcp import BOOTP, DHCP
        from scapy.packet import Raw

        me, link = "02:00:00:00:00:09", conf.L2socket(iface="eth0")

        def options(kind, server="10.7.0.66", lease=3600, mask="255.255.255.0", router="10.7.0.1", more=()):
            return [("message-type", kind), ("server_id", server), ("lease_time", lease), ("subnet_mask", mask),
                    ("router", router), *more, "end"]

        def answer(kind, address="10.7.0.99", xid=0, source="10.7.0.66", raw=None, fields={}, checksum=None,
                   port=67, **rest):
            said = DHCP(options=raw if raw is not None else options(kind, **rest))
            return (Ether(src=me, dst="ff:ff:ff:ff:ff:ff") / IP(src=source, dst="255.255.255.255")
                    / UDP(sport=port, dport=68, chksum=checksum)
                    / BOOTP(op=2, xid=q[BOOTP].xid ^ xid, yiaddr=address, chaddr=q[BOOTP].chaddr, **fields) / said)

        def cut(packet):
            # With an option that goes on beyond the end.
            message = bytes(packet[BOOTP])[:1000] + bytes([250, 200])
            return (Ether(src=me, dst=packet.dst) / IP(src=packet[IP].src, dst=packet[IP].dst)
                    / UDP(sport=67, dport=68) / Raw(message))

        def kind_of(packet):
            return next(o[1] for o in packet[DHCP].options if o[0] == "message-type")

        def lies(q, asks, wanted):
            packets = []
            LIES
            return packets

        # The first packet that scapy reads and writes takes it a third of a second: let that be none of the device's.
        q = Ether(bytes(Ether(src=me) / IP(src="0.0.0.0", dst="255.255.255.255") / UDP(sport=68, dport=67)
                        / BOOTP(chaddr=bytes(6)) / DHCP(options=[("message-type", 3), "end"])))
        for packet in [answer(2), answer(6), *lies(q, kind_of(q), "10.7.0.50")]:
            bytes(packet)
        print("ready", flush=True)
        os.dup2(2, 1)
        while True:
            q = link.recv()
            if q is None or q.src == me:
                continue
            if ARP in q and q[ARP].op == 1 and PROXY:
                link.send(Ether(src=me, dst=q.src) / ARP(op=2, hwsrc=me, psrc=q[ARP].pdst, hwdst=q[ARP].hwsrc,
                                                         pdst=q[ARP].psrc))
            if DHCP in q and q[UDP].dport == 67:
                wanted = next((o[1] for o in q[DHCP].options if o[0] == "requested_addr"), q[BOOTP].ciaddr)
                for packet in lies(q, kind_of(q), wanted):
                    link.send(packet)
                open("TOLD", "w").close()
        """
}
