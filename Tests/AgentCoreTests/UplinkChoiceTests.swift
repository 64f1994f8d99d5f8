import AgentModel
import AppProtocol
import Failover
import KeyFile
import Testing

@testable import AgentCore

/// The choice between Wi-Fi and other uplinks.
@Suite struct UplinkChoiceTests {
    private static let cable = UplinkCandidate(interface: "eth0", kind: .wired)
    private static let wifi = UplinkCandidate(interface: "wlan0", kind: .wifi)
    private static let modem = UplinkCandidate(interface: "wwan0", kind: .cellular)

    private func bench(_ order: [UplinkCandidate], isProven: Bool = true) throws -> CoreBench {
        var bench = try CoreBench()
        try bench.start(isProven: isProven)
        bench.setOrder(order)
        return bench
    }

    private func judge(_ verdicts: [UplinkCandidate: UplinkVerdict], _ bench: inout CoreBench) -> [String] {
        let effects = bench.handle(.uplinksJudged(verdicts))
        bench.follow()
        bench.handle(.route(.resynchronise))
        return effects
    }

    @Test func aNewCableCarriesTheTrafficOnceItReachesTheLevel() throws {
        var bench = try CoreBench()
        try bench.start()
        #expect(bench.setOrder([Self.cable, Self.wifi]) == ["check uplinks eth0", "prefer wlan0"])
        #expect(judge([Self.cable: .reachesLevel], &bench).contains("prefer none"))
        #expect(bench.core.otherUplink == .wired)
        #expect(bench.notices.allSatisfy { !$0.contains("eth0") }, "that is no news")
    }

    @Test func aFailedCableLeavesTheTrafficToWiFiUntilItReachesTheLevelAgain() throws {
        var bench = try bench([Self.cable, Self.wifi])
        _ = judge([Self.cable: .reachesLevel], &bench)
        #expect(bench.core.status(at: bench.clock).flags == .canUpdateBackups)
        #expect(judge([Self.cable: .failed(.timedOut)], &bench).contains("prefer wlan0"))
        #expect(bench.core.otherUplink == nil)
        #expect(bench.core.status(at: bench.clock).flags == [.canUpdateBackups, .canSwitch])
        #expect(bench.core.serviceStatus.contains("eth0"))
        // Replugged, it is another uplink: it has to reach the level before it gets the traffic back.
        #expect(!judge([:], &bench).contains("prefer none"))
        #expect(judge([Self.cable: .reachesLevel], &bench) == ["prefer none"])
        #expect(bench.core.otherUplink == .wired)
    }

    /// Neither reaches the level: the cable keeps the traffic, and Wi-Fi goes on to look for a network.
    // covers: rule/uplink-rest-unreliable
    @Test func withoutWiFiAFailedCableKeepsTheTraffic() throws {
        var bench = try CoreBench()
        bench.handle(.begin(inUse: "wlan0"))
        bench.handle(.atWork)
        #expect(bench.setOrder([Self.cable]) == ["follow wired", "check uplinks eth0"])
        #expect(bench.core.otherUplink == .wired)
        #expect(!judge([Self.cable: .failed(.captive)], &bench).contains { $0.hasPrefix("prefer") })
        #expect(bench.core.otherUplink == nil && bench.core.policy.phase == .offline)
        #expect(bench.core.lastPublished.path == .other(.wired), "the traffic goes over it all the same")
    }

    /// A modem after Wi-Fi is checked only while the Wi-Fi link has failed, because it costs money.
    @Test func aModemReplacesAWiFiLinkWithoutInternet() throws {
        var bench = try bench([Self.wifi, Self.modem])
        #expect(bench.core.uplinkChoice.checked.isEmpty)
        var effects: [String] = []
        for _ in 0..<20 where !bench.isLinkUseless {
            bench.now = bench.now + .seconds(30)
            effects += bench.handle(.timer(.policy))
            effects += bench.handle(.found(.probed(epoch: bench.core.policy.linkEpoch, .failed)))
        }
        try #require(bench.isLinkUseless)
        #expect(effects.contains("check uplinks wwan0"))
        #expect(judge([Self.modem: .reachesLevel], &bench) == ["prefer wwan0"])
        #expect(bench.core.otherUplink == nil, "Wi-Fi goes on to look for a better network")
    }

    /// Without its route, Wi-Fi is no candidate, and the modem is the kernel's choice.
    // covers: rule/uplink-validated
    @Test func uncheckedWiFiLeavesTheTrafficToAModemThatReachesTheLevel() throws {
        var bench = try bench([Self.modem], isProven: false)
        #expect(bench.core.uplinkChoice.checked == [Self.modem])
        _ = judge([Self.modem: .reachesLevel], &bench)
        #expect(bench.setOrder([Self.wifi, Self.modem]).contains("prefer wwan0"))
        #expect(bench.core.uplinkChoice.checked == [Self.modem], "its verdict is still needed")
        let checked = bench.handle(.found(.probed(epoch: bench.core.policy.linkEpoch, .online)))
        #expect(checked.contains("prefer none") && checked.contains("check uplinks"))
    }

    /// The budget of questions is used up: Wi-Fi does not wait for it.
    @Test func aPostponedProbeCountsAsSuccess() throws {
        var bench = try bench([Self.modem], isProven: false)
        _ = judge([Self.modem: .reachesLevel], &bench)
        bench.setOrder([Self.wifi, Self.modem])
        let later = bench.now + .seconds(600)
        let epoch = bench.core.policy.linkEpoch
        #expect(bench.handle(.found(.postponed(epoch: epoch, until: later))).contains("prefer none"))
    }

    /// A recovering uplink comes after the others, and before none.
    // covers: rule/uplink-trusted-later
    @Test func aRecoveringModemIsUsedIfNothingElseReachesTheLevel() throws {
        var bench = try bench([Self.cable, Self.modem])
        _ = judge([Self.cable: .failed(.timedOut), Self.modem: .failed(.timedOut)], &bench)
        #expect(judge([Self.cable: .failed(.timedOut), Self.modem: .recovering], &bench) == ["prefer wwan0"])
        #expect(bench.core.otherUplink == .cellular)
        #expect(judge([Self.cable: .reachesLevel, Self.modem: .recovering], &bench).contains("prefer none"))
    }

    @Test func aCableWithoutCarrierIsPassedOver() throws {
        let pulled = UplinkCandidate(interface: "eth0", kind: .wired, isConnected: false)
        var bench = try CoreBench()
        try bench.start()
        #expect(bench.setOrder([pulled, Self.wifi]) == ["prefer wlan0"])
    }

    /// Only a loss of its link delays the return of an uplink, and not a time in which it needs no check.
    @Test func theChecksLearnWhichUplinksLostTheirLink() throws {
        var bench = try CoreBench()
        try bench.start()
        bench.setOrder([Self.cable, Self.wifi])
        #expect(bench.lostUplinks.isEmpty)
        bench.setOrder([UplinkCandidate(interface: "eth0", kind: .wired, isConnected: false), Self.wifi])
        #expect(bench.lostUplinks == [Self.cable])
        bench.setOrder([Self.cable, Self.wifi])
        bench.setOrder([Self.wifi, Self.cable])
        #expect(bench.core.uplinkChoice.checked.isEmpty && bench.lostUplinks.isEmpty)
    }

    @Test func withoutAChoiceNothingIsChecked() throws {
        var bench = try CoreBench(disk: StoredState())
        bench.handle(.begin(inUse: "wlan0"))
        bench.handle(.atWork)
        #expect(bench.setOrder([Self.cable]) == ["follow wired"])
    }

    @Test func theEndEndsTheChecks() throws {
        var bench = try bench([Self.cable, Self.wifi])
        #expect(bench.handle(.stop).contains("check uplinks"))
        #expect(!bench.handle(.uplinksJudged([Self.cable: .reachesLevel])).contains { $0.hasPrefix("prefer") })
    }
}

extension CoreBench {
    fileprivate var clock: ClockReading {
        ClockReading(instant: now, time: Timestamp(millisecondsSince1970: epoch + now.milliseconds))
    }

    fileprivate var isLinkUseless: Bool {
        guard case .online(let link) = core.policy.phase else { return false }
        return link.uselessness != nil
    }

    /// The kernel's default routes change.
    @discardableResult
    fileprivate mutating func setOrder(_ order: [UplinkCandidate]) -> [String] {
        surroundings.uplinks = order
        follow()
        return handle(.route(.resynchronise))
    }

    /// The kernel routes by the agent's preference.
    fileprivate mutating func follow() {
        let order = surroundings.uplinks.filter(\.isConnected)
        let carrier = core.uplinkChoice.preferred ?? order.first
        surroundings.uplink = carrier?.kind
        let other = carrier.flatMap { $0.interface == "wlan0" ? nil : $0 }
        (surroundings.otherUplink, surroundings.otherUplinkInterface) = (other?.kind, other?.interface)
    }
}
