import AgentModel
import AppProtocol
import AppServer
import Testing

@testable import DevicePage

@Suite struct PageTests {
    private static let visitor = Visitor(
        place: SiteBench.accessPoint, language: .en,
        peer: Peer(origin: .page(address: "192.168.4.20"), role: .manage), session: nil, token: "token")

    private static func visitor(_ language: Language) -> Visitor {
        Visitor(
            place: SiteBench.accessPoint, language: language, peer: visitor.peer, session: nil, token: "token")
    }

    private static let owner = Visitor(
        place: .network, language: .en, peer: Peer(origin: .page(address: "192.168.1.9"), role: .manage, key: .owner),
        session: "s", token: "token")

    private static func attempt(
        _ network: NetworkChoice? = nil, ended: Instant? = nil, isSeen: Bool = false
    ) -> SwitchAttempt {
        SwitchAttempt(
            switchID: "s-1", network: network, name: "Home", began: Instant(milliseconds: 0), ended: ended,
            isSeen: isSeen)
    }

    private static func network(
        _ state: LinkState = .online, _ ssid: String? = "Home", internet: InternetState? = nil, name: String? = nil
    ) throws -> NetworkStatus {
        var status = NetworkStatus(
            state: state, uplink: state == .online ? .wifi : nil, flags: [], ssid: try ssid.map { try SSID($0) },
            since: Timestamp(millisecondsSince1970: 0))
        status.connectivity = internet.map { Connectivity(internet: $0) }
        status.deviceName = try name.map { try DeviceName($0) }
        return status
    }

    private static func scan(_ networks: [ScannedNetwork], isScanning: Bool = false) -> ScanResults {
        ScanResults(isScanning: isScanning, lastScanId: nil, networks: networks)
    }

    private static func scanned(_ bytes: [UInt8], _ signal: Int, _ security: Security) throws -> ScannedNetwork {
        ScannedNetwork(
            bssid: try #require(BSSID("02:00:00:00:00:01")), ssid: try SSID(bytes: bytes),
            frequency: Frequency(megahertz: 2412), signal: signal, security: security, ageMs: 0)
    }

    private func page(
        _ view: View, _ facts: Facts = Facts(), _ visitor: Visitor = visitor, names: PageWriter.LocalNames = .init(),
        minute: Int64 = 0
    ) -> BrowserResponse {
        PageWriter(visitor, names: names).response(to: view, facts, at: Instant(milliseconds: minute * 60_000))
    }

    @Test func namesOfNetworksAreText() throws {
        let names = [
            "<script>alert(1)</script>", "\"><img src=x>", "'onload='", "&amp;", "</fieldset>", "a\u{0}b",
            "\u{202e}evil",
            "<!--", "]]>", "{1}",
        ]
        let networks =
            try names.map { try Self.scanned(Array($0.utf8), -50, .wpa2) } + [
                Self.scanned([0xff, 0, 0xfe, 0x3c], -60, .open)
            ]
        let scan = ScanResults(isScanning: false, lastScanId: nil, networks: networks)
        let text = page(.networks(chosen: nil, nil), Facts(scan: scan)).text
        #expect(text.components(of: "</fieldset>") == 1)
        for name in names where name.contains("<") && name != "</fieldset>" { #expect(!text.contains(name), "\(name)") }
        #expect(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && text.contains("&amp;amp;"))
        #expect(!text.contains("\u{202e}") && !text.contains("\u{0}"))
        // Any bytes have a form that names them.
        #expect(text.contains(#"value="ff00fe3c.open""#) && text.contains("\\xff\\x00\\xfe&lt;"))
    }

    @Test func theNameIsTextInItsForm() throws {
        var status = NetworkStatus(
            state: .online, uplink: .wifi, flags: [], since: Timestamp(millisecondsSince1970: 0))
        status.deviceName = try DeviceName(#""><script>alert(1)</script>"#)
        for view in [View.status, .networks(chosen: nil, nil)] {
            let text = page(view, Facts(network: status)).text
            #expect(text.contains(#"action="/name""#) && text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
            #expect(!text.contains("<script>alert"))
        }
    }

    @Test func aNameIsOneRowAndWhatIsNeverJoinedIsNoChoice() throws {
        let scan = Self.scan([
            try Self.scanned(Array("Home".utf8), -70, .wpa2), try Self.scanned(Array("Home".utf8), -50, .wpa2wpa3),
            try Self.scanned(Array("Home".utf8), -40, .enterprise),
            try Self.scanned(Array("Works".utf8), -60, .enterprise),
        ])
        let text = page(.networks(chosen: nil, nil), Facts(scan: scan)).text
        #expect(text.components(of: "486f6d65.") == 1 && text.contains("signal 100\u{a0}%"))
        #expect(text.contains("Works") && !text.contains("enterprise"))
    }

    @Test func eightNetworksAreShownAndTheRestOnRequest() throws {
        func list(_ count: Int) throws -> ScanResults {
            Self.scan(try (0..<count).map { try Self.scanned(Array("Net \($0)".utf8), -40 - $0, .wpa2) })
        }
        #expect(!page(.networks(chosen: nil, nil), Facts(scan: try list(8))).text.contains("<details"))
        let text = page(.networks(chosen: nil, nil), Facts(scan: try list(28))).text
        #expect(text.contains("<details><summary>20 more networks</summary>"))
        let chosen = NetworkChoice(ssid: try SSID("Net 20"), security: .wpa2)
        let open = page(.networks(chosen: chosen, nil), Facts(scan: try list(28))).text
        #expect(open.contains("<details open>") && open.contains(#"required checked"#))
    }

    @Test func whileNothingIsFoundOnlyTheSearchIsShown() throws {
        let facts = Facts(scan: Self.scan([], isScanning: true))
        let alone = page(.networks(chosen: nil, nil), facts).text
        #expect(alone.contains(#"data-live="/""#) && !alone.contains("<form") && !alone.contains("No network is"))
        #expect(alone.contains(#"<noscript><meta http-equiv="refresh""#))
        // A form is never reloaded.
        let home = try Self.scanned(Array("Home".utf8), -50, .wpa2)
        let list = page(.networks(chosen: nil, nil), Facts(scan: Self.scan([home], isScanning: true))).text
        #expect(list.contains(#"data-live="/""#) && list.contains(#"id="join""#) && !list.contains("http-equiv"))
        let done = page(.networks(chosen: nil, nil), Facts(scan: Self.scan([home]))).text
        #expect(!done.contains("data-live"))
    }

    @Test func theFirstViewIsSmall() throws {
        let networks = try (0..<8).map { try Self.scanned(Array("FRITZ!Box 7590 \($0)".utf8), -40 - $0, .wpa2) }
        let sizes =
            [page(.networks(chosen: nil, nil), Facts(scan: Self.scan(networks))).body.count]
            + ["/style.css", "/page.js"].map { Assets.response(to: $0)?.body.count ?? 0 }
        #expect(sizes.reduce(0, +) < 14_336, "\(sizes)")
    }

    @Test func theFaultIsMarkedAndWhatWasTypedIsKept() throws {
        let typed = String(repeating: "a", count: 33)
        let name = page(.networks(chosen: nil, .wrong(.errorNetwork, typed: typed))).text
        #expect(name.contains(#"value="\#(typed)" aria-describedby="alert" aria-invalid="true" autofocus"#))
        let choice = NetworkChoice(ssid: try SSID("Attic"), security: .open)
        let other = page(.networks(chosen: choice, .wrong(.errorPasswordMissing)))
        #expect(other.status == 400 && other.text.contains(#"value="Attic""#))
        #expect(other.text.contains(#"name="open" value="1" checked"#))
        #expect(other.text.contains(#"aria-describedby="alert" aria-invalid="true""#))
    }

    @Test(arguments: JoinFailure.allCases) func everyFailureIsExplained(failure: JoinFailure) throws {
        let attempt = Self.attempt(NetworkChoice(ssid: try SSID("Home"), security: .wpa2))
        let status = SwitchStatus(switchId: "s-1", phase: .rolledBack, reason: ReasonCode(failure))
        let scan = Self.scan([try Self.scanned(Array("Home".utf8), -50, .wpa2)])
        for language in Language.all {
            let text = page(.attempt(attempt), Facts(scan: scan, attempt: status), Self.visitor(language)).text
            for family in [Phrase.Family.why, .do] {
                let words = try #require(Translation(language)(family, failure.rawValue))
                #expect(text.contains(HTML.text(words).string))
            }
            // The network is chosen still, and only its password is missing.
            #expect(text.contains(#"value="486f6d65.wpa2-psk" required checked"#))
        }
    }

    @Test func aFailureSaysWhereTheDeviceIsNow() throws {
        let attempt = Self.attempt(NetworkChoice(ssid: try SSID("Home"), security: .wpa2))
        func text(_ phase: SwitchPhase, _ reason: JoinFailure, _ network: NetworkStatus) -> String {
            let status = SwitchStatus(switchId: "s-1", phase: phase, reason: ReasonCode(reason))
            return page(.attempt(attempt), Facts(network: network, attempt: status)).text
        }
        // The right password, but no internet access: the device is in the new network.
        let there = text(.failed, .noInternet, try Self.network(internet: .no))
        #expect(there.contains("connected to <bdi>Home</bdi>, but has no internet"))
        #expect(!there.contains("could not connect"))
        #expect(text(.failed, .noInternet, try Self.network(internet: .yes)).contains("It worked"))
        let back = text(.rolledBack, .wrongKey, try Self.network(.online, "Garden", internet: .yes))
        #expect(back.contains("could not connect to <bdi>Home</bdi>") && back.contains("<bdi>Garden</bdi>"))
        let same = text(.rolledBack, .wrongKey, try Self.network(internet: .yes))
        #expect(same.contains("could not connect to <bdi>Home</bdi>"))
        let nowhere = text(.failed, .wrongKey, try Self.network(.offline, nil))
        #expect(nowhere.contains(Translation(.en)(.nowOffline)))
    }

    @Test func anOldFailureHasAnAge() throws {
        let attempt = Self.attempt(
            NetworkChoice(ssid: try SSID("Home"), security: .wpa2), ended: Instant(milliseconds: 0))
        let status = SwitchStatus(switchId: "s-1", phase: .failed, reason: ReasonCode(.wrongKey))
        func text(_ minute: Int64) -> String { page(.attempt(attempt), Facts(attempt: status), minute: minute).text }
        #expect(!text(0).contains("ago") && text(1).contains("1 minute ago") && text(12).contains("12 minutes ago"))
    }

    @Test func beforeTheRadioLeavesItIsSaidWhereTheResultWillBe() throws {
        let accepted = SwitchStatus(switchId: "s-1", phase: .accepted)
        let text = page(.attempt(Self.attempt()), Facts(attempt: accepted), minute: 1).text
        #expect(text.contains("http://192.168.4.1/") && text.contains(#"id="phase" data-live="/result""#))
        #expect(text.contains(#"<noscript><meta http-equiv="refresh" content="3;url=/result"></noscript>"#))
        #expect(text.contains("<bdi>60</bdi>") && text.contains(#"id="silent" class="warning" hidden"#))
    }

    @Test func theResultHasOneNextStep() throws {
        var network = try Self.network(name: "Kitchen")
        network.addresses = ["192.168.1.23", "fe80::1"]
        let facts = Facts(network: network, attempt: SwitchStatus(switchId: "s-1", phase: .committed))
        let text = page(.attempt(Self.attempt()), facts, names: .init(host: "kitchen.local", port: 25_863)).text
        #expect(text.contains("<code>192.168.1.23</code>") && text.contains("kitchen.local") && !text.contains("fe80"))
        #expect(text.contains("<bdi>Kitchen</bdi> is on <bdi>Home</bdi>") && text.contains("– Kitchen</title>"))
        #expect(text.contains(#"action="/done""#) && !text.contains("https://") && !text.contains("http-equiv"))
        let seen = page(.attempt(Self.attempt(isSeen: true)), facts).text
        #expect(!seen.contains("<form") && seen.contains(Translation(.en)(.successLeave)))
    }

    @Test func everyPageKeepsBrowsersFromWhatIsNotOnIt() {
        let response = page(.error(404, .errorNotFound, detail: nil))
        let policy = response.header("Content-Security-Policy") ?? ""
        #expect(policy.hasPrefix("default-src 'none'; ") && !policy.contains("unsafe"))
        #expect(response.header("X-Content-Type-Options") == "nosniff" && response.header("X-Frame-Options") == "DENY")
        #expect(!response.text.contains("style=") && !response.text.contains("onclick"))
        for asset in ["/style.css", "/page.js", "/network.css", "/network.js"] {
            let text = Assets.response(to: asset)?.text ?? ""
            #expect(!text.isEmpty && !text.contains("http:") && !text.contains("https:") && !text.contains("url("))
        }
    }

    @Test func whatAKeyMayNotDoIsNotOffered() throws {
        let seeing = Visitor(
            place: .network, language: .en, peer: Peer(origin: .page(address: "192.168.1.9"), role: .see, key: .owner),
            session: "s", token: "t")
        let scan = ScanResults(
            isScanning: false, lastScanId: nil, networks: [try Self.scanned(Array("Home".utf8), -50, .wpa2)])
        let text = page(.networks(chosen: nil, nil), Facts(scan: scan), seeing).text
        #expect(text.contains("Home") && !text.contains("/join") && !text.contains("/scan"))
    }

    @Test func anOutageIsAGapInTheChart() throws {
        var trace = SignalTrace()
        for minute in 0..<90 { trace.add(-50 - minute % 20, at: Instant(milliseconds: Int64(minute) * 60_000)) }
        trace.add(-99, at: Instant(milliseconds: 89 * 60_000 + 1))
        #expect(trace.samples.count == 61)
        func text(_ state: LinkState) throws -> String {
            page(.status, Facts(network: try Self.network(state), signal: trace.samples), minute: 89).text
        }
        #expect(try text(.online).components(of: "<polyline") == 1 && text(.online).contains("-59\u{a0}dBm</strong>"))
        trace.disconnect(at: Instant(milliseconds: 89 * 60_000 + 2))
        trace.disconnect(at: Instant(milliseconds: 89 * 60_000 + 3))
        #expect(try text(.offline).contains("<strong>\(Translation(.en)(.signalOffline))</strong>"))
        trace.add(-60, at: Instant(milliseconds: 89 * 60_000 + 4))
        #expect(try text(.online).components(of: "<polyline") == 2)
        for flap in 0..<1000 {
            trace.disconnect(at: Instant(milliseconds: 90 * 60_000 + Int64(flap)))
            trace.add(-60, at: Instant(milliseconds: 90 * 60_000 + Int64(flap)))
        }
        #expect(trace.samples.count == SignalTrace.maximum)
    }

    // MARK: In the network

    @Test func theHistoryIsInTheUsersLanguage() throws {
        func decision(_ kind: String, _ reason: String) throws -> Decision {
            Decision(
                seq: 1, time: Timestamp(millisecondsSince1970: 0), monotonicMs: 0, kind: .init(rawValue: kind),
                from: nil, to: NetworkName(ssid: try SSID("Home"), hash: nil), reason: ReasonCode(rawValue: reason),
                text: "an English sentence")
        }
        let german = Visitor(
            place: .network, language: .de, peer: Self.owner.peer, session: "s", token: "token")
        let known = History(decisions: [
            try decision("join", "weak"), try decision("failed", "wrongKey"), try decision("command", "network.switch"),
        ])
        let text = page(.history, Facts(history: known), german).text
        #expect(!text.contains("English sentence") && text.contains("<bdi>Home</bdi>"))
        // An automatic decision asks nobody to try again.
        #expect(!text.contains(try #require(Translation(.de)(.do, "wrongKey"))))
        #expect(text.contains(#"<time datetime="1970-01-01T00:00:00.000Z">1970-01-01 00:00:00 UTC</time>"#))
        let newer = History(decisions: [try decision("levitated", "magic")])
        #expect(page(.history, Facts(history: newer), german).text.contains(#"<span lang="en">an English sentence"#))
    }

    @Test func theDiagnosisUsesTheWordsOfAHousehold() {
        let diagnosis = Diagnosis(steps: [
            .init(layer: .radio, result: .good, found: "wlan0 is up"),
            .init(layer: .internet, result: .broken, found: "no answer", remedy: "Set ALTNET_VALIDATION_URL."),
        ])
        let text = page(.diagnosis(isRun: true), Facts(diagnosis: diagnosis), Self.owner).text
        #expect(text.contains(#"<li class="row good"><span class="sign" aria-hidden="true">✓"#))
        #expect(text.contains("✗") && !text.contains("ALTNET") && text.contains(#"lang="en" dir="ltr"><li>wlan0"#))
    }

    @Test func storedNetworksNeedNoPassword() throws {
        func stored(_ name: String) throws -> BackupNetwork {
            BackupNetwork(
                ssid: try SSID(name), hash: NetworkHash(localKey: Secret([1]), ssid: try SSID(name), password: nil),
                security: .wpa2, isHidden: false)
        }
        var facts = Facts(backups: BackupList(max: 8, revision: 3, networks: [try stored("A"), try stored("B")]))
        facts.scan = Self.scan([
            try Self.scanned(Array("A".utf8), -50, .wpa2), try Self.scanned(Array("C".utf8), -50, .wpa2),
        ])
        let text = page(.networks(chosen: nil, nil), facts, Self.owner).text
        #expect(text.components(of: #"action="/move""#) == 2 && text.components(of: #"value="remove""#) == 2)
        #expect(text.components(of: #"value="up""#) == 1 && text.components(of: #"value="down""#) == 1)
        #expect(text.components(of: #"type="radio""#) == 2 && text.contains(#"formaction="/store""#))
        let switching = Visitor(
            place: .network, language: .en, peer: Peer(origin: .page(address: "192.168.1.9"), role: .switch),
            session: "s", token: "token")
        let less = page(.networks(chosen: nil, nil), facts, switching).text
        #expect(less.contains(#"action="/move""#) && !less.contains("/backups") && !less.contains("/store"))
    }
}

extension String {
    fileprivate func components(of part: String) -> Int { ranges(of: part).count }
}

extension HTML {
    fileprivate var string: String {
        String(decoding: document().dropFirst("<!doctype html>\n".utf8.count).dropLast(), as: UTF8.self)
    }
}
