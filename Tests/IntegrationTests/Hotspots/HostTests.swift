import AgentModel
import AppProtocol
import Foundation
import Testing

@testable import Hotspots

/// Real providers behind a real host. Needs root, whose the directory has to be.
@Suite(.enabled(if: geteuid() == 0, "needs root"), .serialized, .timeLimit(.minutes(4))) struct HostTests {
    /// Answers hello, then what stands in `answers`, one line each.
    private static func script(_ answers: String...) -> String {
        "read l; echo '{\"v\":1,\"id\":\"1\",\"ok\":true}'\n"
            + answers.enumerated().map { number, body in
                "read l; echo '{\"v\":1,\"id\":\"\(number + 2)\",\"ok\":true,\"body\":\(body)}'"
            }.joined(separator: "\n")
    }

    /// By the request's type.
    private static let good = """
        while read l; do
            id=${l#*'"id":"'}; id=${id%%'"'*}
            case $l in
                *'"type":"evaluate"'*) b='{"confidence":"high"}';;
                *'"type":"authenticate"'*) b='{"result":"success","session":"abc"}';;
                *'"type":"maintain"'*'"session":"abc"'*|*'"session":"abc"'*'"type":"maintain"'*)
                    b='{"result":"success"}'; echo yes >${0%/d/*}/out/maintained;;
                *'"type":"filterScanList"'*) b='{"bssids":["02:00:00:00:00:01","02:00:00:00:00:09"]}';;
                *) b='{}';;
            esac
            echo '{"v":1,"id":"'$id'","ok":true,"body":'$b'}'
        done
        """

    private static let name = HostBench.name

    // covers: seed/provider-evaluate
    @Test func signsInAmongBadOnes() async throws {
        var settings = HostBench.patient
        // For the good one, too.
        settings.evaluateLimit = .seconds(10)
        let bench = try await HostBench(
            [
                "crash": "read l; kill -SEGV $$", "exit": "exit 0", "garbage": "echo hello; sleep 1000",
                "flood": "while :; do echo '{\"v\":1,\"id\":\"1\",\"ok\":true}'; done",
                "hang": "sleep 1000 & sleep 1000",
                "huge": "tr '\\0' x </dev/zero", "good": Self.good,
            ], settings: settings)
        let before = Self.residentKiB
        bench.hotspots.captiveFound(HostBench.cafe, name: Self.name)
        let status = await bench.status { $0.portal.state == .authenticated }
        #expect(status?.portal.provider == "good")
        bench.hotspots.onlineFound(HostBench.cafe, name: Self.name)
        try await bench.settled()
        // A provider that writes without an end has written gigabytes in these seconds: the agent kept none of them.
        #expect(Self.residentKiB - before < 200_000)
        try await bench.end()
    }

    /// Of this process, which is the agent here.
    private static var residentKiB: Int {
        let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        return text.firstMatch(of: /VmRSS:\s+(\d+)/).flatMap { Int($0.1) } ?? 0
    }

    @Test func aProviderThatHangsInTheSignInIsFollowedByTheNext() async throws {
        var settings = HostBench.patient
        // For the good one, too.
        settings.authenticateLimit = .seconds(5)
        let bench = try await HostBench(
            ["a-hang": Self.script(#"{"confidence":"high"}"#) + "\nread l; sleep 1000", "good": Self.good],
            settings: settings)
        bench.hotspots.captiveFound(HostBench.cafe, name: Self.name)
        #expect(await bench.status { $0.portal.provider == "a-hang" } != nil)
        let status = await bench.status { $0.portal.state == .authenticated }
        #expect(status?.portal.provider == "good")
        #expect(status?.problem?.hasPrefix("a-hang: ") == true)
        try await bench.settled()
        try await bench.end()
    }

    // covers: seed/provider-maintain
    @Test func maintainsWithWhatTheProviderKept() async throws {
        var settings = HostBench.patient
        settings.maintainInterval = .milliseconds(100)
        let bench = try await HostBench(["good": Self.good], settings: settings)
        bench.hotspots.captiveFound(HostBench.cafe, name: Self.name)
        #expect(await bench.status { $0.portal.state == .authenticated } != nil)
        bench.hotspots.onlineFound(HostBench.cafe, name: Self.name)
        let status = await bench.status { $0.portal.state == .maintaining }
        #expect(status?.problem == nil)
        #expect(try await bench.line(of: "maintained") == "yes")
        await bench.hotspots.logOff()
        #expect(bench.hotspots.status.portal.state == .inactive)
        try await bench.end()
    }

    @Test func aPersonsAnswerReachesTheProvider() async throws {
        let bench = try await HostBench([
            "ask": """
            read l; echo '{"v":1,"id":"1","ok":true}'
            read l
            case $l in *evaluate*) echo '{"v":1,"id":"2","ok":true,"body":{"confidence":"low"}}'; exit;; esac
            echo '{"v":1,"id":"2","ok":true,"body":{"result":"uiRequired","title":"t","message":"m","fields":[{"name":"c","label":"C","kind":"password","required":true}]}}'
            read l
            case $l in
                *'"values":{"c":"sesame"}'*) echo '{"v":1,"id":"3","ok":true,"body":{"result":"success"}}';;
                *) echo '{"v":1,"id":"3","ok":true,"body":{"result":"failure","reason":"no"}}';;
            esac
            """
        ])
        bench.hotspots.captiveFound(HostBench.cafe, name: Self.name)
        let status = await bench.status { $0.request != nil }
        let request = try #require(status?.request)
        #expect(throws: PortalAnswerRefusal.notAsked) {
            try bench.hotspots.answer(PortalAnswer(id: request.id &+ 1, values: [:]))
        }
        #expect(throws: PortalAnswerRefusal.missingField("c")) {
            try bench.hotspots.answer(PortalAnswer(id: request.id, values: [:]))
        }
        try bench.hotspots.answer(PortalAnswer(id: request.id, values: ["c": Secret(text: "sesame")]))
        #expect(await bench.status { $0.portal.state == .authenticated } != nil)
        try await bench.end()
    }

    // covers: seed/provider-ui
    @Test func aProviderPresentsAPage() async throws {
        let bench = try await HostBench([
            "page": Self.script(
                #"{"confidence":"high","result":"uiRequired"}"#,
                #"{"title":"t","message":"m","url":"https://portal.example/"}"#, #"{"result":"success"}"#)
        ])
        bench.hotspots.captiveFound(HostBench.cafe, name: Self.name)
        let request = try #require(await bench.status { $0.request != nil }?.request)
        #expect(request.url == "https://portal.example/" && request.fields.isEmpty)
        // The page has opened the network.
        bench.hotspots.onlineFound(HostBench.cafe, name: Self.name)
        #expect(await bench.status { $0.portal.state == .authenticated }?.portal.provider == "page")
        try await bench.end()
    }

    // covers: seed/provider-filter
    @Test func filtersTheScanList() async throws {
        let bench = try await HostBench(["good": Self.good, "bad": "exit 1"])
        let hotspots = (1...3).compactMap { number in
            BSSID("02:00:00:00:00:0\(number)").map {
                ScannedHotspot(ssid: HostBench.cafe.ssid, bssid: $0, signal: -50, security: .open)
            }
        }
        let found = await bench.hotspots.filter(hotspots)
        // Only what it was asked about.
        #expect(found == [hotspots[0].bssid: ["good"]])
        try await bench.end()
    }

    /// The program has the connection and nothing else, and cannot use more than it may.
    // covers: seed/providers-apart
    @Test func providersAreConfined() async throws {
        let bench = try await HostBench([
            "look": """
            read l; echo '{"v":1,"id":"1","ok":true}'; read l
            f=$(ls /proc/self/fd | tr '\\n' ' '); e=$(env | cut -d= -f1 | sort | tr '\\n' ' ')
            c=$(grep -c 'NoNewPrivs:.1' /proc/self/status); s=$(grep SigBlk /proc/self/status | cut -f2)
            i=$(( 0x$(grep SigIgn /proc/self/status | cut -f2) & ~0x180000000 ))
            case $l in
                *evaluate*) echo '{"v":1,"id":"2","ok":true,"body":{"confidence":"high"}}';;
                *) echo '{"v":1,"id":"2","ok":true,"body":{"result":"failure","reason":"'$f/$e/$c/$s/$i/$(ulimit -v)/$(ulimit -n)/$(ulimit -t)'"}}';;
            esac
            """
        ])
        bench.hotspots.captiveFound(HostBench.cafe, name: Self.name)
        let status = await bench.status { $0.problem != nil }
        // Descriptor 3 is the folder that ls reads. Signals 32 and 33 are the C library's own.
        #expect(
            status?.problem
                == "look: 0 1 2 3 /LANG PATH PWD /1/0000000000000000/0/524288/64/60")
        try await bench.end()
    }

    @Test func aFileThatOthersMayWriteIsNoProvider() async throws {
        let bench = try await HostBench(["a": "x", "b": "x", "c": "x", ".hidden": "x", "no exec": "x"])
        chmod(bench.folder + "/d/b", 0o775)
        chown(bench.folder + "/d/c", 12345, 0)
        let directory = ProviderDirectory(path: bench.folder + "/d")
        #expect(try directory.list().names == ["a"])
        #expect(directory.program("b") == nil)
        #expect(directory.program("../d/a") == nil)
        chmod(bench.folder + "/d", 0o777)
        #expect(throws: ProtocolError.self) { try directory.list() }
        #expect(directory.program("a") == nil)
        try await bench.end()
    }

    @Test func noHostIsNoCrash() async throws {
        let bench = try await HostBench([:])
        try await bench.end()
        bench.hotspots.captiveFound(HostBench.cafe, name: Self.name)
        let status = await bench.status { $0.retryAt != nil }
        #expect(status?.problem?.contains("host") == true)
    }
}
