import AgentModel
import AppProtocol
import Foundation
import Lab
import Terminal
import Testing

@testable import altnet

/// Whole frames of `altnet watch`.
@Suite struct WatchScreenTests {
    private func frame(
        _ columns: Int, _ rows: Int, of state: WatchState, unicode: Bool = true, colour: Bool = false,
        at now: Instant = WatchStory.end
    ) -> [String] {
        WatchScreen(
            state: state, now: now, time: Sample.now, size: WatchScreen.Size(columns: columns, rows: rows),
            style: Style(hasColour: colour, isUnicode: unicode, width: columns)
        ).lines()
    }

    /// That many seconds before the frame, in whatever time zone the test runs.
    private func clock(_ seconds: Int64) -> String { LocalTime.clock(Sample.ago(seconds)) }

    @Test func aScreenOfTheUsualSize() throws {
        let frame = frame(80, 24, of: try WatchStory.state())
        #expect(
            frame.joined(separator: "\n") == """
                altnet watch  bench-01                                         \(clock(0))  q quits
                Offline for 20 s
                -30 ┤
                -40 ┤
                    │
                -50 ┤    ⣀
                    │     ⠙⠢⠤⣀
                -60 ┤        ⠈⠑⠒⢤⡀ A         A     A ⠐⠓⠛⠚⠓⠛⠚⠓⠛⠚⠓⠛⠚⠓⠛⠚⠓⠁         ⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀
                    │            ⠈⠓⠲⢄⡀                                          ⠈⠉⠉⠉⠉⠉⠉⠉⠉⠉⠁
                -70 ┤weak┈┈┈┈┈┈┈┈┈┈┈┈⠉⠙⠢⣄┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈
                    │                    ⠉⠑⠦⣀                                          C
                -80 ┤critical┈┈┈┈┈┈B┈┈┈┈┈┈┈┈⠈B⠓⢤⣀⡀┈B┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈B┈┈┈┈┈┈┈┈
                    │                            ⠉⠲⢄⣀
                -90 ┤
                    └    C──────────────────────────×A────────────────??????????A─────────××××××
                     -5 min        -4             -3             -2             -1           now
                A BackupNet -60   B Attic -80   C HomeNet -78

                \(clock(170))  joining BackupNet: the link was weak at -83 dBm
                \(clock(166))  online on BackupNet
                \(clock(166))  switch: connected
                \(clock(60))  the agent was restarted
                \(clock(20))  the link to BackupNet was lost
                """)
    }

    @Test func howFarTheNetworkLeadsIsALineOfItsOwn() throws {
        var status = try WatchStory.network("HomeNet", signal: -50)
        status.connectivity = Connectivity(
            internet: .no, problem: .gatewaySilent,
            targets: [
                TargetStatus(
                    name: "家", host: "a.example", port: 1, state: .waiting, reason: .timedOut, since: Sample.ago(12))
            ])
        var state = WatchState()
        state.update(status, at: WatchStory.end)
        let line = frame(120, 24, of: state)[2]
        #expect(["internet: no (", "; 家: ", "for 12 s ("].allSatisfy { line.contains($0) }, "\(line)")
        #expect(frame(50, 24, of: state)[2].columns <= 50)
        #expect(frame(120, 24, of: state, unicode: false)[2] == line.ascii)
        state.lost("gone", at: WatchStory.end)
        #expect(!frame(120, 24, of: state).contains(line))
    }

    @Test func aSmallScreenThatKnowsNothingButASCII() throws {
        let frame = frame(48, 14, of: try WatchStory.state(), unicode: false)
        #expect(
            frame.joined(separator: "\n") == """
                altnet watch  bench-01         \(clock(0))  q quits
                Offline for 20 s
                -30 +
                    |  *****      A    **********
                -70 +weak..*A*****....A...............*******...
                -80 +criticaB....*B***B....................B....
                -90 +
                    +  C--------------xA---------?????A-----xxxx
                     -5 min           -3                     now
                A BackupNet -60   B Attic -80   C HomeNet -78

                \(clock(166))  switch: connected
                \(clock(60))  the agent was restarted
                \(clock(20))  the link to BackupNet was lost
                """)
    }

    @Test func whereThereIsNoRoomForAChart() throws {
        #expect(
            frame(20, 4, of: try WatchStory.state()) == [
                "altnet watch  bench…", "Offline for 20 s", "", "\(clock(20))  the link …",
            ])
        #expect(frame(20, 1, of: try WatchStory.state()) == ["altnet watch  bench…"])
    }

    @Test func aBrokenConnectionIsSaid() throws {
        var state = try WatchStory.state()
        state.lost("nobody\u{1b}[2J", at: WatchStory.end.advanced(by: .seconds(-7)))
        // The reason may change; how long it lasts does not begin anew.
        state.lost("nobody at home", at: WatchStory.end.advanced(by: .seconds(-2)))
        let lines = frame(80, 24, of: state)
        #expect(lines[1] == "Last known: Offline")
        #expect(lines[2].contains(" 7 s") && lines[2].hasSuffix(": nobody at home"))
        #expect(lines.contains { $0.hasPrefix("    └") && $0.hasSuffix("??") })
    }

    @Test func aSwitchIsShownUntilItHasEnded() throws {
        var state = try WatchStory.state()
        let joining = SwitchStatus(switchId: "s-2", phase: .waitingForAddress)
        state.handle(WatchStory.event(.switchProgress(joining)), at: WatchStory.end)
        #expect(frame(80, 24, of: state)[2] == "Switch s-2: \(DisplayText.phase(.waitingForAddress))")
        let ended = SwitchStatus(switchId: "s-2", phase: .rolledBack, text: "Attic: wrong\u{7}")
        state.handle(WatchStory.event(.switchProgress(ended)), at: WatchStory.end)
        let lines = frame(80, 24, of: state)
        #expect(!lines[2].hasPrefix("Switch"))
        #expect(lines.last?.hasSuffix("switch: rolled back: Attic: wrong\\x07") == true)
    }

    /// For every name of an access point, no line is longer than the terminal, and no character moves the others.
    @Test(arguments: [true, false])
    func nothingBreaksTheLayout(unicode: Bool) throws {
        var state = try WatchStory.state()
        let hostile = [
            "家家家家家家家家家家", "\u{1b}[2J\u{7}\r\n\t", "e\u{301}\u{200d}\u{202e}abc", "👩‍👩‍👧⚡️⌚", "\u{1160}ᅠ\u{3164}", "🇩🇪",
        ]
        state.update(
            BackupList(
                max: 9, revision: 8, networks: try hostile.map { try Sample.backup($0) }))
        for (second, name) in hostile.enumerated() {
            let time = WatchStory.end.advanced(by: .seconds(-6 + second))
            state.update(try WatchStory.network(name, signal: -20 * second), at: time)
            state.handle(
                try WatchStory.decision(9 + second, "joining \(name)", "join"), at: time)
        }
        for (columns, rows) in (1...130).map({ ($0, $0 % 41 + 1) }) + [(80, 24), (24, 40), (200, 60)] {
            let lines = frame(columns, rows, of: state, unicode: unicode)
            #expect(lines.count <= rows)
            for line in lines {
                #expect(line.columns <= columns)
                #expect(line.unicodeScalars.allSatisfy { $0.isPlain && (unicode || $0.isASCII) })
            }
        }
    }

    @Test func coloursAreAllThatColourAdds() throws {
        let plain = frame(80, 24, of: try WatchStory.state())
        let coloured = frame(80, 24, of: try WatchStory.state(), colour: true)
        #expect(!plain.joined().contains("\u{1b}"))
        #expect(coloured.joined().contains("\u{1b}[31m"))
        #expect(coloured.map { $0.replacing(#/\u{1b}\[\d+m/#, with: "") } == plain)
    }

    @Test func aLineKeepsItsShapeWhileItMoves() throws {
        let state = try WatchStory.state()
        let width = 80
        let step = WatchState.horizon.milliseconds / Int64((width - 5) * 2)
        let first = frame(width, 24, of: state, at: WatchStory.end)
        let second = frame(width, 24, of: state, at: WatchStory.end.advanced(by: .milliseconds(step * 2)))
        // Two points are one character: everything has moved by one column.
        #expect(second[5].dropFirst(5) == first[5].dropFirst(6))
    }
}

/// Pictures in Docs are output of this program. If a test fails, run it with ALTNET_WRITE_PICTURES=Docs.
@Suite struct TerminalPictureTests {
    private func expect(_ file: String, shows lines: [String], title: String, about: String) throws {
        let svg = TerminalPicture(lines: lines).svg(title: title, about: about)
        if let folder = ProcessInfo.processInfo.environment["ALTNET_WRITE_PICTURES"] {
            try Data(svg.utf8).write(to: URL(fileURLWithPath: folder).appendingPathComponent(file))
        }
        #expect(svg == Document.text(file))
    }

    @Test func aScanOfACrowdedPlace() throws {
        let networks = try Self.crowd.enumerated().map { index, network in
            ScannedNetwork(
                bssid: try #require(BSSID(bytes: [2, 0, 0, UInt8(index), 0x4a, UInt8(index * 37 % 256)])),
                ssid: try network.name.map { try SSID($0) }, frequency: Frequency(megahertz: network.megahertz),
                signal: network.signal, security: network.security, ageMs: 100)
        }
        let view = ScanView(
            results: ScanResults(isScanning: false, lastScanId: nil, networks: networks), current: networks[1].bssid,
            stored: [try SSID("HomeNet"), try SSID("GarageNet"), try SSID("BackupNet")])
        let lines = view.render(Style(hasColour: true, width: 90)).split(separator: "\n").map(String.init)
        try expect(
            "scan.svg", shows: ["$ altnet scan"] + lines, title: "altnet scan among 28 access points",
            about: "A table of 28 access points, the strongest first: name, signal, channel, band, security, address.")
    }

    /// 28 access points of a block of flats.
    private static let crowd: [(name: String?, signal: Int, megahertz: Int, security: Security)] = [
        ("HomeNet", -41, 2412, .wpa2wpa3), ("HomeNet", -46, 5180, .wpa2wpa3), ("GarageNet", -52, 2437, .wpa2),
        ("Müller", -55, 2462, .wpa2), ("Vodafone-A7C2", -57, 2412, .wpa2), ("Vodafone-A7C2", -60, 5260, .wpa2),
        ("FRITZ!Box 7590 XK", -61, 2437, .wpa2wpa3), ("Kiosk Gäste", -62, 2412, .open),
        ("BackupNet", -63, 5500, .wpa3), (nil, -64, 5500, .wpa2), ("DIRECT-7f-Printer", -66, 2437, .wpa2),
        ("o2-WLAN14", -67, 2462, .wpa2), ("TP-Link_19B4", -68, 2422, .wpa2), ("Nachbar 3", -69, 5220, .wpa3),
        ("NETGEAR62", -70, 2452, .wpa2), ("Telekom_FON", -71, 2412, .open), ("Familie Yilmaz", -72, 2437, .wpa2),
        ("UPC2748113", -73, 2462, .wpa2), ("WLAN-QX3F", -74, 2412, .wpa2), ("iPhone von Jana", -75, 2437, .wpa2wpa3),
        ("Old Router", -76, 2442, .wep), ("Praxis Dr. Weber", -77, 5300, .wpa2), (nil, -79, 2462, .wpa2),
        ("Bude 23", -80, 2412, .wpa2), ("Café am Eck", -82, 2437, .owe), ("Werkstatt", -84, 2462, .wpa2),
        ("FRITZ!Box 6660", -86, 5180, .wpa2wpa3), ("EasyBox-4D", -88, 2412, .wpa2),
    ]

    @Test func aFrameOfWatch() throws {
        let screen = WatchScreen(
            state: try WatchStory.state(), now: WatchStory.end, time: Sample.now,
            size: WatchScreen.Size(columns: 80, rows: 24), style: Style(hasColour: true, width: 80))
        // In whatever time zone this is.
        let times: [(ago: Int64, drawn: String)] = [
            (0, "14:23:46"), (20, "14:23:26"), (60, "14:22:46"), (166, "14:21:00"), (170, "14:20:56"),
        ]
        let clocks = times.map { (shown: LocalTime.clock(Sample.ago($0.ago)), drawn: $0.drawn) }
        let lines = screen.lines().map { line in
            clocks.reduce(line) { $0.replacing($1.shown, with: $1.drawn) }
        }
        try expect(
            "watch.svg", shows: lines, title: "altnet watch",
            about: "Signals of five minutes: home fades, the device moves to its backup, and loses that too.")
    }
}

/// A device that fades at home, moves to its backup, is not watched for a while, and loses that too.
enum WatchStory {
    /// Of the program's own clock.
    static let end = Instant(milliseconds: 1_000_000)

    static func state() throws -> WatchState {
        var state = WatchState()
        let begin = end.advanced(by: .seconds(-280))
        func moment(_ second: Int) -> Instant { begin.advanced(by: .seconds(second)) }
        state.connected(
            to: Capabilities(maxBackupNetworks: 3, deviceId: "bench-01", firmware: "0.1.0", features: []))
        state.update(
            BackupList(max: 3, revision: 7, networks: [try Sample.backup("BackupNet"), try Sample.backup("Attic")]))
        for second in 0..<110 {
            state.update(try network("HomeNet", signal: -50 - second / 3), at: moment(second))
        }
        for (second, signal) in [(40, -62), (80, -58), (105, -60)] {
            state.update(try scan("BackupNet", signal, "Attic", -82), at: moment(second))
        }
        let joining = try decision(1, "joining BackupNet: the link was weak at -83 dBm", "join", ago: 170)
        state.handle(joining, at: end)
        let begun = event(.switchProgress(SwitchStatus(switchId: "s-1", phase: .joining)), ago: 170)
        state.handle(begun, at: end)
        for second in 110..<114 {
            state.update(try network("BackupNet", signal: nil, .joining), at: moment(second))
        }
        state.handle(try decision(2, "online on BackupNet", "online", ago: 166), at: end)
        let committed = event(.switchProgress(SwitchStatus(switchId: "s-1", phase: .committed)), ago: 166)
        state.handle(committed, at: end)
        for second in 114..<180 {
            state.update(try network("BackupNet", signal: -58 + second % 3), at: moment(second))
        }
        state.lost("the agent closed the connection: was it stopped?", at: moment(180))
        state.connected(
            to: Capabilities(maxBackupNetworks: 3, deviceId: "bench-01", firmware: "0.1.0", features: []))
        state.handle(event(.gap(Gap(reason: .restarted, missed: 0)), ago: 60), age: .seconds(60), at: end)
        for second in 220..<260 {
            state.update(try network("BackupNet", signal: -60 - second % 2), at: moment(second))
        }
        state.update(try scan("HomeNet", -78, "Attic", -80), at: moment(250))
        state.handle(try decision(3, "the link to BackupNet was lost", "lost", ago: 20), at: end)
        state.update(try network(nil, signal: nil, .offline), at: moment(260))
        return state
    }

    /// - Parameter ago: seconds before the frame.
    static func event(_ body: Event.Body, ago: Int64 = 0) -> Event { Event(seq: 1, time: Sample.ago(ago), body: body) }

    static func decision(_ seq: Int, _ text: String, _ kind: String, ago: Int64? = nil) throws -> Event {
        event(
            .decision(
                Decision(
                    seq: seq, time: Sample.ago(ago ?? Int64(10 - seq)), monotonicMs: 0,
                    kind: Decision.Kind(rawValue: kind), from: nil, to: nil, reason: ReasonCode(rawValue: "weak"),
                    text: text)))
    }

    static func network(_ name: String?, signal: Int?, _ state: LinkState = .online) throws -> NetworkStatus {
        NetworkStatus(
            state: state, uplink: state == .online ? .wifi : nil, flags: [], ssid: try name.map { try SSID($0) },
            bssid: Sample.bssid(1), signal: signal, frequency: Frequency(megahertz: 2412), since: Sample.ago(20))
    }

    static func scan(_ networks: (name: String, signal: Int)...) throws -> ScanResults {
        ScanResults(
            isScanning: false, lastScanId: nil,
            networks: try networks.map { network in
                ScannedNetwork(
                    bssid: Sample.anyBSSID, ssid: try SSID(network.name), frequency: Frequency(megahertz: 2437),
                    signal: network.signal, security: .wpa2, ageMs: 100)
            })
    }

    private static func scan(_ first: String, _ firstSignal: Int, _ second: String, _ secondSignal: Int) throws
        -> ScanResults
    {
        try scan((first, firstSignal), (second, secondSignal))
    }
}

extension Sample {
    static let anyBSSID = BSSID(bytes: [2, 0, 0, 0, 1, 0])!
}
