import AppProtocol
import FoundationEssentials
import Lab
import Synchronization
import Testing

extension Radios {
    /// The whole journey of a person with a phone and no app, at the speed of a person: from the label of a new device
    /// to the device's page in the own network, in a block of flats.
    @Suite struct PhoneJourneyTests {
        // covers: seed/user-phone
        @Test(.extended) func aWrongPasswordFirst() async throws {
            try await scenario("journey", accessPoints: 5) { lab in
                let journey = try await Journey(lab)
                try await journey.reachList()
                lab.report("journey: from the label to the list", journey.elapsed)
                let refused = try await journey.join("wrong-password")
                #expect(!refused.page.heading.contains("HomeNet") && refused.page.contains(#"role="alert""#))
                lab.report("journey: from the label to the wrong password's result", journey.elapsed)
                let result = try await journey.join("home-password")
                #expect(result.page.heading.contains("HomeNet"), "\(result.page)")
                lab.report("journey: from the label to the result", journey.elapsed)
                #expect(journey.elapsed < .seconds(60))
                let status = try await journey.pageAtHome()
                #expect(status.contains("HomeNet"), "\(status)")
                lab.report("journey: from the label to the page in the own network", journey.elapsed)
            }
        }

        // covers: seed/user-phone
        @Test(arguments: 1...Journey.count) func theRightPasswordAtOnce(number: Int) async throws {
            try await scenario("journey \(number)", accessPoints: 5) { lab in
                let journey = try await Journey(lab)
                try await journey.reachList()
                let result = try await journey.join("home-password")
                #expect(result.page.heading.contains("HomeNet"), "\(result.page)")
                let time = journey.elapsed
                lab.report("journey: from the label to the result", time)
                #expect(time < .seconds(60))
                try await journey.device.online(on: journey.home, within: .seconds(1))
                Journey.record(time, in: lab)
            }
        }

        // covers: seed/user-phone
        @Test(.extended) func theInternetIsDead() async throws {
            try await scenario("journey dead internet", accessPoints: 5) { lab in
                let journey = try await Journey(lab, upstream: lab.upstream())
                try await journey.home.cutInternet()
                try await journey.reachList()
                let result = try await journey.join("home-password")
                lab.report("journey: from the label to the result, dead internet", journey.elapsed)
                #expect(journey.elapsed < .seconds(60))
                let text = result.page.replacing(/<[^>]*>/, with: "")
                #expect(text.contains("HomeNet") && text.contains("no internet"), "\(text)")
                try await journey.device.online(on: journey.home, within: .seconds(10))
                #expect(try await journey.pageAtHome().contains("HomeNet"))
            }
        }
    }
}

extension String {
    /// Text of the page's heading.
    fileprivate var heading: Substring { firstMatch(of: /<h1[^>]*>(.*?)<\/h1>/)?.1 ?? "" }
}

/// A device out of the box among 30 networks, and a person with a phone.
private struct Journey {
    static let count = isCore ? 1 : 20
    private static let times = Mutex<[Duration]>([])
    private static let form = "network=486f6d654e6574.wpa2-psk&password="

    let lab: Lab
    let home: AccessPoint
    let phone: WirelessPhone
    let device: Device
    private let browser: PhoneBrowser
    private let begun: ContinuousClock.Instant

    init(_ lab: Lab, upstream: Upstream? = nil) async throws {
        self.lab = lab
        home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 6, signal: -55)
        if let upstream { try await home.connect(to: upstream) }
        try await home.powerOn()
        // Ten, ten and nine.
        for (index, channel) in [1, 6, 11].enumerated() {
            let names = (1...(channel == 11 ? 9 : 10)).map { "Flat-\(index)\($0)" }
            let others = names.dropFirst().flatMap { name in
                [
                    "bss=bss\(name.suffix(2))", "ssid=\(name)", "wpa=2", "rsn_pairwise=CCMP", "wpa_key_mgmt=WPA-PSK",
                    "wpa_passphrase=nobody-tells-me",
                ]
            }
            let flat = try await lab.accessPoint(
                names[0], security: .wpa2("nobody-tells-me"), channel: channel, signal: -60 - 10 * index,
                settings: others)
            try await flat.powerOn()
        }
        phone = try await lab.wirelessPhone()
        var settings = ["ALTNET_WEB_INTERFACE": "yes"]
        if upstream != nil { settings.merge(House.servers) { $1 } }
        device = try await Device.withAccessPoint(lab, settings: settings)
        browser = phone.browser(at: Device.ownAddress)
        try await device.opened(because: "neverProvisioned", within: .seconds(10))
        begun = .now
    }

    var elapsed: Duration { .now - begun }

    /// Scans the label's code with the phone's camera, joins the access point and waits until the list has the network.
    func reachList() async throws {
        try await Task.sleep(for: .seconds(4))
        try await phone.join(device)
        _ = try await phone.address(within: .seconds(10))
        let probe = try await browser.get("/generate_204", host: "connectivitycheck.gstatic.com")
        #expect(probe.location == "http://\(Device.ownAddress)/")
        var page = ""
        try await eventually(within: .seconds(30), every: .milliseconds(500), "the page to list the network") {
            page = try await browser.get("/").body
            return page.contains(#"value="486f6d654e6574.wpa2-psk""#)
        }
        let others = Set(page.matches(of: /Flat-\d+/).map(\.output)).count
        lab.report("journey: other networks in the list", "\(others)")
        #expect(others > 20)
    }

    /// Finds the network, types the password with five characters a second, submits it and waits for the result.
    func join(_ password: String) async throws -> PhoneBrowser.Result {
        try await Task.sleep(for: .seconds(2) + .milliseconds(200) * password.utf8.count)
        return try await browser.join(Self.form + password, within: .seconds(60))
    }

    /// Returns with the phone to the own network, and signs in with the label's key.
    /// - Returns: the first page behind the sign-in.
    func pageAtHome() async throws -> String {
        try await phone.join(ConfiguredNetwork(home.ssid, security: .wpa2("home-password")), within: .seconds(20))
        _ = try await phone.address(within: .seconds(10))
        let address = try #require(device.status?.addresses.first { $0.hasPrefix("10.") })
        let url = "https://\(address):\(ProtocolLimits.port)"
        let form = try await fetch("\(url)/", [])
        let token = try #require(form.firstMatch(of: /name="token" value="([0-9a-f]+)"/)?.1, "\(form)")
        let key = PairingCode(try await device.key).uri()
        try await Task.sleep(for: .seconds(4))
        return try await fetch(
            "\(url)/sign-in",
            [
                "--location", "--header", "Origin: \(url)", "--data", "token=\(token)", "--data-urlencode",
                "key=\(key)",
            ])
    }

    private func fetch(_ url: String, _ arguments: [String]) async throws -> String {
        let (cookies, answer) = ("\(lab.directory)/cookies", "\(lab.directory)/page.html")
        let program = try await phone.run(
            "curl",
            ["-sSk", "--http1.1", "--max-time", "20", "-b", cookies, "-c", cookies, "-o", answer] + arguments + [url],
            log: "curl")
        try await eventually(within: .seconds(20), "\(url) to answer") { !program.isRunning }
        return try String(contentsOfFile: answer, encoding: .utf8)
    }

    /// Reports the median and the longest time after the last journey.
    static func record(_ time: Duration, in lab: Lab) {
        let times = times.withLock { times in
            times.append(time)
            return times.sorted()
        }
        guard let longest = times.last, times.count == count else { return }
        lab.report("journey: median of \(count)", times[count / 2])
        lab.report("journey: longest of \(count)", longest)
    }
}
