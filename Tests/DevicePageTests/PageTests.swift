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

    private static func scanned(_ bytes: [UInt8], _ signal: Int, _ security: Security) throws -> ScannedNetwork {
        ScannedNetwork(
            bssid: try #require(BSSID("02:00:00:00:00:01")), ssid: try SSID(bytes: bytes),
            frequency: Frequency(megahertz: 2412), signal: signal, security: security, ageMs: 0)
    }

    private func page(
        _ view: View, _ facts: Facts = Facts(), _ visitor: Visitor = visitor, names: PageWriter.LocalNames = .init()
    ) -> BrowserResponse {
        PageWriter(visitor, names: names).response(to: view, facts, at: Instant(milliseconds: 0))
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

    @Test func aNetworkIsOneRowAndWhatIsNeverJoinedIsNoChoice() throws {
        let scan = ScanResults(
            isScanning: false, lastScanId: nil,
            networks: [
                try Self.scanned(Array("Home".utf8), -70, .wpa2), try Self.scanned(Array("Home".utf8), -50, .wpa2),
                try Self.scanned(Array("Works".utf8), -60, .enterprise),
            ])
        let text = page(.networks(chosen: nil, nil), Facts(scan: scan)).text
        #expect(text.components(of: "486f6d65.wpa2-psk") == 1 && text.contains("signal 100 %"))
        #expect(text.contains("Works") && !text.contains("enterprise"))
    }

    @Test(arguments: JoinFailure.allCases) func everyFailureIsExplained(failure: JoinFailure) throws {
        let attempt = SwitchAttempt(
            switchID: "s-1", network: NetworkChoice(ssid: try SSID("Home"), security: .wpa2), name: "Home")
        let status = SwitchStatus(switchId: "s-1", phase: .rolledBack, reason: ReasonCode(failure))
        let scan = ScanResults(
            isScanning: false, lastScanId: nil, networks: [try Self.scanned(Array("Home".utf8), -50, .wpa2)])
        for language in Language.allCases {
            let text = page(.attempt(attempt), Facts(scan: scan, attempt: status), Self.visitor(language)).text
            #expect(text.contains(HTML.text(Translation(language)(Phrase(ReasonCode(failure)))).string))
            #expect(Phrase(ReasonCode(failure)) != .reasonUnknown)
            // The network is chosen still, and only its password is missing.
            #expect(text.contains(#"value="486f6d65.wpa2-psk" required checked"#))
        }
    }

    @Test func beforeTheRadioLeavesItIsSaidWhereTheResultWillBe() throws {
        let attempt = SwitchAttempt(switchID: "s-1", network: nil, name: "Home")
        let accepted = SwitchStatus(switchId: "s-1", phase: .accepted)
        let text = page(
            .attempt(attempt), Facts(attempt: accepted), names: .init(host: "kitchen.local", port: nil)
        ).text
        #expect(text.contains("http://192.168.4.1/") && text.contains("kitchen.local"))
        #expect(text.contains(#"<noscript><meta http-equiv="refresh" content="3;url=/result"></noscript>"#))
    }

    @Test func theResultHasTheAddressOfTheDevice() throws {
        let attempt = SwitchAttempt(switchID: "s-1", network: nil, name: "Home")
        let network = NetworkStatus(
            state: .online, uplink: .wifi, flags: [], ssid: try SSID("Home"),
            addresses: ["192.168.1.23", "fe80::1", "2001:db8::7"], since: Timestamp(millisecondsSince1970: 0))
        let facts = Facts(network: network, attempt: SwitchStatus(switchId: "s-1", phase: .committed))
        let plain = page(.attempt(attempt), facts).text
        #expect(plain.contains("<code>192.168.1.23</code>") && !plain.contains("fe80"))
        #expect(!plain.contains("http-equiv"))
        let linked = page(.attempt(attempt), facts, names: .init(host: nil, port: 25_863)).text
        #expect(linked.contains(#"href="https://192.168.1.23:25863/""#))
        #expect(linked.contains(#"href="https://[2001:db8::7]:25863/""#))
    }

    @Test func aProgramIsToldHowItGoes() {
        let attempt = SwitchAttempt(switchID: "s-1", network: nil, name: "Home")
        let joining = SwitchStatus(switchId: "s-1", phase: .joining)
        let response = page(.live(attempt), Facts(attempt: joining))
        #expect(response.text.wholeMatch(of: /\{"done":false,"text":"[^"]+ …"\}/) != nil, "\(response.text)")
        #expect(response.header("Content-Type") == "application/json")
    }

    @Test func everyPageKeepsBrowsersFromWhatIsNotOnIt() {
        let response = page(.error(404, .errorNotFound, detail: nil))
        let policy = response.header("Content-Security-Policy") ?? ""
        #expect(policy.hasPrefix("default-src 'none'; ") && !policy.contains("unsafe"))
        #expect(response.header("X-Content-Type-Options") == "nosniff" && response.header("X-Frame-Options") == "DENY")
        #expect(!response.text.contains("style=") && !response.text.contains("onclick"))
        for asset in ["/style.css", "/page.js"] {
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

    @Test func thePictureOfTheSignalIsAlsoASentence() {
        var trace = SignalTrace()
        for minute in 0..<90 { trace.add(-50 - minute % 20, at: Instant(milliseconds: Int64(minute) * 60_000)) }
        trace.add(-99, at: Instant(milliseconds: 89 * 60_000 + 1))
        #expect(trace.samples.count == 61)
        let network = NetworkStatus(
            state: .online, uplink: .wifi, flags: [], since: Timestamp(millisecondsSince1970: 0))
        let text = PageWriter(Self.visitor).response(
            to: .status, Facts(network: network, signal: trace.samples), at: Instant(milliseconds: 89 * 60_000)
        ).text
        let sentence = "Last 60 min: between -69 and -50 dBm. Now: -59 dBm."
        #expect(text.contains(#"role="img" aria-label="\#(sentence)""#) && text.contains("<p>\(sentence)</p>"))
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
