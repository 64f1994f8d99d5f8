import AgentModel
import AppProtocol
import DHCP
import Failover
import KeyFile
import Testing

@testable import AgentCore

/// Tests of which traffic is metered, and which checks come later for it.
@Suite struct MeteringTests {
    private static let start = Instant(milliseconds: 1_000_000)
    private static let interval = PolicySettings.Validation().interval

    @Test(
        arguments: [
            (nil, false, false), (nil, true, true), (true, false, true), (true, true, true), (false, true, false),
        ] as [(Bool?, Bool, Bool)])
    func theOwnerCountsBeforeTheServer(owner: Bool?, server: Bool, isMetered: Bool) {
        #expect(Metering.isMetered(.wifi, owner: owner, server: server) == isMetered)
        #expect(Metering.isMetered(.cellular, owner: owner, server: server))
        #expect(!Metering.isMetered(.wired, owner: owner, server: server))
        #expect(!Metering.isMetered(.other, owner: owner, server: server))
    }

    // MARK: Routine probes

    private func postponement(_ events: [PolicyEvent], after time: Duration, of epoch: UInt64 = 1) -> Instant? {
        var probes = RoutineProbes()
        for event in events { probes.record(event, at: Self.start) }
        return probes.postponement(of: epoch, interval: Self.interval, at: Self.start + time)
    }

    @Test func aRoutineProbeWaitsTenTimesAsLong() {
        let success = PolicyEvent.probed(epoch: 1, .online)
        let due = Self.start + Self.interval * Metering.factor
        #expect(postponement([success], after: Self.interval) == due)
        #expect(postponement([success], after: Self.interval * 5) == due)
        #expect(postponement([success], after: Self.interval * Metering.factor) == nil)
        #expect(postponement([success, .signal(-60), .tick], after: Self.interval) == due)
    }

    @Test func anEarlyProbeHasAReason() {
        #expect(postponement([.probed(epoch: 1, .online)], after: Self.interval - .milliseconds(1)) == nil)
    }

    @Test(
        arguments: [
            .probed(epoch: 1, .failed), .probed(epoch: 1, .captive), .doubted(epoch: 1), .resumed,
            .switchTo(NetworkID(1), id: 1),
        ] as [PolicyEvent])
    func whatSpeaksAgainstTheLinkIsCheckedAtOnce(event: PolicyEvent) {
        #expect(postponement([.probed(epoch: 1, .online), event], after: Self.interval) == nil)
    }

    @Test func anotherLinkIsCheckedAtOnce() {
        #expect(postponement([.probed(epoch: 1, .online)], after: Self.interval, of: 2) == nil)
        #expect(postponement([], after: Self.interval) == nil)
    }

    // MARK: The device

    private func lease(isMetered: Bool, _ bench: inout CoreBench) throws -> [String] {
        let router = try #require(IPv4Address("10.0.1.1"))
        var lease = Lease(
            address: try #require(IPv4Address("10.0.1.17")), prefixLength: 24, gateway: router, server: router,
            renewal: bench.now + .seconds(1800), rebinding: bench.now + .seconds(3150),
            expiry: bench.now + .seconds(3600), hardware: try #require(HardwareAddress(bytes: [2, 0, 0, 0, 0, 9])))
        lease.isMetered = isMetered
        return bench.handle(.ipv4("wlan0", .inUse(lease, isConfirmed: true)))
    }

    /// Lets time pass until `end`.
    /// - Returns: whether the link was probed.
    private func isProbed(until end: Instant, _ bench: inout CoreBench) -> Bool {
        var isProbed = false
        for _ in 0..<1000 {
            guard let next = bench.timers[.policy], next <= end else { break }
            bench.now = max(bench.now, next)
            isProbed = bench.handle(.timer(.policy)).contains("probe") || isProbed
        }
        return isProbed
    }

    private func isMetered(_ bench: CoreBench) -> Bool {
        let now = ClockReading(instant: bench.now, time: Timestamp(millisecondsSince1970: 0))
        return bench.core.status(at: now).isMetered
    }

    @Test func aMeteredLinkIsProbedTenTimesLessOften() throws {
        var bench = try CoreBench()
        try bench.start()
        let success = bench.now
        #expect(!isMetered(bench))
        let effects = try lease(isMetered: true, &bench)
        #expect(effects.contains("follow wifi") && isMetered(bench))
        #expect(!isProbed(until: success + Self.interval * Metering.factor - .seconds(1), &bench))
        #expect(isProbed(until: success + Self.interval * Metering.factor + .seconds(1), &bench))
    }

    @Test func anotherLinkIsProbedAsBefore() throws {
        var bench = try CoreBench()
        try bench.start()
        let success = bench.now
        let effects = try lease(isMetered: false, &bench)
        #expect(!effects.contains("follow wifi") && !isMetered(bench))
        #expect(isProbed(until: success + Self.interval + .seconds(1), &bench))
    }

    @Test func aDoubtIsCheckedAtOnce() throws {
        var bench = try CoreBench()
        try bench.start()
        let success = bench.now
        _ = try lease(isMetered: true, &bench)
        #expect(!isProbed(until: success + Self.interval * 2, &bench))
        #expect(bench.handle(.found(.doubted(epoch: bench.core.policy.linkEpoch))).contains("probe"))
    }

    @Test func theOwnersSettingOverridesTheLease() throws {
        var home = try CoreBench.network("Home")
        home.options.isMetered = false
        var bench = try CoreBench(disk: StoredState(home: home, backups: []))
        try bench.start()
        _ = try lease(isMetered: true, &bench)
        #expect(!isMetered(bench))
    }

    @Test func aModemIsMetered() throws {
        var bench = try CoreBench()
        try bench.start()
        bench.surroundings.uplink = .cellular
        bench.handle(.modemChanged)
        #expect(isMetered(bench))
    }
}
