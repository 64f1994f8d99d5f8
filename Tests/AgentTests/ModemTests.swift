import AgentModel
import AppProtocol
import Linux
import Testing

@testable import Agent

@Suite struct ModemReportTests {
    static let answer = #"""
        altnet-modem 1
        modem
        State i 11
        SignalQuality (ub) 72 true
        AccessTechnologies u 16384
        Ports a(su) 3 "cdc-wdm0" 6 "wwan0" 2 "ttyUSB2" 3
        OperatorName s "T\303\251l\303\251phone \"1\""
        Rate u 30
        Lte a{sv} 4 "rssi" d -67 "rsrq" d -11 "rsrp" d -95.4 "snr" d 12.6
        Umts a{sv} 0
        bearer
        Interface s "wwan0"
        Connected b true
        end

        """#

    private func read(_ lines: String...) throws -> [ModemReport] {
        try ModemReport.read((["altnet-modem 1"] + lines + ["end", ""]).joined(separator: "\n").utf8)
    }

    // covers: seed/reach-cellular
    @Test func readsAModem() throws {
        let modem = try #require(ModemReport.read(Self.answer.utf8).first)
        #expect(
            modem.status(of: "wwan0")
                == ModemStatus(
                    interface: "wwan0", state: .connected, quality: 72, rssi: -67, rsrp: -95, technology: .fourth,
                    operator: "T\u{e9}l\u{e9}phone \"1\""))
        #expect(modem.interfaces == ["wwan0"])
        #expect(modem.isConnected("wwan0") == true)
        #expect(modem.status(of: "wwan0").signal == -67)
    }

    /// ModemManager is not there, or has no modem.
    @Test func thereMayBeNoModem() throws {
        #expect(try read().isEmpty)
        #expect(try read("modem") == [ModemReport()])
        #expect(ModemReport().isConnected("wwan0") == nil)
    }

    private static let malformed: [(String, ModemReportError)] = [
        ("", ModemReportError.notAnAnswer), ("altnet-modem 2\nend\n", .notAnAnswer), ("altnet-modem 1\n", .incomplete),
        ("altnet-modem 1\nmodem\nState i 11\n", .incomplete), ("altnet-modem 1\nend", .incomplete),
        ("altnet-modem 1\nend\nend\n", .line(2)), ("altnet-modem 1\nState i 11\nend\n", .line(2)),
        ("altnet-modem 1\nbearer\nend\n", .line(2)), ("altnet-modem 1\nmodem\nState s \"x\"\nend\n", .line(3)),
        ("altnet-modem 1\nmodem\nState i\nend\n", .line(3)), ("altnet-modem 1\nmodem\nState i 1 2\nend\n", .line(3)),
        ("altnet-modem 1\nmodem\nState i 99999999999999999999\nend\n", .line(3)),
        ("altnet-modem 1\nmodem\nPorts a(su) 2 \"wwan0\" 2\nend\n", .line(3)),
        ("altnet-modem 1\nmodem\nOperatorName s \"x\nend\n", .line(3)),
        ("altnet-modem 1\nmodem\nOperatorName s \"\\9\"\nend\n", .line(3)),
        ("altnet-modem 1\nmodem\nOperatorName s \"\\30\"\nend\n", .line(3)),
        ("altnet-modem 1\nmodem\nConnected b true\nend\n", .line(3)),
        ("altnet-modem 1\nmodem\nLte a{sv} 1 \"rssi\" s \"x\"\nend\n", .line(3)),
        ("altnet-modem 1\nmodem\nx\u{e9}\nend\n", .line(3)), ("altnet-modem 1\nmodem\n\nend\n", .line(3)),
        (String(repeating: "x", count: 20_001), .tooLong),
        ("altnet-modem 1\n" + String(repeating: "modem\n", count: 5) + "end\n", .tooMany(line: 6)),
        ("altnet-modem 1\nmodem\n" + String(repeating: "bearer\n", count: 5) + "end\n", .tooMany(line: 7)),
        ("altnet-modem 1\nmodem\nX" + String(repeating: " 1", count: 64) + "\nend\n", .tooMany(line: 3)),
    ]

    @Test(arguments: malformed)
    func whatIsNoAnswerIsRefused(text: String, error: ModemReportError) {
        #expect(throws: error) { try ModemReport.read(text.utf8) }
        #expect("\(error)".allSatisfy { $0 != "\n" })
    }

    /// Numbers that ModemManager has for "not known", and others that no modem has.
    @Test func valuesOutOfRangeAreNotKnown() throws {
        let modem = try #require(
            try read(
                "modem", "State i 77", "SignalQuality (ub) 4294967295 false", "AccessTechnologies u 4294967295",
                "Lte a{sv} 3 \"rssi\" d -1.79769e+308 \"rsrp\" d nan \"rsrq\" d inf", "Gsm a{sv} 1 \"rssi\" d 0",
                "Ports a(su) 1 \"../../x\" 2", "Unheard v i 7", "OperatorName s \"\""
            ).first)
        #expect(modem == ModemReport(technology: .fifth))
    }

    @Test func theOperatorCannotHarmATerminal() throws {
        let name = #"\033[2J"# + String(repeating: "x", count: 100)
        let modem = try #require(try read("modem", "State i 8", "OperatorName s \"\(name)\"").first)
        let shown = try #require(modem.status(of: "wwan0").operator)
        #expect(shown.count == 64 && shown.unicodeScalars.allSatisfy { $0.value >= 0x20 })
    }

    @Test(arguments: [(1 << 1, ModemStatus.Technology.second), (1 << 5, .third), (1 << 16, .fourth), (1 << 15, .fifth)])
    func theNewestTechnologyCounts(bits: Int, technology: ModemStatus.Technology) {
        #expect(ModemStatus.Technology(bits: bits) == technology)
        #expect(ModemStatus.Technology(bits: bits | 1 << 3) == max(technology, .second))
        #expect(ModemStatus.Technology(bits: 0) == nil && ModemStatus.Technology(bits: 1) == nil)
    }

    /// A number of a state is that of `MMModemState`.
    @Test func statesHaveTheirNumbers() {
        #expect((-1...11).map(ModemStatus.State.init(number:)) == ModemStatus.State.allCases)
        #expect([-2, 12, .max].map(ModemStatus.State.init(number:)) == [.unknown, .unknown, .unknown])
    }

    @Test(arguments: [8, 3, -1, 10])
    func aModemWithoutAConnectionIsKnownAsThat(state: Int) throws {
        let modem = try #require(
            try read("modem", "State i \(state)", "SignalQuality (ub) 40 true", "Ports a(su) 1 \"wwan0\" 2").first)
        #expect(modem.isConnected("wwan0") == false)
        #expect(modem.status(of: "wwan0").quality == (state >= 8 ? 40 : nil), "told of a network alone")
    }

    /// Each connection has an interface of its own, and PPP one that ModemManager does not name.
    @Test func interfacesFindTheirModem() throws {
        let modems = try read(
            "modem", "State i 11", "Ports a(su) 1 \"wwan0\" 2", "bearer", "Interface s \"qmapmux0.0\"",
            "Connected b true", "bearer", "Interface s \"qmapmux0.1\"", "Connected b false")
        #expect(ModemReport.modem(of: "qmapmux0.0", among: modems)?.isConnected("qmapmux0.0") == true)
        #expect(ModemReport.modem(of: "qmapmux0.1", among: modems)?.isConnected("qmapmux0.1") == false)
        #expect(ModemReport.modem(of: "wwan0", among: modems)?.isConnected("wwan0") == true)
        for other in ["usb0", "ppp0"] { #expect(ModemReport.modem(of: other, among: modems) == nil) }
        let serial = try read("modem", "State i 11", "Ports a(su) 1 \"ttyUSB0\" 3", "bearer", "Interface s \"ttyUSB0\"")
        #expect(ModemReport.modem(of: "ppp0", among: serial)?.isConnected("ppp0") == true)
        #expect(ModemReport.modem(of: "ppp0", among: serial + serial) == nil)
    }
}

// covers: seed/reach-cellular
@Suite struct ModemScheduleTests {
    private static let start = Instant(milliseconds: 1_000_000)
    private func after(_ seconds: Int) -> Instant { Self.start + .seconds(seconds) }
    private let connected = ModemReport(state: .connected, quality: 72, interfaces: ["wwan0"])

    @Test func nothingIsAskedWithoutAModem() {
        var schedule = ModemSchedule()
        #expect(schedule.follow([:], at: Self.start) == nil)
        #expect(schedule.query(at: Self.start) == nil && schedule.due(at: Self.start) == nil)
        #expect(schedule.status(carrying: nil) == nil && schedule.disconnected.isEmpty)
    }

    @Test func isAskedEveryHalfMinuteAndForAppsAfterTenSeconds() {
        var schedule = ModemSchedule()
        #expect(schedule.follow(["wwan0": []], at: Self.start) == .ask)
        #expect(schedule.query(at: after(1)) == nil, "one question at a time")
        #expect(schedule.ended([connected], at: after(1)) == .wait(until: after(31)))
        #expect(schedule.status(carrying: "wwan0")?.quality == 72)
        #expect(schedule.query(at: after(10)) == nil)
        #expect(schedule.query(at: after(11)) == .ask)
        #expect(schedule.ended([connected], at: after(12)) == .wait(until: after(42)))
        #expect(schedule.due(at: after(42)) == .ask)
        #expect(schedule.ended([connected], at: after(43)) == .wait(until: after(73)))
    }

    /// No ModemManager, or one that knows another modem: no flood of questions, however often apps ask.
    @Test func asksLessAndLessWhereNothingIsTold() {
        var schedule = ModemSchedule()
        _ = schedule.follow(["usb0": []], at: Self.start)
        var now = Self.start
        for pause in [30, 60, 120, 240, 480, 480] {
            #expect(schedule.ended(pause == 120 ? nil : [connected], at: now) == .wait(until: now + .seconds(pause)))
            #expect(schedule.query(at: now + .seconds(20)) == nil)
            now = now + .seconds(pause)
            #expect(schedule.due(at: now) == .ask)
        }
        #expect(schedule.status(carrying: "usb0") == nil && schedule.disconnected.isEmpty)
    }

    /// An address comes with a connection: what is known is old at once.
    @Test func aChangeOfTheInterfaceAsksAtOnce() {
        var schedule = ModemSchedule()
        _ = schedule.follow(["wwan0": []], at: Self.start)
        #expect(schedule.follow(["wwan0": ["10.0.0.2"]], at: after(1)) == nil, "the answer may be of before")
        #expect(schedule.ended([connected], at: after(1)) == .wait(until: after(2)))
        #expect(schedule.due(at: after(2)) == .ask)
        _ = schedule.ended([connected], at: after(3))
        #expect(schedule.follow(["wwan0": []], at: after(20)) == .ask)
        _ = schedule.ended([connected], at: after(20))
        #expect(schedule.follow(["wwan0": ["10.0.0.3"]], at: after(21)) == .wait(until: after(22)))
        #expect(schedule.follow([:], at: after(21)) == .stopWaiting)
        #expect(schedule.status(carrying: nil) == nil)
    }

    @Test func whatIsNotConfirmedIsForgotten() {
        var schedule = ModemSchedule()
        _ = schedule.follow(["wwan0": []], at: Self.start)
        _ = schedule.ended([ModemReport(state: .registered, interfaces: ["wwan0"])], at: Self.start)
        #expect(schedule.disconnected == ["wwan0"])
        _ = schedule.due(at: after(30))
        _ = schedule.ended(nil, at: after(50))
        #expect(schedule.disconnected == ["wwan0"], "one answer that did not come")
        _ = schedule.due(at: after(80))
        _ = schedule.ended(nil, at: after(100))
        #expect(schedule.disconnected.isEmpty && schedule.status(carrying: nil) == nil)
    }

    @Test func theModemThatCarriesTheTrafficIsTold() {
        var schedule = ModemSchedule()
        _ = schedule.follow(["wwan0": [], "wwan1": []], at: Self.start)
        _ = schedule.ended([connected, ModemReport(state: .searching, interfaces: ["wwan1"])], at: Self.start)
        #expect(schedule.status(carrying: "wwan1")?.state == .searching)
        #expect(schedule.status(carrying: "eth0")?.interface == "wwan0")
        #expect(schedule.disconnected == ["wwan1"])
    }
}

@AgentLoop @Suite(.timeLimit(.minutes(10))) struct ModemWatchTests {
    /// A board without the package, or without ModemManager: not a line in the log, and nothing is told.
    @Test func withoutTheHelperNothingIsSaid() async throws {
        try await inFolder { folder in
            await ManualClock().run { clock in
                var lines: [String] = []
                var changes = 0
                let watch = ModemWatch(socket: folder + "/socket", log: { lines.append($1) }) { changes += 1 }
                watch.follow(["wwan0": []])
                for pause in [30, 60, 120, 240, 480, 480] {
                    await clock.untilTimer(of: .seconds(pause))
                    clock.advance(by: .seconds(pause))
                }
                #expect(lines.isEmpty && changes == 0 && watch.status(carrying: nil) == nil)
            }
        }
    }
}
