import AgentModel
import AppProtocol
import Testing

@testable import AgentCore

/// Decisions of which the runner knows nothing: it asks and tells the answer.
@Suite struct RunnerDecisionTests {
    // MARK: The rules of the country

    private func asked(country: String?) throws -> CoreBench {
        var bench = try CoreBench(country: country)
        try bench.start()
        return bench
    }

    @Test func theKernelIsAskedForItsRulesAMomentAfterWpaSupplicantAnswers() throws {
        var bench = try asked(country: "DE")
        let due = try #require(bench.timers[.country])
        #expect(due - bench.now <= .seconds(3) && due - bench.now > .seconds(2))
        #expect(bench.handle(.timer(.country)) == ["read rules wlan0"])
        bench.handle(.rules("DE"))
        #expect(bench.errors.isEmpty)
        bench.handle(.rules("98\u{1b}"))
        #expect(bench.errors.count == 1)
        #expect(bench.errors[0].contains("DE (ALTNET_COUNTRY)") && !bench.errors[0].contains("\u{1b}"))
        // A wpa_supplicant that comes again sets the country again.
        bench.handle(.supplicant("wlan0", .unavailable))
        bench.handle(.supplicant("wlan0", .available))
        #expect(bench.timers[.country] != nil)
    }

    @Test func withoutACountryTheKernelIsNotAsked() throws {
        var bench = try asked(country: nil)
        #expect(bench.timers[.country] == nil)
        bench.handle(.rules("US"))
        #expect(bench.errors.isEmpty)
    }

    // MARK: The number of names in a scan

    private static let names = ["a", "b", "c", "d", "e"].compactMap { try? SSID($0) }

    /// The names that an app's scan calls with a radio of this limit, and whether every access point is asked.
    private func call(_ count: Int, limit: Int?) throws -> (Int, Bool)? {
        var bench = try CoreBench()
        try bench.start()
        bench.handle(.nameLimit("wlan0", nil))
        let scan = AppProtocol.ScanRequest(ssids: Array(Self.names.prefix(count)))
        #expect(
            bench.handle(.request(1, .startScan(scan))) == (count == 0 ? ["scan for app"] : ["ask name limit wlan0"]))
        if count > 0 {
            #expect(bench.scanned == nil)
            #expect(bench.handle(.nameLimit("wlan0", limit)) == ["scan for app"])
        }
        return bench.scanned.map { ($0.ssids.count, $0.asksEverybody) }
    }

    /// The call to every access point counts as one of them, and gives way to a name.
    @Test(arguments: [
        (0, 4, 0, true), (2, 4, 2, true), (3, 4, 3, true), (4, 4, 3, true), (5, 4, 3, true), (5, 2, 1, true),
        (1, 1, 1, false), (5, 1, 1, false), (5, 0, 1, false), (5, nil, 1, false), (5, 64, 5, true),
    ])
    func aScanCallsAsManyNamesAsTheRadioCan(names: Int, limit: Int?, called: Int, asksEverybody: Bool) throws {
        let scan = try #require(try call(names, limit: limit))
        #expect(scan == (called, asksEverybody))
    }

    @Test func theRadioIsAskedOnce() throws {
        var bench = try CoreBench()
        try bench.start()
        let scan = AppProtocol.ScanRequest(ssids: Self.names)
        #expect(bench.handle(.request(1, .startScan(scan))) == ["scan for app"])
        #expect(bench.scanned?.ssids.count == 3)
    }

    /// It may be another radio.
    @Test func theOtherStationsRadioIsAskedAnew() throws {
        var bench = try CoreBench(spare: "wlan1")
        bench.handle(.nameLimit("wlan1", 4))
        bench.handle(.begin(inUse: "wlan1"))
        let scan = AppProtocol.ScanRequest(ssids: Self.names)
        #expect(bench.handle(.request(1, .startScan(scan))) == ["ask name limit wlan1"])
        #expect(bench.handle(.nameLimit("wlan0", 9)).isEmpty)
        #expect(bench.handle(.nameLimit("wlan1", 2)) == ["scan for app"])
    }

    // MARK: The news in a status

    @Test func theStatusIsToldWhereThereIsNewsInIt() throws {
        var bench = try CoreBench()
        try bench.start()
        var connectivity = Connectivity(internet: .yes)
        bench.handle(.connectivity(connectivity))
        let count = bench.statuses.count
        #expect(bench.statuses.last?.connectivity == connectivity && bench.statuses.last?.state == .online)
        // That it was checked again is none.
        connectivity.checked = Timestamp(millisecondsSince1970: 1)
        bench.handle(.connectivity(connectivity))
        #expect(bench.statuses.count == count)
        connectivity.internet = .no
        bench.handle(.connectivity(connectivity))
        #expect(bench.statuses.count == count + 1 && bench.statuses.last?.connectivity == connectivity)
    }

    /// The effects before change how far the network leads: it is read after them.
    @Test func connectivityIsReadAfterWhatChangesIt() throws {
        var bench = try CoreBench()
        try bench.start()
        let clock = ClockReading(instant: bench.now, time: Timestamp(millisecondsSince1970: 0))
        let effects = bench.core.handle(
            .supplicant("wlan0", .disconnected(reason: 8, locallyGenerated: false)), kernel: bench.surroundings,
            at: clock)
        let follow = try #require(effects.firstIndex { if case .follow = $0 { true } else { false } })
        let read = try #require(effects.firstIndex { if case .readConnectivity = $0 { true } else { false } })
        #expect(follow < read)
        #expect(!effects.contains { if case .publish(.networkChanged) = $0 { true } else { false } })
        _ = bench.core.handle(.connectivityChanged, kernel: bench.surroundings, at: clock)
        bench.handle(.connectivity(Connectivity()))
        #expect(bench.statuses.last?.state == .offline)
    }
}
