import AgentModel
import DHCP
import Glibc
import Linux
import PipedPrograms
import Testing

@testable import Agent

@Suite struct ResolverRequestTests {
    private func text(_ entries: [String: ResolverRequest.Entry]) -> [String] {
        ResolverRequest(entries: entries).text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    private func entry(_ servers: [String], _ domains: [String] = [], carries: Bool = true) -> ResolverRequest.Entry {
        ResolverRequest.Entry(
            nameServers: servers.compactMap { IPAddress($0) }, searchDomains: domains, carriesTraffic: carries)
    }

    @Test func whatCarriesTheTrafficComesFirst() {
        let both = [
            "wlan0": entry(["10.2.0.1"], ["other.example"], carries: false),
            "wlan1": entry(["10.1.0.1", "2001:db8::53", "fe80::1"], ["lan", "home.example"]),
        ]
        #expect(
            text(both) == [
                "altnet-resolver 1",
                "interface wlan1", "carries", "server 10.1.0.1", "server 2001:db8::53", "server fe80::1", "domain lan",
                "domain home.example",
                "interface wlan0", "server 10.2.0.1",
                "end", "",
            ])
        #expect(text([:]) == ["altnet-resolver 1", "end", ""])
    }

    /// All or nothing is carried out, so what the helper would refuse is not asked of it.
    @Test func leavesOutWhatTheHelperRefuses() {
        let servers = ["0.0.0.0", "0.1.2.3", "127.0.0.53", "::", "::1", "224.0.0.251", "255.255.255.255", "ff02::fb"]
        let domains = [
            "", ".", "a..b", "-a", "a.-b", "two words", "a\nserver 192.0.2.1", "$(reboot)", "h\u{f6}me", "~.",
            String(repeating: "x", count: 64), Array(repeating: "abc", count: 64).joined(separator: "."),
        ]
        #expect(
            text(["wlan0": entry(servers + ["192.0.2.1", "192.0.2.1"], domains + ["lan", "lan", "_a-1.lan"])]) == [
                "altnet-resolver 1", "interface wlan0", "carries", "server 192.0.2.1", "domain lan", "domain _a-1.lan",
                "end", "",
            ])
        #expect(text(["wlan 0": entry(["192.0.2.1"]), "../x": entry(["192.0.2.1"])]) == text([:]))
    }

    @Test func isBounded() {
        let servers = (1...200).map { "192.0.2.\($0)" }
        let domains = (1...200).map { "d\($0).example" }
        let lines = text(["wlan0": entry(servers, domains)])
        #expect(lines.count { $0.hasPrefix("server ") } == 8)
        #expect(lines.count { $0.hasPrefix("domain ") } == 6)
    }

    /// The helper of board/systemd takes what is asked, at its bounds too.
    @Test(.enabled(if: access("/usr/bin/flock", X_OK) == 0, "needs flock(1)")) func isWhatTheHelperTakes() async throws
    {
        let folder = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let longest = Array(repeating: String(repeating: "x", count: 63), count: 4).joined(separator: ".").prefix(253)
        let request = ResolverRequest(entries: [
            "wlan0": entry(
                ["192.0.2.1", "2001:db8::1", "fe80::1", "64:ff9b::", "1:2:3:4:5:6:7:8", "10.0.0.1", "::2", "a::"],
                (1...6).map { "\($0)" + longest.dropFirst() }),
            "wlan1": entry((1...9).map { "192.0.2.\($0)" }, ["lan"], carries: false),
        ])
        let script = """
            cd "$(mktemp -d)" && mkdir -p etc run/altnet-interface && echo wlan0 wlan1 >run/altnet-interface/interfaces
            printf %s '\(request.text)' \
                | ALTNET_ROOT=$PWD ALTNET_SYSTEMCTL=false PATH=/usr/bin:/bin sh \(folder)/board/systemd/altnet-resolver
            grep -c nameserver etc/resolv.conf; rm -r "$PWD"
            """
        let (status, output) = try PipedProgram.run("sh", ["-c", script])
        let said = String(decoding: output, as: UTF8.self)
        #expect(status == 0 && said.hasPrefix("ok ") && said.hasSuffix("\n16\n"), "\(said)")
    }

    @Test func readsTheAnswer() {
        #expect(ResolverFailure.read("ok systemd-resolved\n".utf8) == .success("systemd-resolved"))
        #expect(ResolverFailure.read("refused no\nok file\n".utf8) == .failure(ResolverFailure(reason: "no")))
        for answer in ["", "\n", "ok", "OK file\n"] {
            guard case .failure = ResolverFailure.read(answer.utf8) else {
                Issue.record("\(answer) is no answer")
                continue
            }
        }
    }
}

/// The helper is a server in the test, which answers what it is told to.
@AgentLoop @Suite(.timeLimit(.minutes(10))) struct SystemResolverTests {
    /// Listens, and answers each question in turn.
    @AgentLoop private final class Helper {
        private let descriptor: Int32
        private var watch: ReadWatch?
        private var waiting: [CheckedContinuation<Void, Never>] = []
        private(set) var questions: [String] = []
        var answer = "ok here\n"

        init(_ path: String) {
            descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    #expect(bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0)
                }
            }
            #expect(listen(descriptor, 4) == 0)
            watch = ReadWatch(fileDescriptor: descriptor) { [weak self] in self?.serve() }
        }

        /// The whole question is there: it comes with the connection.
        private func serve() {
            let connection = accept(descriptor, nil, nil)
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = recv(connection, &bytes, bytes.count, 0)
            questions.append(String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self))
            send(connection, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
            Glibc.close(connection)
            waiting.forEach { $0.resume() }
            waiting = []
        }

        func untilAsked(times: Int) async {
            while questions.count < times { await withCheckedContinuation { waiting.append($0) } }
        }

        func close() {
            let descriptor = descriptor
            watch?.cancel { Glibc.close(descriptor) }
        }
    }

    /// The log, whose next line can be waited for.
    @AgentLoop private final class Log {
        private(set) var lines: [String] = []
        private var waiting: [CheckedContinuation<Void, Never>] = []

        func add(_ line: String) {
            lines.append(line)
            waiting.forEach { $0.resume() }
            waiting = []
        }

        func until(lines count: Int) async {
            while lines.count < count { await withCheckedContinuation { waiting.append($0) } }
        }
    }

    private func address(_ text: String) throws -> IPAddress { try #require(IPAddress(text)) }

    // covers: seed/no-resolved
    @Test func aBurstIsOneQuestionAndWhatIsTheSameNone() async throws {
        try await inFolder { folder in
            let (helper, log) = (Helper(folder + "/socket"), Log())
            let resolver = SystemResolver(socket: folder + "/socket") { log.add($1) }
            let server = try address("192.0.2.1")
            for domain in ["a", "b", "lan"] {
                resolver.set(interface: "wlan0", nameServers: [server], searchDomains: [domain], carriesTraffic: true)
            }
            await log.until(lines: 1)
            #expect(
                helper.questions == [
                    "altnet-resolver 1\ninterface wlan0\ncarries\nserver 192.0.2.1\ndomain lan\nend\n"
                ])
            resolver.set(interface: "wlan0", nameServers: [server], searchDomains: ["lan"], carriesTraffic: true)
            resolver.clear(interface: "wlan1")
            resolver.clear(interface: "wlan0")
            await helper.untilAsked(times: 2)
            #expect(helper.questions.last == "altnet-resolver 1\nend\n")
            #expect(log.lines.count == 1 && log.lines[0].hasSuffix(" here"))
            helper.close()
        }
    }

    @Test func aHelperThatIsNotThereIsTriedAgainAndToldOnce() async throws {
        try await inFolder { folder in
            let server = try address("192.0.2.1")
            await ManualClock().run { clock in
                let log = Log()
                let resolver = SystemResolver(socket: folder + "/socket") { log.add($1) }
                resolver.set(interface: "wlan0", nameServers: [server], searchDomains: [], carriesTraffic: true)
                clock.advance(by: .zero)
                for pause in [1, 2, 4, 8, 16, 32, 64, 64] {
                    await clock.untilTimer(of: .seconds(pause))
                    clock.advance(by: .seconds(pause))
                }
                #expect(log.lines.count == 1 && log.lines[0].contains("systemctl start altnet-resolver.socket"))
                let helper = Helper(folder + "/socket")
                clock.advance(by: .seconds(64))
                await log.until(lines: 2)
                #expect(log.lines[1].hasSuffix(" here") && helper.questions.count == 1)
                helper.close()
            }
        }
    }

    @Test(arguments: ["refused no\n", "", "rubbish\u{1b}[2J\n"])
    func aRefusalIsToldOnceAndTriedAgain(answer: String) async throws {
        try await inFolder { folder in
            let server = try address("192.0.2.1")
            await ManualClock().run { clock in
                let (helper, log) = (Helper(folder + "/socket"), Log())
                helper.answer = answer
                let resolver = SystemResolver(socket: folder + "/socket") { log.add($1) }
                resolver.set(interface: "wlan0", nameServers: [server], searchDomains: [], carriesTraffic: true)
                clock.advance(by: .zero)
                await clock.untilTimer(of: .seconds(1))
                clock.advance(by: .seconds(1))
                await clock.untilTimer(of: .seconds(2))
                #expect(helper.questions.count == 2 && log.lines.count == 1)
                #expect(!log.lines[0].contains("\u{1b}"))
                // What changed is asked at once.
                helper.answer = "ok file\n"
                resolver.set(interface: "wlan0", nameServers: [server], searchDomains: ["lan"], carriesTraffic: true)
                clock.advance(by: .zero)
                await log.until(lines: 2)
                #expect(helper.questions.count == 3 && log.lines[1].hasSuffix(" file"))
                helper.close()
            }
        }
    }
}

@Suite struct AddressSettingsTests {
    @Test func anIdentifierOfTheDeviceStaysWithIt() throws {
        let identity = try #require(DHCPIdentity("duid"))
        let identifier = identity.identifier(deviceId: "SN1", interface: "wlan0")
        #expect(identifier == identity.identifier(deviceId: "SN1", interface: "wlan0"))
        #expect(identifier != identity.identifier(deviceId: "SN2", interface: "wlan0"))
        #expect(identifier != identity.identifier(deviceId: "SN1", interface: "wlan1"))
        #expect(identifier != .hardware)
    }

    @Test(arguments: ["", "Hardware", "text:", "text:" + String(repeating: "x", count: 255), "01:02:03"])
    func anIdentifierIsOneOfThree(text: String) {
        #expect(throws: InvalidSettings.self) { try AgentSettings(environment: ["ALTNET_DHCP_CLIENT_ID": text]) }
    }

    @Test(arguments: ["-a", "a b", "a_b", "a.", String(repeating: "x", count: 64)])
    func aHostNameIsOne(text: String) {
        #expect(throws: InvalidSettings.self) { try AgentSettings(environment: ["ALTNET_DHCP_HOST_NAME": text]) }
    }

    @Test func allOfThemCount() throws {
        let settings = try AgentSettings(environment: [
            "ALTNET_ADDRESS_CLIENT": "other", "ALTNET_RESOLVER": "file", "ALTNET_ROUTE_METRIC": "100",
            "ALTNET_DHCP_CLIENT_ID": "text:pump", "ALTNET_DHCP_HOST_NAME": "pump-7", "ALTNET_DHCP_ANONYMOUS": "yes",
        ])
        #expect(settings.addressClient == .other && settings.resolver == .file)
        #expect(settings.routeMetric == 100 && settings.spareRouteMetric == 110)
        #expect(
            settings.dhcp(deviceId: "SN1", interface: "wlan0")
                == DHCPSettings(
                    identifier: try #require(.text("pump")), hostName: HostName("pump-7"), isAnonymous: true))
        let standard = try AgentSettings(environment: [:])
        #expect(standard.addressClient == .altnet && standard.resolver == .auto && standard.routeMetric == 600)
        #expect(standard.dhcp(deviceId: "SN1", interface: "wlan0") == DHCPSettings())
    }
}
