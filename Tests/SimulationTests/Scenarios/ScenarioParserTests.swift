import AgentModel
import Failover
import Randomness
import Testing

@testable import Simulation

/// The parts of the language that the example in the document does not show.
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
        #expect(message("ap agent Home channel 1 signal -50")?.contains("is not a keyword") == true)
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

/// The format, as Docs/contributor/simulator.md explains it by its example.
@Suite struct ScenarioFormatTests {
    let scenario: Scenario

    init() throws {
        scenario = try Scenario(parsing: SimulationDocument.example().utf8, name: "shed", file: "shed.scenario")
    }

    @Test func theHead() {
        #expect(scenario.name == "shed")
        #expect(scenario.title == "The shed")
        #expect(
            scenario.about
                == "The device stands in the shed, hears the house only with the door open, and drives out now and then. "
                + "Indented lines go on with the text.")
        #expect(scenario.duration == .seconds(4 * 3600))
        #expect(scenario.position == Scenario.Point(x: 0, y: 0))
        var radio = Scenario.Radio()
        radio.channels = 13
        radio.dwell = .milliseconds(60)
        radio.hasFiveGigahertz = false
        radio.stations = 2
        #expect(scenario.radio == radio)
        #expect(scenario.isBusy && scenario.signInTime == .seconds(4))
    }

    @Test func theSettings() {
        var settings = PolicySettings()
        settings.margin = 10
        settings.twoPointFour.weak = -72
        settings.weakScan = BackOff(first: .seconds(30), last: .seconds(120))
        var validation = PolicySettings.Validation()
        validation.interval = .seconds(20)
        settings.validation = validation
        #expect(scenario.settings == settings)
    }

    @Test func theNetworks() throws {
        let cafe = try SSID("Café \"Sol\"")
        #expect(
            scenario.networks == [
                Scenario.Network(ssid: try SSID("House"), isPreferred: true, password: "garden-gnome"),
                Scenario.Network(ssid: cafe),
                Scenario.Network(ssid: try SSID("Attic"), isHidden: true, password: "cobweb-corner"),
            ])
    }

    @Test func theAccessPoints() throws {
        var house = Scenario.AccessPoint(
            name: "house", ssid: try SSID("House"), frequency: Frequency(megahertz: 2437), place: .signal(-63),
            password: "garden-gnome")
        house.shadowing = 3
        house.shadowingTime = .seconds(60)
        house.fading = 2
        var cafe = Scenario.AccessPoint(
            name: "cafe", ssid: try SSID("Café \"Sol\""), frequency: Frequency(megahertz: 2462),
            place: .position(Scenario.Point(x: 40, y: -9.5), atOneMetre: -35, exponent: 3.2))
        cafe.internet = .captive
        var attic = Scenario.AccessPoint(
            name: "attic", ssid: try SSID("Attic"), frequency: Frequency(megahertz: 2412), place: .signal(-71),
            password: "moth-balls-9")
        attic.addressTime = .seconds(2)
        attic.isFull = true
        attic.isOn = false
        #expect(Array(scenario.accessPoints.prefix(3)) == [house, cafe, attic])
    }

    @Test func theCrowd() throws {
        let crowd = scenario.accessPoints.dropFirst(3)
        #expect(crowd.map(\.name) == ["next1", "next2", "next3"])
        #expect(try crowd.map(\.ssid) == ["next1", "next2", "next3"].map { try SSID($0) })
        #expect(crowd.map(\.frequency.channel) == [1, 6, 11])
        #expect(crowd.allSatisfy { $0.password == "not-for-the-device" })
    }

    @Test func theHappenings() throws {
        let house = try SSID("House")
        let attic = try SSID("Attic")
        let minute = Duration.seconds(60)
        let expected: [(Duration, Scenario.Change)] = [
            (minute * 10, .signal(ap: "house", -85, over: .seconds(30))),
            (minute * 12, .signal(ap: "house", -63, over: .zero)),
            (minute * 20, .power(ap: "house", isOn: false)),
            (minute * 20, .power(ap: "attic", isOn: false)),
            (minute * 21, .power(ap: "house", isOn: true)),
            (minute * 25, .internet(ap: "cafe", .online)),
            (minute * 26, .address(ap: "cafe", nil)),
            (minute * 27, .address(ap: "cafe", .milliseconds(300))),
            (minute * 30, .power(ap: "attic", isOn: true)),
            (minute * 30, .full(ap: "attic", false)),
            (minute * 35, .password(ap: "house", "garden-dwarf")),
            (minute * 38, .newPassword(network: house, "garden-dwarf")),
            (minute * 40, .move(to: Scenario.Point(x: 30, y: -5), over: .seconds(60))),
            (minute * 50, .interference(2400...2483, loss: 0.3, for: .seconds(90))),
            (minute * 60, .command(network: attic, confirmWithin: .seconds(30), confirmAfter: .seconds(5))),
            (minute * 65, .otherUplink(.wired)),
            (minute * 66, .otherUplink(nil)),
            (minute * 120, .suspend(for: .seconds(600))),
            (minute * 150, .supplicantDies(backAfter: .seconds(3))),
            (minute * 180, .restart),
        ]
        var again: [(Duration, Scenario.Change)] = []
        for second in [0, 20, 40] {
            for number in 1...3 {
                again.append((.seconds(3 * 3600 + 1800 + second), .power(ap: "next\(number)", isOn: false)))
            }
        }
        #expect(scenario.happenings == (expected + again).map { Scenario.Happening(at: $0, $1) })
    }
}

/// Any file is a scenario within its limits or an error: never a crash.
@Suite struct ScenarioFuzzTests {
    @Test func randomBytes() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<3000 {
            let bytes = (0..<Int.random(in: 0...300, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            expectScenarioOrError(bytes)
        }
    }

    @Test func randomWords() {
        var random = SeededRandom(seed: 2)
        let words = Self.words
        var accepted = 0
        for _ in 0..<3000 {
            let lines = (0..<3).map { _ in
                (0..<Int.random(in: 1...9, using: &random)).compactMap { _ in words.randomElement(using: &random) }
                    .joined(separator: " ")
            }
            let head = "title T\nabout A\nduration 4h\nnetwork Home password made-up-word\n"
            accepted += expectScenarioOrError(Array((head + lines.joined(separator: "\n")).utf8)) ? 1 : 0
        }
        #expect(accepted < 3000)
    }

    @Test(arguments: ScenarioLibrary.names)
    func mutatedLibrary(name: String) throws {
        var random = SeededRandom(seed: 3)
        let original = try #require(ScenarioLibrary.files[name])
        for _ in 0..<60 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...4, using: &random) { Self.mutate(&bytes, &random) }
            expectScenarioOrError(bytes)
        }
    }

    @discardableResult
    private func expectScenarioOrError(_ bytes: [UInt8]) -> Bool {
        do throws(ScenarioError) {
            let scenario = try Scenario(parsing: bytes, name: "fuzz", file: "fuzz.scenario")
            #expect(scenario.duration > .zero && scenario.duration <= ScenarioParser.longestDuration)
            #expect(scenario.happenings.count <= ScenarioParser.happeningLimit)
            #expect(scenario.happenings.allSatisfy { $0.at >= .zero && $0.at < scenario.duration })
            #expect(zip(scenario.happenings, scenario.happenings.dropFirst()).allSatisfy { $0.at <= $1.at })
            #expect(scenario.accessPoints.count <= ScenarioParser.accessPointLimit)
            return true
        } catch {
            let lines = bytes.count { $0 == UInt8(ascii: "\n") } + 1
            #expect(error.line.map { (1...lines).contains($0) } ?? true)
            #expect(error.description.hasPrefix("fuzz.scenario:"))
            #expect(error.description.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
            return false
        }
    }

    private static func mutate(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
        guard !bytes.isEmpty else { return }
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes[place] = Array("0123456789-.,% \n\"\\#ms".utf8).randomElement(using: &random) ?? 0
        case 2: bytes.remove(at: place)
        case 3: bytes.insert(UInt8.random(in: 0x20...0x7e, using: &random), at: place)
        case 4: bytes.removeSubrange(place..<min(place + 20, bytes.count))
        default:
            var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            lines.swapAt(
                Int.random(in: 0..<lines.count, using: &random), Int.random(in: 0..<lines.count, using: &random))
            bytes = Array(lines.joined(separator: [UInt8(ascii: "\n")]))
        }
    }

    /// Words of the format, and numbers at and past their bounds.
    private static let words =
        ScenarioParser.Statement.allCases.map(\.rawValue) + ScenarioParser.HappeningSubject.allCases.map(\.rawValue)
        + [
            "Home", "home", "home*", "*", "channel", "channels", "1", "6,11", "36", "signal", "-50", "to", "-110",
            "over",
        ]
        + [
            "0s", "1ms", "366d", "999999999d", "4h", "password", "open", "short", "long-enough", "\"\"", "\"\\x00\"",
            "\"",
        ]
        + [
            "power", "exponent", "3.2", "99999999999999999999", "-9223372036854775808", "0,0", "-1e9,nan", "from",
            "until",
        ]
        + [
            "on", "off", "full", "not", "moves", "loss", "30%", "2400-2483", "for", "confirm", "within", "dies", "#",
            "margin",
        ]
}
