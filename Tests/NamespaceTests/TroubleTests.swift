import AgentModel
import ConnectivitySupport
import Testing

@testable import Connectivity

/// Everything that befalls servers, befalling one of each kind: mosquitto and nginx, each with and without TLS, behind
/// a router.
@Suite(
    .enabled(if: Server.areInstalled && TestNetwork.isPossible, "root, mosquitto, nginx, nft and openssl are needed"),
    .timeLimit(.minutes(5)))
struct TroubleTests {
    private let authority: Authority
    /// Vouches for names that are not its own.
    private let stranger: Authority

    init() throws {
        authority = try Authority()
        stranger = try Authority()
    }

    /// A server with a network of its own.
    private struct Bench: Sendable {
        let network: TestNetwork
        let server: Program
        let watch: Watch

        init(_ scheme: String, vouchedForBy authority: Authority) throws {
            network = try TestNetwork()
            let isTLS = ["mqtts", "https", "tls"].contains(scheme)
            let certificate = isTLS ? try authority.certify("DNS:server.example,IP:10.8.0.1") : nil
            server =
                ["http", "https", "tls"].contains(scheme)
                ? try Server.nginx(at: "10.8.0.1", port: 1000, certificate: certificate, through: network.serverSide)
                : try Server.mosquitto(
                    at: "10.8.0.1", port: 1000, certificate: certificate, through: network.serverSide)
            watch = try Watch(
                "a=\(scheme)://10.8.0.1:1000", trust: try TargetTrust(authorities: authority.path), on: network.group)
        }

        func start() async throws {
            try server.start()
            watch.connection.start(through: InterfaceNetwork(interface: "wlan0", on: network.group))
            try await watch.becomes(.ready)
        }
    }

    /// Of each kind one at the same time, for most of it is waiting.
    private func ofEach(_ schemes: [String], _ test: @escaping @Sendable (Bench) async throws -> Void) async throws {
        let benches = try schemes.map { ($0, try Bench($0, vouchedForBy: authority)) }
        await withTaskGroup(of: Void.self) { group in
            for (scheme, bench) in benches {
                group.addTask {
                    do {
                        try await bench.start()
                        try await test(bench)
                    } catch {
                        Issue.record(error, "\(scheme): \(bench.watch.connection.status)")
                    }
                }
            }
        }
    }

    @Test func aKilledOrFirewalledServerIsMissedAndComesBack() async throws {
        try await ofEach(["tcp", "mqtt", "mqtts", "http", "https", "tls"]) { bench in
            let watch = bench.watch
            bench.server.kill()
            try await watch.becomes(.failed(.connectionRefused))
            try bench.server.start()
            try await watch.becomes(.ready)

            // The connection falls silent, and new ones are silent too, or refused.
            let rules: [(String, ReachProblem)] = [
                ("drop", .timedOut), ("reject", .connectionRefused),
                ("meta l4proto tcp reject with tcp reset", .connectionRefused),
            ]
            for (rule, problem) in rules {
                try bench.network.firewall(rule)
                try await watch.becomes(.failed(problem))
                // The rate of rejections is limited.
                #expect(await watch.connection.probe(within: .milliseconds(500)) != nil)
                try bench.network.takeFirewallDown()
                try await watch.becomes(.ready)
            }
        }
    }

    @Test func aFrozenServerIsMissedUntilItThaws() async throws {
        try await ofEach(["mqtt", "mqtts", "http", "https"]) { bench in
            bench.server.freeze()
            try await bench.watch.becomes(.failed(.timedOut))
            bench.server.thaw()
            try await bench.watch.becomes(.ready)
        }
    }

    /// The documentation says so: their kernel answers in their place.
    @Test(arguments: ["tcp", "tls"])
    func aFrozenServerWithoutAProtocolIsNotMissed(scheme: String) async throws {
        let bench = try Bench(scheme, vouchedForBy: authority)
        try await bench.start()
        bench.server.freeze()
        let asked = await bench.watch.connection.probe(within: .seconds(1), freshness: .seconds(-1))
        #expect(asked == (scheme == "tls" ? .timedOut : nil), "it has to agree upon keys anew")
        #expect(bench.watch.connection.status.isOnline)
        #expect(bench.watch.changes.unread.isEmpty)
    }

    // MARK: Names

    /// A server at an address of the internet, whose name a name server of the network knows.
    private struct NamedBench {
        let network: TestNetwork
        let names: AnsweringNameServer
        let server: Program
        let portal: Program
        let watch: Watch

        init(_ scheme: String, vouchedForBy authority: Authority, and stranger: Authority) async throws {
            network = try TestNetwork()
            // A machine that is busy with other things gets keys agreed upon in that time, too.
            var patient = Watch.brisk
            patient.limit = .seconds(5)
            names = try await AnsweringNameServer(on: network.routerGroup)
            let certificate = scheme == "http" ? nil : try authority.certify("DNS:server.example")
            server = try Server.nginx(
                at: "203.0.113.1", port: 1000, certificate: certificate, through: network.serverSide)
            try server.start()
            // At the gateway's own address.
            portal = try Server.nginx(
                at: "10.9.0.1", port: 1000,
                certificate: scheme == "http" ? nil : try stranger.certify("DNS:server.example"),
                answer: "return 302 http://portal.example/", through: network.serverSide)
            try portal.start()
            watch = try Watch(
                "a=\(scheme)://server.example:1000", trust: try TargetTrust(authorities: authority.path),
                reconnection: patient, on: network.group)
            watch.connection.start(
                through: InterfaceNetwork(interface: "wlan0", on: network.group, asking: [("10.9.0.1", 53)]))
        }
    }

    @Test(arguments: ["http", "https", "tls"])
    func whatIsSaidOfItsNameMayBeWrong(scheme: String) async throws {
        let bench = try await NamedBench(scheme, vouchedForBy: authority, and: stranger)
        let watch = bench.watch
        let troubles: [(AnsweringNameServer.Manner, ReachProblem)] = [
            (.silent, .nameServerSilent), (.code(2), .nameServerFailed), (.code(3), .nameUnknown),
            (.address([10, 9, 0, 1]), scheme == "http" ? .unexpectedAnswer : .tlsFailed),
            // The device itself, which is never asked.
            (.address([127, 0, 0, 1]), .unreachable),
        ]
        for (manner, problem) in troubles {
            bench.names.answers(manner)
            do {
                try await watch.becomes(.waiting(problem))
            } catch {
                Issue.record(error, "\(manner): \(watch.connection.status)")
            }
        }
        #expect(!watch.connection.status.isFar)
        bench.names.answers(.address([203, 0, 113, 1]))
        try await watch.becomes(.ready)
        #expect(watch.connection.status.isFar)
    }

    /// Without a protocol any server counts; that it was not in the internet is known.
    @Test func aTargetWithoutAProtocolIsReadyAnywhereAndFarInTheInternetOnly() async throws {
        let bench = try await NamedBench("http", vouchedForBy: authority, and: authority)
        let watch = try Watch("a=10.9.0.1:1000", on: bench.network.group)
        watch.connection.start(through: InterfaceNetwork(interface: "wlan0", on: bench.network.group))
        try await watch.becomes(.ready)
        #expect(!watch.connection.status.isFar)
        let far = try Watch("a=203.0.113.1:1000", on: bench.network.group)
        far.connection.start(through: InterfaceNetwork(interface: "wlan0", on: bench.network.group))
        try await far.becomes(.ready)
        #expect(far.connection.status.isFar)
    }
}
