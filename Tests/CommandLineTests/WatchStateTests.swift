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
                try WatchStory.decision(number, "decision \(number)", "join"), isLate: false, at: moment(number / 300))
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

    /// A late event is news, but no measurement of now.
    @Test func lateEventsAreNoMeasurements() throws {
        var state = WatchState()
        state.handle(WatchStory.event(.signal(SignalReading(signal: -40))), isLate: true, at: moment(0))
        state.handle(
            WatchStory.event(.networkChanged(try WatchStory.network("a", signal: -40))), isLate: true, at: moment(0))
        state.handle(try WatchStory.decision(1, "told late", "join"), isLate: true, at: moment(0))
        #expect(state.link.samples.isEmpty)
        #expect(state.status == nil)
        #expect(state.happenings.map(\.text) == ["told late"])
    }

    @Test func aDecisionIsToldOnce() throws {
        var state = WatchState()
        guard case .decision(let decision) = try WatchStory.decision(1, "once", "join").body else { return }
        state.handle(WatchStory.event(.decision(decision)), isLate: false, at: moment(0))
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
