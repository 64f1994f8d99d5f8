import AddressIO
import AgentModel
import DHCP
import Linux
import NetworkNamespaces
import Testing

/// A real host sends the lies of Docs/contributor/address.md: each is reported in one line, no address is taken that is
/// in use, an address in use stays, and a sound server that answers later wins.
@Suite(
    .timeLimit(.minutes(3)), .serialized,
    .enabled(if: AddressNetwork.isPossible, "needs root, dnsmasq and nft, to make networks with a server"),
    .enabled(if: HostileServer.isInstalled, "needs python3-scapy"))
@AgentLoop struct HostileServerTests {
    /// A server's lie, and the device's expected report of it.
    struct Lie: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Of Python; see ``HostileServer``.
        let lies: String
        /// Part of the one line; nil for what is not worth a line.
        let line: String?

        init(_ name: String, _ lies: String, _ line: String?) {
            (testDescription, self.lies, self.line) = (name, lies, line)
        }

        /// Where the device looks for an address.
        static let offers = [
            Lie("the address 0.0.0.0", offer("address='0.0.0.0'"), "address 0.0.0.0"),
            Lie("a multicast address", offer("address='224.0.0.5'"), "224.0.0.5"),
            Lie("a mask with gaps", offer("mask='255.0.255.0'"), "not a contiguous netmask"),
            Lie("no server", offer("server='0.0.0.0', source='0.0.0.0'"), "not a server's address"),
            Lie("another's transaction", offer("xid=1"), "unknown transaction ID"),
            Lie(
                "another client's identifier", offer("more=[('client_id', b'\\x00other')]"),
                "another client"),
            Lie(
                "options in options",
                offer(
                    "more=[(52, b'\\x03')], fields=dict(sname=b'\\x34\\x01\\x03' * 20 + b'\\x33\\x09', file=b'\\x34\\x01\\x03' * 40 + b'\\x33\\x09')"
                ),
                "option 51 is cut off"),
            Lie(
                "no end of options",
                offer("raw=options(2)[:-1] + [(n % 254 + 1, b'x' * 9) for n in range(100)] + [(7, b'x')]")
                    + "\npackets = [cut(p) for p in packets]", "is cut off"),
            Lie(
                "offers from a hundred servers",
                "if asks == 1: packets = [answer(2, server=f'10.7.0.{n}', mask='255.0.255.0') for n in range(100, 200)]",
                "not a contiguous netmask"),
            Lie("a bad checksum", offer("checksum=0x1234"), "badChecksum"),
            Lie(
                "fragments",
                offer("more=[(43, b'x' * 200)]") + "\npackets = [f for p in packets for f in fragment(p, 200)]", nil),
            Lie(
                "64 kB in fragments",
                offer("more=[(n % 254 + 1, b'') for n in range(30000)]")
                    + "\npackets = [f for p in packets for f in fragment(p, 1400)]", nil),
            Lie(
                "another server's answer",
                "if asks == 1: packets = [answer(2)]\nif asks == 3: packets = [answer(5, server='10.7.0.67')]",
                "answer of another server"),
            Lie(
                "a NAK to each request", "packets = [answer(2)] if asks == 1 else [answer(6, address='0.0.0.0')] * 20",
                "address is refused"),
            Lie(
                "another address than offered",
                "packets = [answer(2)] if asks == 1 else [answer(5, address='10.7.0.98')]",
                "another address"),
            Lie(
                "a good offer and a bad answer",
                "packets = [answer(2)] if asks == 1 else [answer(5, mask='255.0.255.0')]", "not a contiguous netmask"),
            Lie(
                "an address in use", "packets = [answer(2 if asks == 1 else 5, address='10.7.0.77')]",
                "by 02:00:00:00:00:01"),
            Lie(
                "rapid commit with a bad mask",
                "if asks == 1: packets = [answer(5, mask='255.0.255.0', more=[(80, b'')])]", "not a contiguous netmask"),
        ]

        private static func offer(_ arguments: String) -> String { "if asks == 1: packets = [answer(2, \(arguments))]" }

        /// Where an address in use is confirmed; a sound server answers a moment later.
        static let answers = [
            Lie("a storm of NAKs", "packets = [answer(6, address='0.0.0.0')] * 50", "refusal of another server"),
            Lie(
                "NAKs of a hundred servers",
                "packets = (answer(6, address='0.0.0.0', server=f'10.7.0.{n}') for n in range(100, 200))",
                "refusal of another server"),
            Lie("another address", "packets = [answer(5)]", "another address"),
            Lie(
                "a mask with gaps", "packets = [answer(5, address=wanted, mask='255.0.255.0')]",
                "not a contiguous netmask"),
            Lie(
                "another's transaction", "packets = [answer(5, address=wanted, xid=1)]", "unknown transaction ID"
            ),
            Lie("FORCERENEW", "packets = [answer(9, address='0.0.0.0')]", "ignoring FORCERENEW"),
            Lie("a bad checksum", "packets = [answer(6, checksum=0x1234)]", "badChecksum"),
            Lie("no kind", "packets = [answer(6, raw=[('server_id', '10.7.0.66'), 'end'])]", "no message type"),
        ]
    }

    @Test(arguments: Lie.offers) func aSoundServerWinsOver(lie: Lie) async throws {
        let network = try await AddressNetwork()
        try await network.router.run("ip address add 10.7.0.77/24 dev br0")
        let hostile = try await HostileServer(in: network, lies: lie.lies)
        let runner = try network.runner()
        runner.linkUp(hardware: AddressNetwork.hardware)
        if let line = lie.line { try await network.problem(line) }
        #expect(runner.lease == nil)
        try await network.start(.dnsmasq)
        #expect(try await network.lease().server == IPv4Address("10.7.0.1"))
        try await network.ping()
        // The lies go on while the sound server answers, and each kind of them is one line.
        let problems = network.problems
        let reports = lie.line.map { line in problems.count { $0.contains(line) } }
        #expect(reports ?? 1 == 1 && Set(problems).count == problems.count, "\(problems)")
        if lie.line == nil { #expect(problems.allSatisfy { $0.hasSuffix("no server answers") }) }
        #expect(network.journal.events.allSatisfy { if case .dropped = $0 { false } else { true } })
        try network.device.runBlocking("! ip -4 address show | grep -e 10.7.0.77 -e 10.7.0.9")
        try await hostile.end()
        try await network.end()
    }

    @Test(arguments: Lie.answers) func anAddressInUseOutlives(lie: Lie) async throws {
        let network = try await AddressNetwork()
        try await network.start(.dnsmasq)
        let runner = try network.runner()
        runner.linkUp(hardware: AddressNetwork.hardware)
        let lease = try await network.fullLease()
        let hostile = try await HostileServer(in: network, lies: lie.lies)
        // The sound server hears nothing until the lie has been sent.
        try await network.hears(false)
        runner.roamed()
        try await hostile.hasAnswered()
        try await network.hears(true)
        try await network.problem(try #require(lie.line))
        #expect(try await network.lease().address == lease.address)
        #expect(network.problems.count == 1, "\(network.problems)")
        #expect(network.journal.events.allSatisfy { if case .dropped = $0 { false } else { true } })
        try await network.ping()
        try await hostile.end()
        try await network.end()
    }

    /// It is used like one of a week.
    @Test func aLeaseForEverEnds() async throws {
        let network = try await AddressNetwork()
        let hostile = try await HostileServer(
            in: network, lies: "packets = [answer(2 if asks == 1 else 5, lease=0xffffffff)]")
        let runner = try network.runner()
        runner.linkUp(hardware: AddressNetwork.hardware)
        let lease = try await network.lease()
        #expect(lease.expiry <= .now + .seconds(7 * 86_400))
        try await network.problem("604800 s")
        try network.device.runBlocking("ip -4 address show dev wlan0 | grep 'valid_lft 604[78]..sec'")
        try await hostile.end()
        try await network.end()
    }

    /// A gateway that stands for every host (proxy ARP).
    @Test func aHostThatAnswersForAllIsNotBelieved() async throws {
        let network = try await AddressNetwork()
        try await network.start(.dnsmasq)
        let hostile = try await HostileServer(in: network, answersARP: true)
        let runner = try network.runner()
        runner.linkUp(hardware: AddressNetwork.hardware)
        try await network.problem("every address: \(AddressNetwork.otherHardware)")
        if runner.lease == nil { _ = try await network.lease() }
        #expect(network.problems.count == 1 && runner.lease?.address == IPv4Address("10.7.0.50"))
        try await hostile.end()
        try await network.end()
    }

    /// Two routers in one network by mistake: the other one gives addresses of a network of its own, and refuses all others.
    @Test func aSecondRouterBesideTheSoundOne() async throws {
        let network = try await AddressNetwork()
        try await network.start(.dnsmasq)
        let runner = try network.runner()
        runner.linkUp(hardware: AddressNetwork.hardware)
        let lease = try await network.fullLease()
        try await network.startSecondRouter()
        runner.linkDown()
        // It is quicker.
        try await network.loseFirstQuestion()
        runner.linkUp(hardware: AddressNetwork.hardware, remembered: lease)
        let report = try await network.journal.next {
            if case .inUse(_, isConfirmed: true) = $0 { true } else { false }
        }
        guard case .inUse(let confirmed, _) = report else { return }
        #expect(confirmed.address == lease.address && confirmed.server == lease.server)
        // Told where the refusal comes before the sound server's word.
        let problems = network.problems
        #expect(problems.allSatisfy { $0.contains("10.66.0.1") } && problems.count <= 1, "\(problems)")
        runner.roamed()
        #expect(try await network.lease().address == lease.address)
        try await network.ping()
        try await network.end()
    }
}
