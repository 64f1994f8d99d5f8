import AgentModel
import AppProtocol
import AppServer
import Testing

@testable import DevicePage

@Suite struct SiteTests {
    private static let home = "network=486f6d65.wpa2-psk"

    // MARK: Probes of operating systems

    private static let probes = [
        ("captive.apple.com", "/hotspot-detect.html", 200, "<BODY>Success</BODY>"),
        ("www.apple.com", "/library/test/success.html", 200, "<BODY>Success</BODY>"),
        ("connectivitycheck.gstatic.com", "/generate_204", 204, ""),
        ("www.google.com", "/gen_204", 204, ""), ("connect.rom.miui.com", "/generate_204", 204, ""),
        ("www.msftconnecttest.com", "/connecttest.txt", 200, "Microsoft Connect Test"),
        ("www.msftncsi.com", "/ncsi.txt", 200, "Microsoft NCSI"),
        ("detectportal.firefox.com", "/success.txt", 200, "success\n"),
        (
            "detectportal.firefox.com", "/canonical.html", 200,
            #"<meta http-equiv="refresh" content="0;url=https://support.mozilla.org/kb/captive-portal"/>"#
        ),
        ("nmcheck.gnome.org", "/check_network_status.txt", 200, "NetworkManager is online\n"),
        ("connectivity-check.ubuntu.com", "/", 204, ""),
    ]

    @Test(arguments: probes) func aProbeOpensThePageUntilTheDeviceIsDone(
        probe: (host: String, path: String, status: Int, body: String)
    ) throws {
        var bench = SiteBench()
        let before = bench.get(probe.path, host: probe.host)
        #expect(before.response?.status == 302 && before.location == "http://192.168.4.1/")
        #expect(before.response?.header("Cache-Control") == "no-store")
        // The phone would close its sheet before the person has read the result.
        try bench.provision()
        #expect(bench.get(probe.path, host: probe.host).response?.status == 302)
        #expect(bench.post("/done", "").location == "/result" && bench.site.isDone)
        let after = try #require(bench.get(probe.path, host: probe.host).response)
        #expect(after.status == probe.status && after.text.contains(probe.body))
        bench.site.reopen()
        #expect(bench.get(probe.path, host: probe.host).response?.status == 302)
    }

    @Test func anyOtherHostLeadsToThePage() throws {
        var bench = SiteBench()
        for host in ["example.com", "192.168.4.2", "192.168.4.1:81", "192.168.4.1.example.com", "", "[::1]"] {
            #expect(bench.get("/?lang=de", host: host).location == "http://192.168.4.1/", "\(host)")
        }
        try bench.provision()
        // What Windows opens a browser with.
        #expect(bench.get("/redirect", host: "www.msftconnecttest.com").location == "http://192.168.4.1/")
    }

    // MARK: Forms

    @Test func aFormJoinsTheNetworkThatItNames() throws {
        var bench = SiteBench()
        let effect = bench.post("/join", "\(Self.home)&password=front-door+mat%26")
        guard case .switchNetwork(let request)? = effect.command, case .new(let network) = request.target else {
            throw MissingSwitch()
        }
        #expect(network.ssid == (try SSID("Home")) && network.security == .wpa2 && !network.isHidden)
        #expect(network.credential == .password(Secret(text: "front-door mat&")))
        #expect(request.besideUplink && !request.joinOnce)
        #expect(effect.visitor?.peer == Peer(origin: .page(address: "192.168.4.20"), role: .manage))
    }

    @Test func aNameOfAnyBytesCanBeJoined() throws {
        var bench = SiteBench()
        let effect = bench.post("/join", "network=ff00fe3c.open&password=")
        guard case .switchNetwork(let request)? = effect.command, case .new(let network) = request.target else {
            throw MissingSwitch()
        }
        #expect(network.ssid.bytes == [0xff, 0, 0xfe, 0x3c] && network.credential == .none)
    }

    @Test func aHiddenNetworkIsTyped() throws {
        var bench = SiteBench()
        let effect = bench.post("/join", "network=other&name=K%C3%A4fig&password=behind-the-jam")
        guard case .switchNetwork(let request)? = effect.command, case .new(let network) = request.target else {
            throw MissingSwitch()
        }
        #expect(network.ssid.text == "Käfig" && network.isHidden && network.security == nil)
    }

    @Test(arguments: [
        ("", Phrase.errorNetwork), ("network=", .errorNetwork), ("network=zz.wpa2-psk", .errorNetwork),
        ("network=486f6d65", .errorNetwork), ("network=486f6d65.enterprise", .errorNetwork),
        ("network=486f6d65.wep", .errorNetwork), ("network=.open", .errorNetwork),
        ("network=\(String(repeating: "61", count: 33)).open", .errorNetwork), ("network=other", .errorNetwork),
        ("\(home)&password=", .errorPasswordMissing), (home, .errorPasswordMissing),
        ("\(home)&password=1234567", .errorPasswordLength),
        ("\(home)&password=\(String(repeating: "a", count: 64))z", .errorPasswordLength),
        ("\(home)&password=12345678%C3%A9", .errorPasswordCharacters),
        ("network=486f6d65.wpa3-sae&password=1%002345678", .errorPasswordCharacters),
    ])
    func whatCannotBeRightIsSaidBeforeAnythingIsTried(fields: String, phrase: Phrase) {
        var bench = SiteBench()
        let effect = bench.post("/join", fields)
        #expect(effect.command == nil && effect.view?.notice == .wrong(phrase))
    }

    @Test func aTypedNameThatIsTooLongIsKept() {
        var bench = SiteBench()
        let name = String(repeating: "a", count: 33)
        let notice = bench.post("/join", "network=other&name=\(name)&password=12345678").view?.notice
        #expect(notice == .wrong(.errorNetwork, typed: name))
    }

    // covers: seed/device-name
    @Test func aNameIsSetAndCleared() throws {
        var bench = SiteBench()
        for (fields, name) in [("deviceName=K%C3%BCche", "Küche"), ("deviceName=", nil)] as [(String, String?)] {
            guard case .setName(let change)? = bench.post("/name", fields).command else { throw MissingSwitch() }
            #expect(change.name?.text == name)
        }
        for fields in ["", "deviceName=+", "deviceName=a%E2%80%AEb", "deviceName=%FF"] {
            #expect(bench.post("/name", fields).view == .error(400, .errorName, detail: nil), "\(fields)")
        }
        #expect(bench.get("/name").location == "/")
    }

    @Test func aFormOfAnotherPageIsRefused() {
        var bench = SiteBench()
        let fields = "\(Self.home)&password=front-door-mat"
        for origin in ["http://evil.example", "null", "https://192.168.4.1", "http://192.168.4.1:8080", ""] {
            #expect(bench.post("/join", fields, origin: origin).view == .error(403, .errorForeign, detail: nil))
        }
        #expect(bench.post("/join", fields, type: "text/plain").view == .error(400, .errorForeign, detail: nil))
        #expect(bench.post("/join", fields, type: nil).view == .error(400, .errorForeign, detail: nil))
        #expect(bench.post("/join", fields, host: "evil.example").response?.status == 421)
        // A browser that tells no origin has the token all the same.
        #expect(bench.post("/join", fields, origin: nil).command != nil)
    }

    @Test func aFormNeedsTheTokenOfAPageOfTheSameClientAndNotAnOldOne() {
        var bench = SiteBench()
        let fields = "\(Self.home)&password=front-door-mat"
        let other = Browser(address: IPAddress("192.168.4.21")!)
        let token = bench.token()
        #expect(
            bench.post("/join", fields, token: token, client: other).view == .error(403, .errorExpired, detail: nil))
        for wrong in ["", "0", String(repeating: "0", count: 48), String(token.dropLast()), token + "00"] {
            #expect(bench.post("/join", fields, token: wrong).view == .error(403, .errorExpired, detail: nil))
        }
        bench.now = bench.now + FormTokens.lifetime
        #expect(bench.post("/join", fields, token: token).command != nil)
        bench.now = bench.now + .seconds(1)
        #expect(bench.post("/join", fields, token: token).view == .error(403, .errorExpired, detail: nil))
    }

    @Test func nothingIsChangedByAskingForAPage() {
        var bench = SiteBench()
        for path in [
            "/", "/join", "/move", "/scan", "/sign-in", "/sign-out", "/diagnosis", "/networks", "/x", "/done", "/store",
            "/backups",
        ] {
            let effect = bench.get("\(path)?token=\(bench.token())&\(Self.home)&password=front-door-mat")
            #expect(effect.command == nil, "\(path)")
        }
        let put = BrowserRequest(.other, "/join", host: "192.168.4.1")
        let effect = bench.site.receive(put, from: SiteBench.phone, in: SiteBench.accessPoint, at: bench.now)
        #expect(effect.response?.status == 405)
    }

    @Test func moreThanIsReadIsSaidOnAPage() {
        var bench = SiteBench()
        var request = BrowserRequest(.post, "/join", host: "192.168.4.1", contentType: Form.contentType)
        request.isTooLarge = true
        let effect = bench.site.receive(request, from: SiteBench.phone, in: SiteBench.accessPoint, at: bench.now)
        #expect(effect.view == .error(413, .errorTooLarge, detail: nil))
    }

    // MARK: Attempts

    @Test func theFirstPageIsTheResultOnceThereIsOne() throws {
        var bench = SiteBench()
        let attempt = try bench.attempt()
        #expect(bench.get("/").view == .attempt(attempt))
        let failed = SwitchStatus(switchId: "s-1", phase: .failed, reason: ReasonCode(.wrongKey))
        #expect(bench.site.shown(.attempt(attempt), Facts(attempt: failed), at: bench.now) == .attempt(attempt))
        #expect(!bench.site.isDone)
        // Another attempt is possible meanwhile, and the result of the first stays until then, or for an hour.
        let shown = View.attempt(SwitchAttempt(attempt, outcome: failed, ended: bench.now))
        #expect(bench.get("/").view == shown)
        bench.site.reopen()
        #expect(bench.get("/").view == shown)
        bench.now = bench.now + SwitchAttempt.lifetime
        #expect(bench.get("/").view == .networks(chosen: nil, nil))
    }

    @Test func aMoveToAStoredNetworkNamesIt() throws {
        let form = "hash=dUnNrl9ZGLL2XWhS6Eyh%2Bv7ra11zzx%2BZnd0SH3Ww67c="
        let results: [Result<Response.Body, ProtocolError>] = [
            .success(.switchStatus(SwitchStatus(switchId: "s-1", phase: .accepted))),
            .failure(ProtocolError(.alreadyAssociated, "the device is in this network")),
        ]
        for result in results {
            var bench = SiteBench(keys: [Keys.owner])
            let session = try bench.signIn("0123456789abcdef")
            let effect = bench.browse(.post, "/move", "\(form)&ssid=486f6d65", cookie: session)
            guard case .perform(.switchNetwork, let purpose, let visitor) = effect else { throw MissingSwitch() }
            guard case .attempt(let attempt)? = bench.site.afterwards(result, of: purpose, visitor, at: bench.now).view
            else {
                throw MissingSwitch()
            }
            #expect(attempt.name == "Home")
        }
        var bench = SiteBench()
        let session = try bench.signIn("0123456789abcdef")
        for bad in [form, "\(form)&ssid=", "\(form)&ssid=4x", "ssid=486f6d65"] {
            #expect(bench.browse(.post, "/move", bad, cookie: session).view?.notice == .wrong(.errorNetwork))
        }
    }

    @Test func anAttemptThatTheDeviceDoesNotKnowAnyMoreIsForgotten() throws {
        var bench = SiteBench()
        let attempt = try bench.attempt()
        #expect(bench.site.shown(.attempt(attempt), Facts(), at: bench.now) == .networks(chosen: attempt.network, nil))
        #expect(bench.get("/").view == .networks(chosen: nil, nil))
    }

    @Test func whileTheDeviceTriesASecondPersonSeesHow() throws {
        var bench = SiteBench()
        let attempt = try bench.attempt()
        let visitor = try #require(bench.get("/").visitor)
        let busy = ProtocolError(.switchInProgress, "a switch is under way")
        let effect = bench.site.afterwards(.failure(busy), of: .scan, visitor, at: bench.now)
        #expect(effect.view == .attempt(attempt))
    }

    @Test func networksAreLookedForWhereNoneIsKnownAndNotAllTheTime() {
        var bench = SiteBench()
        let none = Facts(scan: ScanResults(isScanning: false, lastScanId: nil, networks: []))
        let networks = View.networks(chosen: nil, nil)
        let wants = [(none, 0), (none, 1), (none, 10), (Facts(), 60)].map { facts, seconds in
            bench.site.wantsScan(for: networks, facts, at: bench.now + .seconds(seconds))
        }
        #expect(wants == [true, false, true, false])
    }
}

struct MissingSwitch: Error {}

extension SiteBench {
    mutating func attempt() throws -> SwitchAttempt {
        let effect = post("/join", "network=486f6d65.wpa2-psk&password=front-door-mat")
        guard case .perform(_, let purpose, let visitor) = effect else { throw MissingSwitch() }
        let accepted = SwitchStatus(switchId: "s-1", phase: .accepted)
        let shown = site.afterwards(.success(.switchStatus(accepted)), of: purpose, visitor, at: now)
        guard case .attempt(let attempt)? = shown.view else { throw MissingSwitch() }
        return attempt
    }

    mutating func provision() throws {
        let attempt = try attempt()
        let committed = SwitchStatus(switchId: "s-1", phase: .committed)
        _ = site.shown(.attempt(attempt), Facts(attempt: committed), at: now)
    }
}

extension SwitchAttempt {
    init(_ attempt: SwitchAttempt, outcome: SwitchStatus, ended: Instant) {
        self = attempt
        (self.outcome, self.ended) = (outcome, ended)
    }
}
