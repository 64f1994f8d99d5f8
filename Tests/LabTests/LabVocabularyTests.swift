import AgentModel
import FoundationEssentials
import Glibc
import Lab
import Testing

extension Radios {
    /// The words that scenarios are written in mean what they say, on a real kernel with real daemons.
    @Suite struct LabVocabularyTests {
        private let homePassword = NetworkSecurity.wpa2("home-password")
        private let backupPassword = NetworkSecurity.wpa2("backup-password")

        private func join(
            _ accessPoint: AccessPoint, _ security: NetworkSecurity, hidden: Bool = false, _ lab: Lab
        ) async throws {
            try await lab.station.startDHCPClient()
            try await lab.station.startSupplicant(knowing: [
                ConfiguredNetwork(accessPoint.ssid, security: security, hidden: hidden)
            ])
            try await eventually(within: .seconds(30), "the station to join \(accessPoint.ssid)") {
                await lab.station.joined() == accessPoint.bssid
            }
        }

        @Test(.extended) func theSignalAtTheStationIsExact() async throws {
            try await scenario("signal") { lab in
                let home = try await lab.accessPoint("HomeNet", security: homePassword, channel: 1, signal: -47)
                try await home.powerOn()
                try await join(home, homePassword, lab)
                for signal in [-47, -85, -1, -100, -60] {
                    try await home.setSignal(signal)
                    try await eventually(within: .seconds(2), "\(signal) dBm") {
                        try await lab.station.signal() == signal
                    }
                }
                try await home.restart()
                try await eventually(within: .seconds(20), "-60 dBm after a restart") {
                    let joined = await lab.station.joined()
                    let signal = try await lab.station.signal()
                    return joined == home.bssid && signal == -60
                }
            }
        }

        @Test(.extended) func aPowerCutIsNoticedAndTheDataMovesToTheOtherNetwork() async throws {
            try await scenario("power cut", accessPoints: 2) { lab in
                let home = try await lab.accessPoint("HomeNet", security: homePassword, channel: 1)
                let backup = try await lab.accessPoint("BackupNet", security: backupPassword, channel: 6)
                try await home.powerOn()
                try await backup.powerOn()
                let pinger = try await lab.pinger()
                let start = ContinuousClock.now
                try await lab.station.startDHCPClient()
                try await lab.station.startSupplicant(knowing: [
                    ConfiguredNetwork(home.ssid, security: homePassword, priority: 2),
                    ConfiguredNetwork(backup.ssid, security: backupPassword, priority: 1),
                ])
                let first = try await pinger.reply(within: .seconds(30))
                lab.report("wpa_supplicant alone: cold start to first ping", first - start)
                #expect(try await lab.station.network() == home.ssid)
                #expect(try await lab.station.network(behind: home.gateway) == home.ssid)

                let cut = ContinuousClock.now
                try await home.powerOff()
                try await eventually(within: .seconds(10), "the link to be lost") { await lab.station.joined() == nil }
                lab.report("wpa_supplicant alone: power cut to link lost", .now - cut)
                try await eventually(within: .seconds(5), "the address to go") { await lab.station.address == nil }
                try await pinger.silence(of: .milliseconds(500), within: .seconds(5))
                let back = try await pinger.reply(after: cut + .milliseconds(100), within: .seconds(60))
                lab.report("wpa_supplicant alone: power cut to first ping", back - cut)
                #expect(pinger.longestGap(since: cut) > .seconds(1))
                #expect(try await lab.station.network() == backup.ssid)
                #expect(try await lab.station.network(behind: home.gateway, within: .milliseconds(200)) == nil)
            }
        }

        struct Variety: Sendable, CustomTestStringConvertible {
            let testDescription: String
            var ssid: [UInt8] = Array("HomeNet".utf8)
            let security: NetworkSecurity
            var channel = 6
            var hidden = false
        }

        @Test(
            .extended,
            arguments: [
                Variety(
                    testDescription: "open, with an SSID of 32 bytes 0xff", ssid: Array(repeating: 0xff, count: 32),
                    security: .open),
                Variety(testDescription: "WPA3", security: .wpa3("home-password")),
                Variety(
                    testDescription: "transition, with zero bytes in the SSID", ssid: [0, 10, 0],
                    security: .transition("home-password")),
                Variety(testDescription: "WPA2, hidden", security: .wpa2("home-password"), hidden: true),
                Variety(testDescription: "WPA2, on 5 GHz", security: .wpa2("home-password"), channel: 36),
            ].filter { Lab.radioKind.hasSAE || $0.security != .wpa3("home-password") })
        func everyKindOfNetworkIsJoined(_ variety: Variety) async throws {
            try await scenario("join \(variety.testDescription)") { lab in
                let home = try await lab.accessPoint(
                    SSID(bytes: variety.ssid), security: variety.security, channel: variety.channel,
                    hidden: variety.hidden)
                try await home.powerOn()
                try await join(home, variety.security, hidden: variety.hidden, lab)
                try await lab.pinger(to: home.gateway).reply(within: .seconds(10))
                #expect(try await lab.station.network() == home.ssid)
            }
        }

        @Test(.extended) func aFullAccessPointAndAChangedPasswordTurnStationsAway() async throws {
            try await scenario("turned away") { lab in
                let home = try await lab.accessPoint("HomeNet", security: homePassword, channel: 1)
                try await home.limitStations(to: 0)
                try await home.powerOn()
                let log = "\(lab.directory)/wpa_supplicant.log"
                func supplicantSays(_ words: String) -> Bool {
                    (try? String(contentsOfFile: log, encoding: .utf8))?.contains(words) == true
                }
                try await lab.station.startSupplicant(knowing: [ConfiguredNetwork(home.ssid, security: homePassword)])
                try await eventually(within: .seconds(20), "to be told that it is full") {
                    supplicantSays("status_code=17")
                }
                try await home.changePassword("another-password")
                try await home.limitStations(to: 10)
                try await eventually(within: .seconds(60), "a failed handshake") { supplicantSays("reason=WRONG_KEY") }
                #expect(await lab.station.joined() == nil)
            }
        }

        @Test(.extended) func daemonsAreKilledAndComeBack() async throws {
            try await scenario("daemons") { lab in
                let home = try await lab.accessPoint("HomeNet", security: homePassword, channel: 1)
                try await home.dhcp(false)
                try await home.powerOn()
                try await join(home, homePassword, lab)
                #expect(await lab.station.address == nil)
                try await home.dhcp(true)
                try await eventually(within: .seconds(15), "an address") { await lab.station.address != nil }

                await lab.station.killDHCPClient()
                #expect(await lab.station.address != nil)
                try await lab.station.startDHCPClient()
                await lab.station.killSupplicant()
                await #expect(throws: LabError.self) { try await lab.station.ask("PING") }
                try await lab.station.startSupplicant(knowing: [ConfiguredNetwork(home.ssid, security: homePassword)])
                let pinger = try await lab.pinger(to: home.gateway)
                try await pinger.reply(within: .seconds(20))

                try await lab.station.setInterface(up: false)
                try await pinger.silence(of: .milliseconds(300), within: .seconds(5))
                try await lab.station.setInterface(up: true)
                try await pinger.reply(within: .seconds(20))
            }
        }

        @Test(.extended) func aSupplicantToldNotToDecideDoesNot() async throws {
            try await scenario("quiet supplicant", accessPoints: 2) { lab in
                let home = try await lab.accessPoint("HomeNet", security: homePassword, channel: 1)
                try await home.powerOn()
                let station = lab.station
                try await station.startSupplicant()
                for command in [
                    "STA_AUTOCONNECT 0", "ADD_NETWORK", "SET_NETWORK 0 ssid \"HomeNet\"",
                    "SET_NETWORK 0 psk \"home-password\"",
                ] {
                    #expect(["OK\n", "0\n"].contains(try await station.ask(command)))
                }
                try await station.ask("SELECT_NETWORK 0")
                try await eventually(within: .seconds(10), "to join") { await station.joined() == home.bssid }
                try await home.powerOff()
                try await eventually(within: .seconds(10), "the link to be lost") { await station.joined() == nil }
                try await home.powerOn()
                await #expect(throws: LabError.self) {
                    try await eventually(within: .seconds(8), "nothing") { await station.joined() != nil }
                }
                try await station.ask("SELECT_NETWORK 0")
                try await eventually(within: .seconds(10), "to join again") { await station.joined() == home.bssid }
            }
        }

        @Test(.extended) func nothingIsLeftBehindAndRecordsOfAFailureAreKept() async throws {
            struct Failure: Error {}
            let results = try #require(ProcessInfo.processInfo.environment["LAB_RESULTS"])
            var directory = ""
            await #expect(throws: Failure.self) {
                try await Lab.run("a scenario that fails", accessPoints: 1) { lab in
                    directory = lab.directory
                    let home = try await lab.accessPoint("HomeNet", security: homePassword, channel: 1)
                    try await home.powerOn()
                    try await join(home, homePassword, lab)
                    throw Failure()
                }
            }
            let files = FileManager.default
            #expect(!files.fileExists(atPath: directory))
            #expect(!files.fileExists(atPath: "/sys/module/mac80211_hwsim"))
            #expect(!files.fileExists(atPath: "/run/netns/ap1"))
            let left = try daemonsRunning()
            #expect(left == [])
            let kept = "\(results)/a-scenario-that-fails"
            for record in [
                "hostapd1.log", "dnsmasq1.log", "wpa_supplicant.log", "dhcpcd.log", "kernel.log", "air.pcap",
            ] {
                let size = try files.attributesOfItem(atPath: "\(kept)/\(record)")[.size] as? Int ?? 0
                #expect(size > 0, "\(record)")
            }
            try files.removeItem(atPath: kept)
        }

        @Test func aKernelThatComplainsFailsTheScenario() async throws {
            await #expect(throws: LabError.kernelComplained(["WARNING: CPU: 0 PID: 1 at the lab's own test"])) {
                try await scenario("complaint") { _ in
                    let log = open("/dev/kmsg", O_WRONLY)
                    defer { close(log) }
                    let message = "<4>WARNING: CPU: 0 PID: 1 at the lab's own test\n"
                    #expect(write(log, message, message.utf8.count) == message.utf8.count)
                }
            }
        }

        private func daemonsRunning() throws -> [String] {
            let daemons: Set = ["hostapd", "dnsmasq", "wpa_supplicant", "dhcpcd", "tcpdump"]
            let files = FileManager.default
            return try files.contentsOfDirectory(atPath: "/proc").filter { Int($0) != nil }.compactMap {
                try? String(contentsOfFile: "/proc/\($0)/comm", encoding: .utf8)
            }.map { String($0.prefix { $0 != "\n" }) }.filter(daemons.contains)
        }
    }
}

extension Radios {
    /// The words for what is behind an access point mean what they say: real servers, asked by curl on the device.
    @Suite(.extended) struct InternetWordsTests {
        private static let check = "http://\(Upstream.mirror)/generate_204"
        private static let statusAlone = ["-o", "/dev/null", "-w", "%{http_code} %{redirect_url}"]

        /// A station that has joined its first network, which leads to the internet.
        private func home(
            _ lab: Lab, prepare: (AccessPoint) async throws -> Void = { _ in }
        ) async throws -> (home: AccessPoint, upstream: Upstream) {
            let upstream = try await lab.upstream()
            let home = try await lab.accessPoint("HomeNet", security: .open, channel: 1)
            try await home.connect(to: upstream)
            try await prepare(home)
            try await home.powerOn()
            try await lab.station.startDHCPClient(ipv6: true)
            try await lab.station.startSupplicant(knowing: [ConfiguredNetwork(home.ssid, security: .open)])
            return (home, upstream)
        }

        /// HTTP's status code, and where a redirection leads; 0 without an answer.
        private func answer(_ lab: Lab, _ options: [String] = [], to url: String = check) async throws -> String {
            try await lab.station.curl(url, Self.statusAlone + options, within: .seconds(3)).text
                .split(separator: "\n").last.map(String.init) ?? ""
        }

        private func publish(_ lab: Lab) async throws -> Int32 {
            try await lab.station.curl("mqtt://203.0.113.10/word", ["-d", "x"], within: .seconds(3)).status
        }

        private func nameIsKnown(_ lab: Lab) async throws -> Bool {
            let question = try await lab.start(
                "busybox", ["timeout", "3", "busybox", "nslookup", Upstream.brokerName, "203.0.113.53"], log: "nslookup"
            )
            try await eventually(within: .seconds(20), "nslookup to end") { !question.isRunning }
            let isKnown = question.lastLines.contains("203.0.113.10")
            try FileManager.default.removeItem(atPath: question.log)
            return isKnown
        }

        @Test func theInternetIsThereAndGoesAway() async throws {
            try await scenario("the internet") { lab in
                let (home, upstream) = try await home(lab)
                try await eventually(within: .seconds(20), "to join") { await lab.station.joined() == home.bssid }
                let joined = ContinuousClock.now
                try await eventually(within: .seconds(20), "an address") { await lab.station.address != nil }
                lab.report("dhcpcd: joined until an address", .now - joined)
                let address = try #require(await lab.station.address)
                try await lab.station.seen(as: "\(address)", within: .seconds(10))
                #expect(try await answer(lab) == "204 ")
                #expect(try await nameIsKnown(lab))
                #expect(try await publish(lab) == 0)

                try await home.names(.silent)
                #expect(try await !nameIsKnown(lab))
                #expect(try await answer(lab) == "204 ")
                try await home.names(.right)

                try await home.cutInternet()
                #expect(try await answer(lab) == "000 ")
                #expect(try await lab.station.network(behind: home.gateway) == home.ssid)
                try await home.cutInternet(.reject)
                #expect(try await lab.station.curl(Self.check).status == 7)
                try await home.restoreInternet()
                #expect(try await answer(lab) == "204 ")

                try await upstream.broker.firewall(.drop)
                #expect(try await publish(lab) == 28)
                try await upstream.broker.firewall(.reject)
                #expect(try await publish(lab) == 7)
                try await upstream.broker.firewall(nil)
                await upstream.broker.freeze()
                #expect(try await publish(lab) == 28)
                await upstream.broker.thaw()
                #expect(try await publish(lab) == 0)
                await upstream.broker.kill()
                #expect(try await publish(lab) == 7)
                try await upstream.broker.start()
                #expect(try await publish(lab) == 0)
            }
        }

        @Test func aPortalLetsThroughWhoAcceptsItsTerms() async throws {
            try await scenario("captive portal") { lab in
                let (home, _) = try await home(lab) { try await $0.captivePortal() }
                try await eventually(within: .seconds(20), "an address") { await lab.station.address != nil }
                let address = try #require(await lab.station.address)
                let redirection = "302 http://\(home.gateway)/splash"
                try await eventually(within: .seconds(10), "the portal to show itself") {
                    try await answer(lab) == redirection
                }
                #expect(try await nameIsKnown(lab))
                #expect(try await publish(lab) == 7)
                let api = ["--resolve", "portal1.lab.example:443:\(home.gateway)"]
                let before = try await lab.station.curl("https://portal1.lab.example/api", api).text
                #expect(before.contains("\"captive\": true"), "\(before)")
                let page = try await lab.station.curl("http://\(home.gateway)/splash").text
                #expect(page.contains("<form method=\"post\" action=\"/accept\">"))

                let accept = "http://\(home.gateway)/accept"
                #expect(try await answer(lab, ["-d", "tok=31f20a"], to: accept) == "403 ")
                #expect(try await answer(lab) == redirection)
                #expect(try await answer(lab, ["-d", "tok=31f20a&terms=yes"], to: accept) == "200 ")
                #expect(try await answer(lab) == "204 ")
                #expect(try await publish(lab) == 0)
                try await lab.station.seen(as: "\(address)", within: .seconds(5))
                let after = try await lab.station.curl("https://portal1.lab.example/api", api).text
                #expect(after.contains("\"captive\": false"), "\(after)")

                try await home.signEverybodyOut()
                #expect(try await answer(lab) == redirection)
                try await home.endCaptivePortal()
                #expect(try await answer(lab) == "204 ")
            }
        }

        @Test func cableTunnelAndIPv6CarryTheTraffic() async throws {
            try await scenario("other ways out", accessPoints: 2) { lab in
                let (home, upstream) = try await home(lab)
                try await eventually(within: .seconds(20), "an address") { await lab.station.address != nil }
                let address = try #require(await lab.station.address)
                try await lab.station.seen(as: "\(address)", within: .seconds(10))

                let cable = try await lab.cable(to: upstream)
                try await lab.station.seen(as: "\(Cable.address)", within: .seconds(10))
                try cable.pull()
                try await lab.station.seen(as: "\(address)", within: .seconds(10))

                let tunnel = try await lab.tunnel(to: upstream, through: home)
                try await lab.station.seen(as: "\(Tunnel.address)", within: .seconds(15))
                try tunnel.disconnect()
                try await lab.station.seen(as: "\(address)", within: .seconds(10))
            }
        }

        @Test func aNetworkHasIPv6Alone() async throws {
            try await scenario("IPv6 alone") { lab in
                _ = try await home(lab) { await $0.haveOnlyIPv6() }
                try await eventually(within: .seconds(30), "a way out over IPv6") {
                    try await lab.station.curl("http://[\(Upstream.mirror6)]/address", within: .seconds(3)).text
                        .hasPrefix("2001:db8:1:")
                }
                #expect(await lab.station.address == nil)
            }
        }
    }
}
