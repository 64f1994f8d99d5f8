import AgentModel
import Failover
import Simulation
import Testing

/// The format, as Docs/simulation.md explains it by its example.
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
        #expect(scenario.radio == radio)
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
