import AgentModel
import AppProtocol
import Testing

@testable import altnet

@Suite struct WatchStateTests {
    private func moment(_ second: Int) -> Instant { WatchStory.end.advanced(by: .seconds(second)) }

    @Test func itsSizeIsBounded() throws {
        var state = WatchState()
        for number in 0..<6000 {
            state.update(try WatchStory.network("net \(number)", signal: -number % 90), at: moment(number / 300))
            state.handle(
                try WatchStory.decision(number, "decision \(number)", "join"), at: moment(number / 300))
        }
        #expect(state.link.samples.count <= SignalTrace.maximumSamples)
        #expect(state.stretches.count <= SignalTrace.maximumSamples)
        #expect(state.happenings.count == 100)
        #expect(state.happenings.last?.text == "decision 5999")
        #expect(state.letters.count <= 26)
        #expect(Set(state.letters.values).count == state.letters.count)
        #expect(state.letters[try SSID("net 5999")] != nil)
    }

    @Test func whatIsOlderThanTheChartIsForgotten() throws {
        var state = WatchState()
        state.update(try WatchStory.network("a", signal: -50), at: moment(0))
        state.update(try WatchStory.network("b", signal: -60), at: moment(200))
        state.update(try WatchStory.network("b", signal: -61), at: moment(400))
        #expect(state.link.samples.map(\.signal) == [-60, -61])
        // The device was in b when the chart begins, and had left a long before.
        #expect(state.stretches.map(\.link) == [.on(try SSID("a")), .on(try SSID("b"))])
        state.update(try WatchStory.network("b", signal: -62), at: moment(501))
        #expect(state.stretches.map(\.link) == [.on(try SSID("b"))])
    }

    /// No line is drawn over a time without measurements.
    @Test func interruptionsBreakTheLine() throws {
        var state = WatchState()
        state.update(try WatchStory.network("a", signal: -50), at: moment(0))
        state.update(try WatchStory.network("a", signal: -51), at: moment(1))
        state.lost("gone", at: moment(2))
        state.update(try WatchStory.network("a", signal: -52), at: moment(3))
        state.update(try WatchStory.network("b", signal: -53), at: moment(4))
        #expect(state.link.samples.map(\.isAfterBreak) == [true, false, true, true])
        #expect(state.stretches.map(\.link) == [.on(try SSID("a")), .unknown, .on(try SSID("a")), .on(try SSID("b"))])
    }

    /// Events from before the connection are drawn at their age, if the chart reaches back that far.
    @Test func earlierEventsBeginTheChart() throws {
        var state = WatchState()
        let online = WatchStory.event(.networkChanged(try WatchStory.network("a", signal: nil)))
        state.handle(online, age: .seconds(1_000_000_000), at: moment(0))
        state.handle(WatchStory.event(.signal(SignalReading(signal: -40))), age: .seconds(301), at: moment(0))
        state.handle(WatchStory.event(.signal(SignalReading(signal: -50))), age: .seconds(100), at: moment(0))
        // The other clock goes wrong: what comes later is not drawn before it.
        let offline = WatchStory.event(.networkChanged(try WatchStory.network(nil, signal: nil, .offline)))
        state.handle(offline, age: .seconds(20), at: moment(0))
        state.handle(online, age: .seconds(30), at: moment(0))
        state.handle(WatchStory.event(.signal(SignalReading(signal: -60))), at: moment(1))
        #expect(state.link.samples.map(\.signal) == [-50, -60])
        #expect(state.link.samples.map(\.time) == [moment(-100), moment(1)])
        #expect(state.stretches.map(\.start).dropFirst() == [moment(-20), moment(-20)])
    }

    @Test func whatHappenedStandsInOrder() throws {
        var state = WatchState()
        for (number, ago) in [(1, 30), (2, 10), (3, 20)] {
            state.handle(try WatchStory.decision(number, "\(ago)", "join", ago: Int64(ago)), at: moment(0))
        }
        #expect(state.happenings.map(\.text) == ["30", "20", "10"])
    }

    @Test func aDecisionIsToldOnce() throws {
        var state = WatchState()
        guard case .decision(let decision) = try WatchStory.decision(1, "once", "join").body else { return }
        state.handle(WatchStory.event(.decision(decision)), at: moment(0))
        state.update(History(decisions: [decision]))
        #expect(state.happenings.map(\.text) == ["once"])
    }

    @Test func onlyNetworksOfTheDeviceAreCandidates() throws {
        var state = WatchState()
        state.update(BackupList(max: 3, revision: 1, networks: [try Sample.backup("mine")]))
        state.update(try WatchStory.scan(("mine", -60), ("mine", -80), ("a stranger", -40)), at: moment(0))
        #expect(state.candidates.mapValues { $0.samples.map(\.signal) } == [try SSID("mine"): [-60]])
        // Heard before the chart begins, or never.
        let old = ScannedNetwork(
            bssid: Sample.anyBSSID, ssid: try SSID("mine"), frequency: Frequency(megahertz: 2412), signal: -70,
            security: .wpa2, ageMs: .max)
        state.update(ScanResults(isScanning: false, lastScanId: nil, networks: [old]), at: moment(2))
        #expect(state.candidates[try SSID("mine")]?.samples.count == 1)
    }
}
