import AgentModel
import AppProtocol
import Testing

@testable import KeyFile
@testable import altnet

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
                "SSID dBm CH SECURITY NOTE", "SSID SIGNAL dBm CH BAND SECURITY NOTE",
                "SSID SIGNAL dBm CH BAND SECURITY BSSID NOTE", "SSID SIGNAL dBm CH BAND SECURITY BSSID NOTE",
            ])
        #expect(
            Array(try scan(40).prefix(2)) == [
                "SSID          dBm  CH  SECURITY   NOTE", "家家家家家…   -60  36  WPA2/WPA3  in use",
            ])
    }

    /// There is no column for what nobody claims.
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

    /// Where even the most important columns have no room as they are, those that may be cut are cut further.
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
