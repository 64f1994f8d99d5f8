import AgentModel
import Randomness
import Testing

@testable import Failover

@Suite struct RecordFormatTests {
    @Test(arguments: Fixture.events) func anEventIsReadAsItWasWritten(event: PolicyEvent) throws {
        let text = event.recorded
        #expect(!text.contains("\n"))
        var words = RecordWords(text[...])
        #expect(try PolicyEvent(&words) == event)
    }

    /// Every case of `PolicyEvent` is among the examples: the names that were written are as many as the cases.
    @Test func everyKindOfEventIsTried() {
        #expect(Set(Fixture.events.map { $0.recorded.prefix { $0 != " " } }).count == 28)
    }

    @Test func namesOfNetworksAreOneWordAndUnambiguous() throws {
        #expect(Fixture.home.word == "Home%20Net%2f5%2cG%25%2d")
        #expect(Fixture.dash.word == "%2d")
        #expect((nil as SSID?).word == "-")
        for length in [1, 2, SSID.maximumLength] {
            for first in UInt8.min ... .max {
                let ssid = try SSID(bytes: [first] + [UInt8](repeating: 0xe2, count: length - 1))
                #expect(SSID(word: ssid.word[...]) == ssid)
            }
        }
        for word in ["", "a b", "a/b", "%", "%2", "%zz", "caf\u{e9}", String(repeating: "x", count: 33)] {
            #expect(SSID(word: word[...]) == nil)
        }
    }

    @Test(arguments: [
        ("signal", "a whole number"), ("signal -7x", "a whole number"),
        ("signal 9223372036854775807", "a whole number"), ("signal -9223372036854775808", "a whole number"),
        ("signal -70 1", "the end of the line"),
        ("joinFailed 1 broken", "one of wrongKey"), ("interface open", "one of up, down"), ("explode", "the name of"),
        ("networks 1/Home", "number/SSID/flags"), ("networks 1/Home/x", "number/SSID/flags"),
        ("scanned - 02:00:00:00:01:00/-/2412/-50/99", "BSSID/SSID"), ("linkFound 1 02:00:00 2412", "a BSSID"),
        ("linkFound 1 02:00:00:00:01:00 0", "a frequency"), ("switchTo 1 2 30", "30s or 2500ms"),
        ("switchTo 1 2 30s twice", "one of once"), ("switchTo 1 2 30s once more", "the end of the line"),
        ("confirmed -1", "not negative"), ("probed 1 perhaps", "online, captive"),
        ("settings marge=1", "a setting of the policy"),
        ("settings margin=1s", "decibels from 0 to 60"), ("settings margin", "a setting of the policy"),
    ])
    func whatIsWrongIsNamed(line: String, expected: String) {
        var words = RecordWords(line[...])
        let fault = #expect(throws: RecordWords.Fault.self) { try PolicyEvent(&words) }
        #expect(fault?.expected.contains(expected) == true, "\(fault?.expected ?? "")")
    }

    /// Records from before there were floors are read, and written the same.
    @Test(arguments: [
        "networks 1/Home/phb,2/Cafe/-", "networks 1/Home/pbsm,2/Cafe/o,3/Attic/pm",
        "scanned - 02:00:00:00:01:00/Home/2412/-50/99/wpa3-sae",
        "scanned - 02:00:00:00:01:00/Home/2412/-50/99/wpa2-psk/m,02:00:00:00:01:01/Home/2412/-50/99/wpa3-sae/-",
    ])
    func floorsAndOffersAreLetters(line: String) throws {
        var words = RecordWords(line[...])
        #expect(try PolicyEvent(&words).recorded == line)
    }

    @Test func actionsThatDifferAreWrittenDifferently() {
        func decision(_ verdict: PolicyDecision.Verdict, signal: Int? = nil) -> PolicyAction {
            .record(
                PolicyDecision(
                    at: Instant(milliseconds: 1), kind: .join, from: Fixture.home, to: nil, fromBSSID: nil,
                    toBSSID: nil,
                    cause: .failure(.wrongKey), signal: signal,
                    considered: [.init(ssid: Fixture.home, bss: Fixture.observations[0], verdict: verdict)]))
        }
        func join(_ bssid: BSSID?, _ frequencies: [Int], epoch: UInt64) -> PolicyAction {
            .join(
                LinkTarget(
                    network: NetworkID(1), bssid: bssid,
                    frequencies: frequencies.map { Frequency(megahertz: $0) }, offer: nil, epoch: epoch))
        }
        func scan(_ id: UInt64, _ reason: ScanOrder.Reason, ssids: [SSID]) -> PolicyAction {
            .scan(ScanOrder(id: id, frequencies: [], ssids: ssids, reason: reason))
        }
        let watch = SignalWatch(threshold: -70, interval: .seconds(5), unsupervisedInterval: .seconds(2))
        let actions: [PolicyAction] = [
            join(nil, [], epoch: 1), join(Fixture.other, [], epoch: 1), join(nil, [2412], epoch: 1),
            join(nil, [], epoch: 2), .leave, scan(1, .weak, ssids: []), scan(2, .weak, ssids: []),
            scan(1, .survey, ssids: []), scan(1, .weak, ssids: [Fixture.dash]), .cancelScan, .watchSignal(nil),
            .watchSignal(watch), .probe(epoch: 1, within: .milliseconds(2500)), .bringInterfaceUp, decision(.chosen),
            decision(.current),
            decision(.withinMargin(3)), decision(.withinMargin(4)), decision(.chosen, signal: -70),
            decision(.blocked(.timeout, until: Instant(milliseconds: 5))),
            decision(.blocked(.timeout, until: Instant(milliseconds: 6))),
            decision(.unusable(.timeout, until: Instant(milliseconds: 5))),
            .store(.switchEnded(id: 1, isCommitted: true)), .store(.switchEnded(id: 1, isCommitted: false)),
            .switchProgress(id: 1, .committed), .switchProgress(id: 2, .committed),
            .switchProgress(id: 1, .rolledBack(.timeout)), .switchProgress(id: 1, .failed(.timeout)),
        ]
        #expect(Set(actions.map(\.recorded)).count == actions.count)
        #expect(RecordedOrder(join(Fixture.other, [2412], epoch: 7).recorded) == .join(NetworkID(1), epoch: 7))
        #expect(RecordedOrder(scan(3, .weak, ssids: []).recorded) == .scan(id: 3))
        #expect(RecordedOrder(PolicyAction.leave.recorded) == nil)
    }
}
