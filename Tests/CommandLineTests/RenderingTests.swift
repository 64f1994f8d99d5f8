import AgentModel
import AppProtocol
import Testing

@testable import altnet

@Suite struct RenderingTests {
    @Test func colourIsOnlyForTerminals() throws {
        let plain = ScanView(results: try Sample.scan(), current: nil, stored: []).render(Style())
        #expect(!plain.contains("\u{1b}"))
        let coloured = ScanView(results: try Sample.scan(), current: nil, stored: []).render(Style(hasColour: true))
        #expect(coloured.contains("\u{1b}[32m▂▄▆█\u{1b}[0m"))
    }

    /// A device may say anything; none of it ends the program.
    @Test(arguments: [Int.min, -1, 0, 59, .max]) func noTimeThatRemainsIsTooMuch(seconds: Int) {
        let rest = ConnectivityWording.rest(of: Portal(state: .authenticated, secondsRemaining: seconds))
        #expect(rest.isEmpty == (seconds < 1))
    }

    @Test(arguments: [
        (-30, "▂▄▆█", "####"), (-55, "▂▄▆█", "####"), (-56, "▂▄▆·", "###."), (-70, "▂▄··", "##.."),
        (-85, "▂···", "#..."),
        (-90, "····", "...."), (-200, "····", "...."), (.max, "▂▄▆█", "####"), (.min, "····", "...."),
    ])
    func barsFollowTheSignal(signal: Int, unicode: String, ascii: String) {
        #expect(Wording.bars(signal, Style()) == unicode)
        #expect(Wording.bars(signal, Style(isUnicode: false)) == ascii)
    }

    @Test(arguments: [
        (0, "just now"), (-999_999, "just now"), (1000, "1 s ago"), (119_999, "119 s ago"), (120_000, "2 min ago"),
        (7_199_999, "119 min ago"), (7_200_000, "2 h ago"), (172_800_000, "2 d ago"),
    ])
    func agesAreInTheirLargestUnit(milliseconds: Int64, text: String) {
        let then = Timestamp(millisecondsSince1970: Sample.now.millisecondsSince1970 - milliseconds)
        #expect(Wording.ago(then, now: Sample.now) == text)
    }

    @Test(arguments: [
        ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("家家家", 5, "家家…"), ("家家家", 4, "家…"), ("abc", 1, "…"), ("abc", 0, ""),
    ])
    func textIsCutByColumns(text: String, width: Int, cut: String) {
        #expect(text.fitted(to: width, ellipsis: "…") == cut)
    }

    @Test func jsonIsSafeInATerminal() {
        #expect(Console.terminalSafe(json: #"{"ssid":"Café 家 \u001b"}"#) == #"{"ssid":"Café 家 \u001b"}"#)
        #expect(Console.terminalSafe(json: "\"\u{202e}\u{9b}\u{e0001}\"") == #""\u202e\u009b\udb40\udc01""#)
        #expect(Console.terminalSafe(json: "{\n  \"a\u{7f}\"\n}") == "{\n  \"a\\u007f\"\n}")
    }

    /// What is printed of an SSID can be given back as an argument.
    @Test func namesReadAsTheyPrint() throws {
        for bytes: [UInt8] in [[0xff, 0x00], [0x5c], Array("Home Net".utf8), Array("家\u{202e}".utf8), [0x5c, 0x78]] {
            let ssid = try SSID(bytes: bytes)
            #expect(SSIDArgument(argument: ssid.description)?.ssid == ssid)
        }
    }

    @Test func statusWithoutAnything() throws {
        let status = StatusDocument(
            device: Capabilities(maxBackupNetworks: 3, deviceId: "a\u{1b}b", firmware: "0", features: []),
            network: NetworkStatus(state: .offline, uplink: nil, flags: [], since: Sample.now),
            backups: BackupList(max: 3, revision: 0, networks: []))
        #expect(
            StatusView(status: status, now: Sample.now).render(Style()) == """
                Offline
                  Since    just now
                  Uplink   none
                  Backups  0 of 3 stored
                  Device   a\\x1bb, altnet 0
                """)
    }
}
