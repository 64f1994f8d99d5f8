import AppClient
import AppProtocol
import Lab
import Synchronization
import Testing

extension Radios {
    /// A person with a phone and no app, at the page of the setup access point.
    @Suite struct PersonAtThePageTests {
        /// What an operating system asks to know whether a network leads to the internet, and what it is content with.
        private struct Probe {
            let host: String
            let path: String
            let status: Int
            let body: String

            init(_ host: String, _ path: String, _ status: Int, _ body: String) {
                (self.host, self.path, self.status, self.body) = (host, path, status, body)
            }

            static let all = [
                Probe("captive.apple.com", "/hotspot-detect.html", 200, "Success"),
                Probe("connectivitycheck.gstatic.com", "/generate_204", 204, ""),
                Probe("www.msftconnecttest.com", "/connecttest.txt", 200, "Microsoft Connect Test"),
                Probe("detectportal.firefox.com", "/canonical.html", 200, "support.mozilla.org"),
                Probe("nmcheck.gnome.org", "/check_network_status.txt", 200, "NetworkManager is online"),
                Probe("networkcheck.kde.org", "/", 200, "OK"),
            ]
        }

        /// When what the device tells became true.
        private final class Moments: Sendable {
            private struct Record {
                var outcomes: [ContinuousClock.Instant] = []
                var openings: [ContinuousClock.Instant] = []
                var online: ContinuousClock.Instant?
                var isOpen = false
            }

            private let record = Mutex(Record())

            func record(_ event: Event.Body) {
                record.withLock { record in
                    switch event {
                    case .switchProgress(let status) where status.phase.isOutcome: record.outcomes.append(.now)
                    case .networkChanged(let status):
                        let isOpen = status.rescue?.isOpen ?? false
                        if isOpen, !record.isOpen { record.openings.append(.now) }
                        record.isOpen = isOpen
                        if status.state == .online, record.online == nil { record.online = .now }
                    default: break
                    }
                }
            }

            var firstOutcome: ContinuousClock.Instant? { record.withLock { $0.outcomes.first } }
            var online: ContinuousClock.Instant? { record.withLock { $0.online } }

            func opening(after moment: ContinuousClock.Instant) -> ContinuousClock.Instant? {
                record.withLock { record in record.openings.first { $0 > moment } }
            }
        }

        private static let form = "network=486f6d654e6574.wpa2-psk&password="

        // covers: seed/user-phone
        @Test(.extended, arguments: ["auto", "instead"]) func theFirstNetworkIsGiven(radio: String)
            async throws
        {
            try await scenario("page \(radio)", accessPoints: 2) { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 11)
                let phone = try await lab.wirelessPhone()
                try await home.powerOn()
                let moments = Moments()
                let device = try await Device.withAccessPoint(lab, settings: ["ALTNET_SETUP_AP_RADIO": radio]) {
                    moments.record($0)
                }
                try await device.opened(because: "neverProvisioned", within: .seconds(10))
                try await phone.join(device)
                _ = try await phone.address(within: .seconds(10))
                let browser = phone.browser(at: Device.ownAddress)
                try await eachSystemIsLedToThePage(browser)
                try await eventually(within: .seconds(30), every: .milliseconds(500), "the page to list the network") {
                    try await browser.get("/").body.contains(#"value="486f6d654e6574.wpa2-psk""#)
                }

                let refused = try await browser.join(Self.form + "wrong-password", within: .seconds(60))
                #expect(refused.page.contains("password was not"), "\(refused.page)")
                let failed = try #require(moments.firstOutcome)
                let back = try #require(moments.opening(after: failed))
                lab.report("page: from submit to a wrong password's outcome (\(radio))", failed - refused.submitted)
                lab.report("page: from a wrong password's outcome to the access point (\(radio))", back - failed)
                lab.report(
                    "page: from submit to a wrong password's result (\(radio))", refused.shown - refused.submitted)
                #expect(back - failed < .seconds(10))

                guard radio == "auto" else {
                    // In the station's place it does not open while the device is in a network: the page has said before what
                    // the phone is to do.
                    let submitted = ContinuousClock.now
                    let page = try await browser.post("/join", Self.form + "home-password").body
                    #expect(page.contains(#"id="phase""#) && page.contains("http://\(Device.ownAddress)/"))
                    try await device.online(on: home, within: .seconds(10))
                    lab.report("page: from submit to online (\(radio))", .now - submitted)
                    #expect(.now - submitted < .seconds(5))
                    // It is not wanted any more once the person counts as gone.
                    return try await device.closed(within: .seconds(150))
                }
                let result = try await browser.join(Self.form + "home-password", within: .seconds(60))
                #expect(result.page.contains("It worked") && result.page.contains("10.1.0."), "\(result.page)")
                let online = try #require(moments.online)
                lab.report("page: from submit to online (\(radio))", online - result.submitted)
                lab.report("page: from submit to the result (\(radio))", result.shown - result.submitted)
                #expect(online - result.submitted < .seconds(5))
                // The phone keeps the page open until the person has seen the result.
                #expect(try await browser.get(Probe.all[0].path, host: Probe.all[0].host).status == 302)
                _ = try await browser.post("/done", "")
                for probe in Probe.all {
                    let answer = try await browser.get(probe.path, host: probe.host)
                    #expect(answer.status == probe.status && answer.body.contains(probe.body), "\(probe.host)")
                }
                let list = try await device.ask { client throws(ClientError) in try await client.backups() }
                #expect(list.home?.ssid == home.ssid)
                // Until then the person may look, and try another one.
                try await device.closed(within: .seconds(150))
                #expect(device.status?.state == .online)
            }
        }

        /// A radio for the access point alone: the phone stays, whatever the station does.
        @Test(.extended, .onSoftMAC("one dongle is one radio")) func theAccessPointHasARadioOfItsOwn() async throws {
            try await scenario("page second", accessPoints: 2, spare: .otherRadio) { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 11)
                let phone = try await lab.wirelessPhone()
                let own = try #require(lab.station.spareInterface)
                try await home.powerOn()
                // It starts one for each of the two radios.
                try await lab.station.startSupplicant()
                let settings = [
                    "ALTNET_SETUP_AP": "yes", "ALTNET_SETUP_AP_INTERFACE": own, "ALTNET_SPARE_INTERFACE": "",
                ]
                let device = Device(in: lab, settings: settings)
                try await device.start()
                try await device.opened(because: "neverProvisioned", within: .seconds(10))
                #expect(device.status?.rescue?.radio == "second")
                try await phone.join(device)
                _ = try await phone.address(within: .seconds(10))
                let browser = phone.browser(at: Device.ownAddress)
                let pinger = try await phone.pinger(to: Device.ownAddress)
                try await pinger.reply(within: .seconds(5))
                let start = ContinuousClock.now
                let refused = try await browser.join(Self.form + "wrong-password", within: .seconds(60))
                #expect(refused.page.contains("password was not"), "\(refused.page)")
                let result = try await browser.join(Self.form + "home-password", within: .seconds(60))
                #expect(result.page.contains("It worked"), "\(result.page)")
                lab.report("page: from submit to the result (second)", result.shown - result.submitted)
                lab.report("page: longest gap of the phone's ping (second)", pinger.longestGap(since: start))
                #expect(pinger.longestGap(since: start) < .seconds(1))
            }
        }

        private func eachSystemIsLedToThePage(_ browser: PhoneBrowser) async throws {
            for probe in Probe.all {
                #expect(try await browser.lookUp(probe.host) == Device.ownAddress)
                let answer = try await browser.get(probe.path, host: probe.host)
                #expect(answer.status == 302 && answer.location == "http://\(Device.ownAddress)/", "\(probe.host)")
            }
            // These are asked for by multicast, and Firefox is to ask no name server of its own.
            #expect(try await browser.lookUp("kitchen.local") == nil)
            #expect(try await browser.lookUp("use-application-dns.net") == nil)
        }
    }
}
