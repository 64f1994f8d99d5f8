import FoundationEssentials
import Lab
import Testing

extension Radios {
    /// The words for what is behind an access point mean what they say: real servers, asked by curl on the device.
    @Suite struct InternetWordsTests {
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
            try await lab.station.startSupplicant(knowing: [KnownNetwork(home.ssid, security: .open)])
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
                lab.report("dhcpcd with altnet's hook: joined until an address", .now - joined)
                let notes = "/run/altnet-leases/\(lab.station.interface)"
                try await eventually(within: .seconds(5), "the network's name server to be noted down") {
                    (try? String(contentsOfFile: notes, encoding: .utf8))?.contains("\nNAME_SERVERS=203.0.113.53\n")
                        == true
                }
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
                let notes = "/run/altnet-leases/\(lab.station.interface)"
                #expect(
                    try String(contentsOfFile: notes, encoding: .utf8).contains("=https://portal1.lab.example/api\n"))
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
                let notes = "/run/altnet-leases/\(lab.station.interface)"
                try await eventually(within: .seconds(5), "the network's name server to be noted down") {
                    (try? String(contentsOfFile: notes, encoding: .utf8))?
                        .contains("\nNAME_SERVERS=\(Upstream.nameServer6)\n") == true
                }
            }
        }
    }
}
