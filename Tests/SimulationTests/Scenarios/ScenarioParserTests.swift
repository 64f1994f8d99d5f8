import AgentModel
import Failover
import Testing

@testable import Simulation

/// What the example in the document does not show.
@Suite struct ScenarioParserTests {
    @Test func happeningsComeInTheOrderOfTimeAndThenOfLines() throws {
        let scenario = try parse(
            "ap a Home channel 1 signal -50", "at 3m a full", "at 1m a off", "at 3m a on", "every 1m from 1m a not full"
        )
        let orders = scenario.happenings.prefix(7).map { ($0.at.milliseconds / 60_000, $0.change) }
        #expect(orders.map(\.0) == [1, 1, 2, 3, 3, 3, 4])
        #expect(orders[0].1 == .power(ap: "a", isOn: false))
        #expect(orders[1].1 == .full(ap: "a", false))
        #expect(orders[3].1 == .full(ap: "a", true))
        #expect(orders[4].1 == .power(ap: "a", isOn: true))
        #expect(orders[5].1 == .full(ap: "a", false))
    }

    @Test func aRepetitionEndsBeforeItsEndAndBeforeTheScenarios() throws {
        let bounded = try parse("ap a Home channel 1 signal -50", "every 10m from 10m until 30m a off")
        #expect(bounded.happenings.map { $0.at.milliseconds / 60_000 } == [10, 20])
        let open = try parse("ap a Home channel 1 signal -50", "every 20m from 10m a off")
        #expect(open.happenings.map { $0.at.milliseconds / 60_000 } == [10, 30, 50])
    }

    @Test func aCrowdIsSpreadOverChannelsAndSignals() throws {
        let crowd = try parse("crowd flat 40 channels 1,6,36 signal -89 to -50 open").accessPoints
        #expect(crowd.count == 40)
        #expect(crowd.prefix(4).map(\.frequency.megahertz) == [2412, 2437, 5180, 2412])
        let signals = crowd.compactMap { if case .signal(let signal) = $0.place { signal } else { nil } }
        #expect(signals.allSatisfy { (-89 ... -50).contains($0) })
        for decade in [-89 ... -80, -79 ... -70, -69 ... -60, -59 ... -50] {
            #expect((9...11).contains(signals.count { decade.contains($0) }))
        }
        #expect(abs(signals[0] - signals[1]) > 5, "not in a row")
    }

    @Test func anOwnNameBeginsWithALetterAndIsNoWordOfTheFormat() throws {
        #expect(message("ap agent Home channel 1 signal -50")?.contains("says nothing else") == true)
        #expect(message("ap 5G Home channel 1 signal -50") != nil)
        #expect(message("ap a*b Home channel 1 signal -50") != nil)
        #expect(try parse("ap A_5-g Home channel 1 signal -50").accessPoints.map(\.name) == ["A_5-g"])
    }

    @Test func aNeighbourMayUseTheKnownNameWithoutAPassword() throws {
        let scenario = try parse("ap twin Home channel 1 signal -40 open", "ap own Home channel 1 signal -60")
        #expect(scenario.accessPoints.map(\.password) == [nil, "made-up-word"])
    }

    @Test func commandsMayGoUnconfirmed() throws {
        let home = try SSID("Home")
        let scenario = try parse("at 1m command Home", "at 2m command Home confirm within 30s")
        #expect(
            scenario.happenings.map(\.change) == [
                .command(network: home, confirmWithin: nil, confirmAfter: nil),
                .command(network: home, confirmWithin: .seconds(30), confirmAfter: nil),
            ])
    }

    @Test(arguments: [(1, 2412), (13, 2472), (14, 2484), (36, 5180), (64, 5320), (144, 5720), (149, 5745), (177, 5885)])
    func channels(number: Int, megahertz: Int) throws {
        let scenario = try parse("ap a Home channel \(number) signal -50")
        #expect(scenario.accessPoints.map(\.frequency.megahertz) == [megahertz])
    }

    @Test(arguments: [0, 15, 35, 37, 68, 96, 145, 148, 181, -1])
    func noChannels(number: Int) {
        #expect(message("ap a Home channel \(number) signal -50") != nil)
    }

    @Test(arguments: [
        ("0s", 0), ("7ms", 7), ("90s", 90_000), ("1h30m", 5_400_000), ("1d2h3m4s5ms", 93_784_005), ("90m", 5_400_000),
    ])
    func times(text: String, milliseconds: Int64) throws {
        let scenario = try parse("ap a Home channel 1 signal -50 address \(text)")
        #expect(scenario.accessPoints.first?.addressTime == .milliseconds(milliseconds))
    }

    @Test(arguments: [
        "5", "s", "1.5s", "-1s", "+1s", "5 s", "1m1h", "1s1s", "1h30", "5sec", "1000000000s", "367d", "1S", "\"1s\"",
        "99999999999999999999d", "१s",
    ])
    func noTimes(text: String) {
        #expect(message("ap a Home channel 1 signal -50 address \(text)") != nil)
    }

    @Test(arguments: ["nan", "inf", "1e3", "0x10", "1.", ".5", "1.0000001", "--1", "+1", "61", "-1", "1,5"])
    func noDecimals(text: String) {
        #expect(message("ap a Home channel 1 signal -50 fading \(text)") != nil)
    }

    @Test func bytesOfNamesAndLineEndsOfWindows() throws {
        let text = Self.head.replacing("Home", with: #""\x00\xff\\\" \x41""#).replacing("\n", with: "\r\n")
        let scenario = try Scenario(parsing: text.utf8, name: "test", file: "test.scenario")
        #expect(scenario.networks.map(\.ssid.bytes) == [[0, 255, 0x5c, 0x22, 0x20, 0x41]])
        #expect(scenario.title == "Test")
    }

    // MARK: Settings

    /// Every setting of the policy has its names here.
    @Test func allSettingsOfThePolicy() throws {
        let names = Mirror(reflecting: PolicySettings()).children.compactMap(\.label)
        let named = Set(PolicySetting.all.map { String($0.name.prefix { $0 != "." }) })
        #expect(named == Set(names))
        var settings = PolicySettings()
        settings.validation = .init()
        for setting in PolicySetting.all {
            let value = try #require(setting.value(in: settings))
            let head = Self.head.replacing("network", with: "set \(setting.name) \(value)\nnetwork")
            let scenario = try Scenario(parsing: head.utf8, name: "test", file: "test.scenario")
            #expect(scenario.settings == (setting.name.hasPrefix("validation") ? settings : PolicySettings()))
        }
    }

    @Test func settingsHaveUnits() throws {
        let lines = [
            "margin 10dB", "five.weak -75dBm", "scanInterval.known.last 1m30s", "scanShare 9", "validation.retry 2s",
        ]
        let text = Self.head.replacing("network", with: lines.map { "set \($0)\n" }.joined() + "network")
        var settings = PolicySettings()
        settings.margin = 10
        settings.five.weak = -75
        settings.scanInterval.known.last = .seconds(90)
        settings.scanShare = 9
        var validation = PolicySettings.Validation()
        validation.retry = .seconds(2)
        settings.validation = validation
        #expect(try Scenario(parsing: text.utf8, name: "test", file: "test.scenario").settings == settings)
    }

    @Test func aSettingByItsOldNameIsReadWithAWarning() throws {
        let text = Self.head.replacing("network", with: "set look.last 90s\nnetwork")
        let scenario = try Scenario(parsing: text.utf8, name: "test", file: "test.scenario")
        #expect(scenario.settings.scanInterval.known.last == .seconds(90))
        #expect(scenario.warnings.count == 1 && scenario.warnings[0].contains("scanInterval.known.last"))
        #expect(try Scenario(parsing: Self.head.utf8, name: "test", file: "test.scenario").warnings.isEmpty)
    }

    // MARK: Parts

    private static let head = "title Test\nabout It tests.\nduration 1h\nnetwork Home password made-up-word\n"

    private func parse(_ lines: String...) throws -> Scenario { try parse(lines) }

    private func parse(_ lines: [String]) throws(ScenarioError) -> Scenario {
        let text = Self.head + lines.joined(separator: "\n")
        return try Scenario(parsing: text.utf8, name: "test", file: "test.scenario")
    }

    private func message(_ lines: String...) -> String? {
        do throws(ScenarioError) {
            _ = try parse(lines)
            return nil
        } catch {
            return error.description
        }
    }
}
