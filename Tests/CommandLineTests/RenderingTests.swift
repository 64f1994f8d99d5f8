import AgentModel
import AppProtocol
import Foundation
import Terminal
import Testing

@testable import KeyFile
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
        let rest = ConnectivityDisplayText.rest(of: Portal(state: .authenticated, secondsRemaining: seconds))
        #expect(rest.isEmpty == (seconds < 1))
    }

    @Test(arguments: [
        (-30, "▂▄▆█", "####"), (-55, "▂▄▆█", "####"), (-56, "▂▄▆·", "###."), (-70, "▂▄··", "##.."),
        (-85, "▂···", "#..."),
        (-90, "····", "...."), (-200, "····", "...."), (.max, "▂▄▆█", "####"), (.min, "····", "...."),
    ])
    func barsFollowTheSignal(signal: Int, unicode: String, ascii: String) {
        #expect(DisplayText.bars(signal, Style()) == unicode)
        #expect(DisplayText.bars(signal, Style(isUnicode: false)) == ascii)
    }

    @Test(arguments: [
        (0, "just now"), (-999_999, "just now"), (1000, "1 s ago"), (119_999, "119 s ago"), (120_000, "2 min ago"),
        (7_199_999, "119 min ago"), (7_200_000, "2 h ago"), (172_800_000, "2 d ago"),
    ])
    func agesAreInTheirLargestUnit(milliseconds: Int64, text: String) {
        let then = Timestamp(millisecondsSince1970: Sample.now.millisecondsSince1970 - milliseconds)
        #expect(DisplayText.ago(then, now: Sample.now) == text)
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

    /// A printed SSID can be given back as an argument.
    @Test func namesReadAsTheyPrint() throws {
        for bytes: [UInt8] in [[0xff, 0x00], [0x5c], Array("Home Net".utf8), Array("家\u{202e}".utf8), [0x5c, 0x78]] {
            let ssid = try SSID(bytes: bytes)
            #expect(try SSIDArgument(ssid.description).ssid == ssid)
        }
    }

    @Test func statusOverAModem() throws {
        var network = NetworkStatus(
            state: .offline, uplink: .cellular, flags: .canUpdateBackups, signal: -67, since: Sample.now,
            modem: ModemStatus(
                interface: "wwan0", state: .connected, quality: 72, rssi: -67, technology: .fourth,
                operator: "a\u{1b}b"))
        let status = StatusDocument(
            device: Capabilities(maxBackupNetworks: 3, deviceId: "x", firmware: "0", features: []),
            network: network, backups: BackupList(max: 3, revision: 0, networks: []))
        #expect(
            StatusView(status: status, now: Sample.now).render(Style()) == """
                Not on Wi-Fi
                  Changed  just now
                  Uplink   a cellular network
                  Modem    wwan0, connected, 4g, a\\x1bb, -67 dBm, 72 %
                  Backups  0 of 3 stored
                  Device   x, altnet 0
                """)
        // It is not taken for that of Wi-Fi.
        network.state = .online
        network.ssid = try SSID("Home")
        #expect(DisplayText.connection(network).text == "Connected to Home")
        network = try Sample.network()
        #expect(DisplayText.connection(network).paint == .green)
        network.signal = -80
        #expect(DisplayText.connection(network).paint == .yellow)
    }

    @Test func statusWithoutAnything() throws {
        let status = StatusDocument(
            device: Capabilities(maxBackupNetworks: 3, deviceId: "a\u{1b}b", firmware: "0", features: []),
            network: NetworkStatus(state: .offline, uplink: nil, flags: [], since: Sample.now),
            backups: BackupList(max: 3, revision: 0, networks: []))
        #expect(
            StatusView(status: status, now: Sample.now).render(Style()) == """
                Offline
                  Changed  just now
                  Uplink   none
                  Backups  0 of 3 stored
                  Device   a\\x1bb, altnet 0
                """)
    }
}

/// Tables on terminals of every width.
@Suite struct TableTests {
    static let widths = [40, 60, 80, 200]

    private func scan(_ width: Int) throws -> [String] {
        let ssid = try SSID("家家家家家家家家家家")
        let results = ScanResults(
            isScanning: false, lastScanId: nil,
            networks: [
                ScannedNetwork(
                    bssid: Sample.anyBSSID, ssid: ssid, frequency: Frequency(megahertz: 5180), signal: -60,
                    security: .wpa2wpa3, ageMs: 0)
            ] + (try Sample.scan().networks))
        return lines(ScanView(results: results, current: Sample.anyBSSID, stored: [ssid]).render(Style(width: width)))
    }

    private func backups(_ width: Int) throws -> [String] {
        let list = BackupList(
            max: 3, revision: 1,
            networks: [try Sample.backup("BackupNet"), try Sample.backup(String(repeating: "x", count: 32))])
        return lines(BackupsView(list: list, now: Sample.now).render(Style(width: width)))
    }

    private func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

    @Test(arguments: widths)
    func everyTableFits(width: Int) throws {
        let sectors = (0..<2).map { SectorReport(index: $0, state: .otherVersion(9), size: 65_536) }
        let style = Style(width: width)
        let tables = [
            try scan(width), try backups(width),
            lines(DecisionView(decision: try Sample.history().decisions[0], now: Sample.now).render(style)),
            lines(WearView(estimate: WearEstimate(sectors, now: 0), sectors: sectors).render(style)).dropLast(),
        ]
        for line in tables.joined() { #expect(line.columns <= width, "\(line)") }
    }

    @Test func whatMattersLeastGoesFirst() throws {
        let headings = try Self.widths.map { try scan($0)[0].split(separator: " ").joined(separator: " ") }
        #expect(
            headings == [
                "SSID dBm CH NOTE", "SSID SIGNAL dBm CH BAND SECURITY NOTE",
                "SSID SIGNAL dBm CH BAND SECURITY BSSID NOTE", "SSID SIGNAL dBm CH BAND SECURITY BSSID NOTE",
            ])
        #expect(
            Array(try scan(40).prefix(2)) == [
                "SSID                  dBm  CH  NOTE", "家家家家家家家家家家  -60  36  in use",
            ])
    }

    @Test func theLoadIsShownWhereAnAccessPointSaysIt() throws {
        func render(_ load: Int?) throws -> [String] {
            let cafe = ScannedNetwork(
                bssid: Sample.anyBSSID, ssid: try SSID("Cafe"), frequency: Frequency(megahertz: 2412), signal: -60,
                load: load, security: .open, ageMs: 0)
            let results = ScanResults(isScanning: false, lastScanId: nil, networks: [cafe])
            return lines(ScanView(results: results, current: nil, stored: []).render(Style(width: .max)))
        }
        let table = try render(42)
        #expect(table[0].contains(" LOAD "))
        #expect(table[1].contains(" 42 % "))
        #expect(try render(nil)[0].contains("LOAD") == false)
    }

    /// Without claims there is no column for them.
    @Test func whoClaimsANetworkIsShown() throws {
        func render(_ providers: [String], _ width: Int) throws -> [String] {
            let cafe = ScannedNetwork(
                bssid: Sample.anyBSSID, ssid: try SSID("Cafe"), frequency: Frequency(megahertz: 2412), signal: -60,
                security: .open, ageMs: 0, providers: providers)
            let results = ScanResults(
                isScanning: false, lastScanId: nil, networks: try Sample.scan().networks.prefix(1) + [cafe])
            return lines(ScanView(results: results, current: nil, stored: []).render(Style(width: width)))
        }
        let table = try render(["cafe", "click-through"], .max)
        #expect(table[0].hasSuffix("BSSID              PROVIDERS            NOTE"))
        #expect(table[1].split(separator: " ").last == "02:00:00:00:01:00")
        #expect(table[2].hasSuffix("02:00:00:00:01:00  cafe, click-through  "))
        #expect(try render(["\u{1b}[2Jevil"], .max).joined().contains("\u{1b}") == false)
        #expect(try render([], .max)[0].contains("PROVIDERS") == false)
        for width in Self.widths {
            for line in try render(Array(repeating: "x", count: 64), width) { #expect(line.columns <= width) }
        }
    }

    /// Part of a hash names no network, so there is all of it or nothing.
    @Test(arguments: widths + [30, 50, 70])
    func hashesAreNeverCut(width: Int) throws {
        let hash = try Sample.backup("BackupNet").hash.base64.prefix(8)
        #expect(try backups(width)[1].contains(hash))
        let bssid = try scan(width)[1].contains("02:")
        #expect(try scan(width)[1].contains("02:00:00:00:01:00") == bssid)
    }

    @Test func whatIsNoTerminalGetsEverything() throws {
        #expect(try scan(.max) == scan(200))
        #expect(try backups(.max).joined().contains(String(repeating: "x", count: 32)))
        #expect(!(try backups(.max) + scan(.max)).joined().contains("…"))
    }

    /// If even the most important columns have no room, those that may be cut are cut further.
    @Test func theLastResortIsToCutMore() {
        var table = Table(columns: [
            .init(title: "NAME", minimum: 12), .init(title: "HASH"), .init(title: "X", rank: 1),
        ])
        table.rows = [[.init(String(repeating: "n", count: 20)), "12345678", "x"]]
        #expect(table.render(Style(width: 22)) == "NAME          HASH\nnnnnnnnnnnn…  12345678")
        #expect(table.render(Style(width: 15)) == "NAME   HASH\nnnnn…  12345678")
        #expect(table.render(Style(width: 5)) == "NAME  HASH\nnnn…  12345678")
    }
}

@Suite struct KeyFileRenderingTests {
    private static let day: UInt32 = 86_400
    private static let begun: UInt32 = 1_700_000_000

    private func sectors() -> [SectorReport] {
        var first = SectorReport(index: 0, state: .older, size: 4096)
        first.header = .init(eraseCount: 900, sequence: 7, begun: Self.begun)
        (first.records, first.generations, first.isClosed) = (21, 100...120, true)
        (first.used, first.usedByBeginning) = (4096, 96)
        var second = SectorReport(index: 1, state: .current, size: 4096)
        second.header = .init(eraseCount: 899, sequence: 8, begun: Self.begun + 10 * Self.day)
        (second.records, second.generations) = (11, 121...131)
        (second.used, second.usedByBeginning) = (2096, 96)
        return [first, second, SectorReport(index: 2, state: .blank, size: 4096)]
    }

    @Test func wearIsATableAndAnOutlook() {
        let sectors = sectors()
        let estimate = WearEstimate(sectors, now: Self.begun + 15 * Self.day, cycles: 1000)
        #expect(
            WearView(estimate: estimate, sectors: sectors).render(Style()) == """
                SECTOR  ERASED  WORN      BEGUN
                     0     900  ███████░  2023-11-14
                     1     899  ███████░  2023-11-24
                     2       -  ░░░░░░░░  -

                This flash lasts 8.2 years more, at 1000 erasures per sector.
                  Measured over  15 d, 1.5 sectors started
                  Written        409 B a day, 730 changes a year
                  Erased         12.2 times a year, each sector
                  On an SD card  3.0 MiB a year in pages of 4 KiB; the card levels its own wear
                  In one place   1.4 years, if every change erased the same sector
                """)
        let plain = WearView(estimate: estimate, sectors: sectors).render(Style(isUnicode: false))
        #expect(plain.contains("     0     900  #######.  2023-11-14"))
        #expect(plain.utf8.count == plain.count)
    }

    @Test func withoutAFigureThereIsNone() {
        for (now, words) in [
            (Self.begun, "set back"), (0, "not set"),
            (Self.begun + 10 * Self.day, "Try again"),
        ] {
            var sectors = sectors()
            if now > Self.begun { sectors.removeFirst() }
            let text = WearView(estimate: WearEstimate(sectors, now: now), sectors: sectors).render(Style())
            #expect(text.contains(words))
            #expect(!text.contains("years"))
        }
    }

    @Test(arguments: [
        (0.05, "less than two months"), (0.5, "0.5 years"), (9.96, "10.0 years"), (12.9, "12 years"),
        (1e6, "more than 1000 years"), (.infinity, "more than 1000 years"),
    ])
    func yearsAreRounded(years: Double, text: String) { #expect(DisplayText.years(years) == text) }

    @Test(arguments: [
        (0.0, "0 B"), (1023.9, "1023 B"), (1024, "1.0 KiB"), (3_145_728, "3.0 MiB"), (2e9, "1.9 GiB"),
        (1e40, "more than 10^15 GiB"),
    ])
    func bytesAreRounded(bytes: Double, text: String) { #expect(DisplayText.bytes(bytes) == text) }

    @Test(arguments: [(-1.0, "........"), (0, "........"), (0.5, "####...."), (1, "########"), (7, "########")])
    func barsStayInBounds(share: Double, bar: String) {
        #expect(DisplayText.bar(share, Style(isUnicode: false)) == bar)
    }
}

@Suite struct TextOutputTests {
    /// A pipe takes only a part at a time.
    @Test func writesAllOfIt() async throws {
        let pipe = Pipe()
        let text = String(repeating: "家 and home\n", count: 40_000)
        // On a thread of its own, started before anything blocks: those of Swift's pool are few.
        let (read, reader) = AsyncStream.makeStream(of: Data.self)
        Thread.detachNewThread {
            reader.yield(pipe.fileHandleForReading.readDataToEndOfFile())
            reader.finish()
        }
        try TextOutput(descriptor: pipe.fileHandleForWriting.fileDescriptor).put(text)
        try pipe.fileHandleForWriting.close()
        let data = try #require(await read.first { _ in true })
        #expect(String(decoding: data, as: UTF8.self) == text)
    }

    @Test func saysWhyItCannot() {
        #expect(throws: SystemError("write", errno: EBADF)) { try TextOutput(descriptor: -1).put("text") }
        #expect(throws: Never.self) { try TextOutput(descriptor: -1).put("") }
    }
}
