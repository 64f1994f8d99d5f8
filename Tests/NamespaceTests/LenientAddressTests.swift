import AddressIO
import AgentModel
import DHCP
import Linux
import NetworkNamespaces
import Testing

/// Old routers, clouds and relays answer so, and other clients take an address from them.
@Suite(
    .timeLimit(.minutes(3)), .serialized,
    .enabled(if: AddressNetwork.isPossible, "needs root, dnsmasq and nft, to make networks with a server"),
    .enabled(if: HostileServer.isInstalled, "needs python3-scapy"))
@AgentLoop struct LenientAddressTests {
    @Test func anAddressIsTakenWhateverNothingNeeds() async throws {
        let network = try await AddressNetwork()
        let server = try await HostileServer(quirkyIn: network)
        let runner = try network.runner()
        for quirk in Quirk.all {
            try await quirk.play(in: network)
            let earlier = network.problems.count
            runner.linkUp(hardware: AddressNetwork.hardware)
            let lease = try await network.lease()
            #expect(lease.address == IPv4Address("10.7.0.99"), "\(quirk)")
            if let line = quirk.line { try await network.problem(line) }
            let problems = network.problems.dropFirst(earlier)
            #expect(Set(problems).count == problems.count, "\(quirk): \(problems)")
            #expect(quirk.line != nil || problems.isEmpty, "\(quirk): \(problems)")
            let gateway = lease.gateway.map { "via \($0) dev wlan0" } ?? "unreachable"
            try await network.device.run(
                """
                for i in $(seq 100); do
                    ip route get 192.0.2.1 2>&1 | grep '\(gateway)' && exit
                    sleep 0.02
                done
                ip -4 address; ip route; exit 1
                """)
            runner.linkDown()
        }
        try await server.end()
        try await network.end()
    }

    /// `altnet-lab address` prints these events. The device's addresses do not change.
    @Test func aTrialShowsTheExchange() async throws {
        let network = try await AddressNetwork()
        try await network.start(.dnsmasq)
        let journal = Journal<AddressTrial.Event>()
        let trial = try network.device.within {
            try AddressTrial(interface: AddressNetwork.index, hardware: AddressNetwork.hardware) { journal.record($0) }
        }
        trial.begin()
        let end = try await journal.next { if case .lease = $0 { true } else { false } }
        guard case .lease(let lease) = end else { return }
        #expect(lease.address == IPv4Address("10.7.0.50"))
        let kinds = journal.events.compactMap { event -> DHCPMessage.Kind? in
            switch event {
            case .sent(let message), .received(let message): message.kind
            case .problem, .failed, .lease: nil
            }
        }
        #expect(kinds.first == .discover && kinds.last == .ack)
        try network.device.runBlocking("! ip -4 address show dev wlan0 | grep inet")
        try await network.end()
    }
}

/// Something that other servers leave out or do otherwise.
struct Quirk: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Arguments of `answer` in ``HostileServer/script``.
    let arguments: String
    /// Part of the one line in the log; nil for what is not worth a line.
    let line: String?

    init(_ name: String, _ arguments: String, _ line: String?) {
        (testDescription, self.arguments, self.line) = (name, arguments, line)
    }

    static let all = [
        Quirk("no lease time", options("('server_id', '10.7.0.66'), \(usual)"), "no lease time"),
        Quirk(
            "a lease time of two bytes", options("('server_id', '10.7.0.66'), (51, b'xx'), \(usual)"),
            "no lease time"),
        Quirk("a lease of 0 s", "lease=0", "below 10 s: 0 s"),
        Quirk("a lease for ever", "lease=0xffffffff", "above 604800 s"),
        Quirk("no server identifier", options("('lease_time', 60), \(usual)"), "no server identifier"),
        Quirk("the server identifier 0.0.0.0", "server='0.0.0.0'", "no server identifier"),
        Quirk("two server identifiers", "more=[(54, bytes([9, 9, 9, 9]))]", "option 54 comes more than once"),
        Quirk("two masks", "more=[(1, bytes([255, 0, 0, 0]))]", "option 1 comes more than once"),
        Quirk("two lease times", "more=[(51, bytes([0, 0, 0, 60]))]", "option 51 comes more than once"),
        Quirk("two message types", "more=[(53, b'\\x06')]", nil),
        Quirk("no mask", options("('server_id', '10.7.0.66'), ('lease_time', 60), ('router', '10.7.0.1')"), nil),
        Quirk(
            "a mask of two bytes", options("('server_id', '10.7.0.66'), ('lease_time', 60), (1, b'xx')"),
            "option 1 is malformed"),
        Quirk("no router", options("('server_id', '10.7.0.66'), ('lease_time', 60), \(mask)"), nil),
        Quirk(
            "an empty router option", options("('server_id', '10.7.0.66'), ('lease_time', 60), (3, b''), \(mask)"),
            "option 3 is malformed"),
        Quirk("the router 0.0.0.0", "router='0.0.0.0'", "option 3: no host can have the address 0.0.0.0"),
        Quirk("a router outside the subnet", "router='10.9.9.9'", nil),
        Quirk("the device as router", "router='10.7.0.99'", nil),
        Quirk("option 121 without a default route", "more=[(121, bytes([16, 10, 8, 10, 7, 0, 2]))]", nil),
        Quirk(
            "an on-link route in option 121", "more=[(121, bytes([32, 10, 9, 9, 9, 0, 0, 0, 0, 0, 10, 9, 9, 9]))]",
            nil),
        Quirk("a hardware address of 255 bytes", "fields=dict(hlen=255)", nil),
        Quirk("another hardware type than Ethernet", "fields=dict(htype=6)", nil),
        Quirk("an unknown value of option 52 (overload)", "more=[(52, b'\\x07')]", nil),
        Quirk("an MTU of 576", "more=[(26, bytes([2, 64]))]", "MTU below"),
        Quirk(
            "T1 after T2", "more=[(58, bytes([0, 0, 12, 0])), (59, bytes([0, 0, 1, 0]))]",
            "renewal and rebinding times"),
        Quirk("a name server that is not a host", "more=[(6, bytes(4))]", "option 6: no host"),
        Quirk("the server's port 1067 instead of 67", "port=1067", nil),
    ]

    private static let mask = "('subnet_mask', '255.255.255.0')"
    private static let usual = "\(mask), ('router', '10.7.0.1')"

    private static func options(_ list: String) -> String {
        "raw=[('message-type', 2 if asks == 1 else 5), \(list), 'end']"
    }

    /// Makes the server of `HostileServer(quirkyIn:)` give this answer from now on.
    @AgentLoop func play(in network: AddressNetwork) async throws {
        try await network.other.run(
            """
            cat > \(network.folder)/quirk <<'PYTHON'
            answer(2 if asks == 1 else 5, \(arguments))
            PYTHON
            """)
    }
}

extension HostileServer {
    /// Plays the first of ``Quirk/all``, until another is played.
    convenience init(quirkyIn network: AddressNetwork) async throws {
        try await Quirk.all[0].play(in: network)
        try await self.init(in: network, lies: "packets = [eval(open('\(network.folder)/quirk').read().strip())]")
    }
}
