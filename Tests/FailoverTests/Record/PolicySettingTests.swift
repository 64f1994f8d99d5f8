import AgentModel
import Testing

@testable import Failover

@Suite struct PolicySettingTests {
    /// A setting that is not recorded could make a replay decide otherwise, and one that two names have is none.
    @Test func everySettingHasAName() {
        #expect(PolicySetting.all.map(\.name).sorted() == Self.values(of: Self.validating).keys.sorted())
    }

    /// Defaults with every part of them.
    private static var validating: PolicySettings {
        var settings = PolicySettings()
        settings.validation = PolicySettings.Validation()
        return settings
    }

    /// The settings one by one, by their names.
    private static func values(of value: Any, _ prefix: String = "") -> [String: String] {
        var values: [String: String] = [:]
        for child in Mirror(reflecting: value).children {
            let name = prefix + (child.label ?? "")
            switch child.value {
            case is Int, is Duration, is Bool: values[name] = "\(child.value)"
            case let validation as PolicySettings.Validation?:
                values[name] = validation == nil ? "off" : "on"
                values.merge(self.values(of: validation ?? PolicySettings.Validation(), name + ".")) { $1 }
            default: values.merge(self.values(of: child.value, name + ".")) { $1 }
            }
        }
        return values
    }

    /// One of these is something else than its default, whatever the setting.
    private static let samples = ["7", "-66", "-99", "33s", "2501ms", "on", "off"]

    @Test(arguments: PolicySetting.all.map(\.name)) func isTheOneOfItsNameAndNoOther(name: String) throws {
        let setting = try #require(PolicySetting.named(name))
        var changes: Set<[String]> = []
        for sample in Self.samples {
            var settings = Self.validating
            guard setting.set(sample, in: &settings) else { continue }
            #expect(setting.value(in: settings) == sample)
            let after = Self.values(of: settings)
            changes.insert(Self.values(of: Self.validating).filter { after[$0.key] != $0.value }.map(\.key))
        }
        #expect(changes.contains([name]))
        #expect(changes.isSubset(of: [[name], []]))
    }

    @Test(arguments: PolicySetting.all.map(\.name)) func whatIsNoValueChangesNothing(name: String) throws {
        let setting = try #require(PolicySetting.named(name))
        let wrong = [
            "", "x", "1e3", "99999999999999999999", "99999999999999s", "-1ms", "7 ", "+7", "1m1h", "dB", "-111",
        ]
        for value in wrong {
            var settings = Self.validating
            #expect(!setting.set(value, in: &settings))
            #expect(settings == Self.validating)
        }
    }

    @Test(arguments: [
        ("margin", "12dB", "12"), ("margin", "60", "60"), ("margin", "61", nil), ("margin", "-1", nil),
        ("margin", "12dBm", nil), ("five.weak", "-70dBm", "-70"), ("five.weak", "0", nil),
        ("five.weak", "-110", "-110"),
        ("switchLimit", "1000", "1000"), ("switchLimit", "1001", nil), ("scanInterval.unseen.last", "1h30m", "5400s"),
        ("look.first", "2s500ms", "2500ms"), ("scanInterval.known.first", "0s", "0s"), ("validation.limit", "0s", nil),
        ("validation.limit", "1ms", "1ms"), ("validation", "on", "on"), ("validation", "yes", nil),
    ])
    func valuesAreWrittenAsPeopleDo(name: String, text: String, value: String?) throws {
        let setting = try #require(PolicySetting.named(name))
        var settings = PolicySettings()
        #expect(setting.set(text, in: &settings) == (value != nil))
        if let value { #expect(setting.value(in: settings) == value) }
    }

    @Test func anOldNameIsReadWithAWarning() {
        #expect(PolicySetting.named("look.last")?.name == "scanInterval.known.last")
        #expect(PolicySetting.warning(about: "survey.first")?.contains("scanInterval.unseen.first") == true)
        #expect(PolicySetting.warning(about: "scanInterval.unseen.first") == nil)
        let renamed = [
            ("preferredLook.first", "preferredScan.first"), ("regretBlock.last", "failedMoveBlock.last"),
            ("twoPointFour.floor", "twoPointFour.minimumSignal"), ("five.floor", "five.minimumSignal"),
            ("lookAgainDrop", "rescanDrop"), ("hurry", "reconnectWindow"), ("hurriedLook", "reconnectScan"),
            ("strangerLimit", "unverifiedLimit"), ("unprovenLimit", "unverifiedLimit"),
            ("preferredConfirmation.first", "preferredConfirmation"),
        ]
        for (old, new) in renamed {
            #expect(PolicySetting.named(old)?.name == new)
            #expect(PolicySetting.warning(about: old)?.contains("is called \(new) now") == true)
        }
        #expect(PolicySetting.named("look") == nil && PolicySetting.warning(about: "look.middle") == nil)
    }

    /// Recordings of format 6 were made with the names before, too.
    @Test func aRecordingWithOldNamesIsRead() throws {
        let text = #"{"hurry":"2s","margin":"9","preferredLook.first":"5s","strangerLimit":"7s"}"#
        var expected = PolicySettings()
        (expected.reconnectWindow, expected.margin) = (.seconds(2), 9)
        (expected.preferredScan.first, expected.unverifiedLimit) = (.seconds(5), .seconds(7))
        #expect(try OutsideJSON.decode(PolicySettings.self, from: Array(text.utf8), nesting: 2) == expected)
        #expect(ScanOrder.Reason(rawValue: "survey") == .unseen)
    }

    @Test func aSettingThatWasRemovedIsReadWithAWarningAndChangesNothing() throws {
        let setting = try #require(PolicySetting.named("weakConfirmation"))
        var settings = PolicySettings()
        #expect(setting.set("30s", in: &settings) && settings == PolicySettings())
        #expect(PolicySetting.warning(about: "weakConfirmation") != nil)
        let text = Array(#"{"weakConfirmation":"30s","margin":"9"}"#.utf8)
        #expect(try OutsideJSON.decode(PolicySettings.self, from: text, nesting: 2).margin == 9)
    }

    @Test func validationIsOnAsSoonAsAPartOfItIsSet() throws {
        let validation = try #require(PolicySetting.named("validation"))
        let strikes = try #require(PolicySetting.named("validation.strikes"))
        var settings = PolicySettings()
        #expect(validation.value(in: settings) == "off" && strikes.value(in: settings) == nil)
        #expect(strikes.set("5", in: &settings))
        #expect(validation.value(in: settings) == "on" && strikes.value(in: settings) == "5")
        #expect(validation.set("on", in: &settings))
        #expect(strikes.value(in: settings) == "5", "it is on already")
        #expect(validation.set("off", in: &settings))
        #expect(settings == PolicySettings())
    }

    @Test(arguments: [0, 1, 999, 1000, 61_001, 5_400_000, 93_784_005, 3_155_760_000_000] as [Int64])
    func timesAreReadAsTheyAreWritten(milliseconds: Int64) {
        let time = Duration.milliseconds(milliseconds)
        #expect(Duration(inUnits: time.inUnits) == time)
    }
}
