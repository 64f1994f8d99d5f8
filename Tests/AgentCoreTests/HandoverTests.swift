import AgentModel
import AppProtocol
import Failover
import KeyFile
import Testing

@testable import AgentCore

/// Moving without a gap, row by row of Docs/handover.md.
@Suite struct HandoverTests {
    /// In Home with wlan0, sent to Backup, which wlan1 joins.
    private func joining(confirmWithin: Int? = nil) throws -> CoreBench {
        var bench = try CoreBench(spare: "wlan1")
        try bench.start()
        bench.readySpare()
        bench.tell(.request(7, try bench.command("Backup", confirmWithin: confirmWithin)))
        try bench.store(1)
        bench.tell(.answered(switchID: "s-1"))
        #expect(
            bench.endScan(.finished([bench.bss("Home"), bench.bss("Backup")]))
                == ["join wlan1 Backup", "publish joining"])
        return bench
    }

    private static let succession = ["sign off", "leave successor probe", "use wlan1", "wait grace(wlan0)"]

    @Test func theNextNetworkIsFoundGoodBeforeTheTrafficMoves() throws {
        var bench = try joining()
        #expect(bench.connect("wlan1") == ["ask protection wlan1", "publish waitingForAddress"])
        #expect(bench.lease("wlan1", 2) == ["publish validating", "probe wlan1"])
        #expect(bench.core.inUse == "wlan0" && bench.network == "Home")
        let effects = bench.tell(.found(.probed(epoch: bench.probed, .online)))
        #expect(Array(effects.prefix(4)) == Self.succession)
        #expect(effects.contains("follow wifi") && effects.contains("commit 2 outcome"))
        #expect(!effects.contains("leave wlan0"))
        #expect(bench.core.inUse == "wlan1" && bench.network == "Backup")
        #expect(bench.tell(.timer(.grace("wlan0"))) == ["leave wlan0"])
    }

    @Test func theAppConfirmsAtTheNewAddress() throws {
        var bench = try joining(confirmWithin: 60)
        bench.connect("wlan1")
        bench.lease("wlan1", 2)
        #expect(
            bench.tell(.found(.probed(epoch: bench.probed, .online))) == ["publish waitingForConfirmation"])
        #expect(bench.core.inUse == "wlan0")
        #expect(Array(bench.tell(.request(8, .confirmSwitch("s-1"))).prefix(4)) == Self.succession)
    }

    @Test func aFailureLeavesTheDeviceWhereItWas() throws {
        var bench = try joining()
        let attempt = try #require(bench.joins["wlan1"]?.attempt)
        let effects = bench.tell(.supplicant("wlan1", .joinFailed(attempt: attempt, .rejected, detail: "no")))
        #expect(effects == ["leave successor probe", "leave wlan1", "commit 2 outcome"])
        #expect(try bench.store(2) == ["publish rolledBack"])
        #expect(bench.core.inUse == "wlan0" && bench.network == "Home")
    }

    @Test func theOldLinkLostInTheMiddleMakesItAnOrdinaryJoin() throws {
        var bench = try joining()
        bench.connect("wlan1")
        let effects = bench.tell(.supplicant("wlan0", .disconnected(reason: 8, locallyGenerated: false)))
        // Nothing to sign off from, and nothing to keep.
        #expect(Array(effects.prefix(3)) == ["leave successor probe", "use wlan1", "leave wlan0"])
        #expect(bench.core.inUse == "wlan1" && bench.network == "Backup")
        #expect(bench.lease("wlan1", 2).contains("probe"))
    }

    @Test func theSuccessorLostIsNotTheLinkLost() throws {
        var bench = try joining()
        bench.connect("wlan1")
        let effects = bench.tell(.supplicant("wlan1", .disconnected(reason: 8, locallyGenerated: false)))
        #expect(effects.contains("leave wlan1") && !effects.contains("leave wlan0"))
        #expect(bench.network == "Home")
    }

    @Test func aSpareThatGoesIsNotReady() throws {
        var bench = try CoreBench(spare: "wlan1")
        try bench.start()
        bench.readySpare()
        #expect(bench.core.handover.isSpareReady)
        #expect(bench.tell(.supplicant("wlan1", .unavailable)) == ["review handover"])
        #expect(!bench.core.handover.isSpareReady)
        // With one station, the network is left first.
        bench.tell(.request(7, try bench.command("Backup")))
        try bench.store(1)
        bench.tell(.answered(switchID: "s-1"))
        #expect(bench.endScan(.finished([bench.bss("Home"), bench.bss("Backup")])).contains("join wlan0 Backup"))
    }

    @Test func anAnswerToAnEarlierReviewIsDropped() throws {
        var bench = try CoreBench(spare: "wlan1")
        try bench.start()
        let number = bench.core.handover.reviews
        bench.tell(.radio("wlan1", .appeared))
        bench.tell(.handoverFound(number, .makeBeforeBreak))
        #expect(!bench.core.handover.isSpareReady)
    }

    @Test func anAgentThatStartsGoesOnWithTheStationThatCarriesTheTraffic() throws {
        var bench = try CoreBench(spare: "wlan1")
        #expect(bench.tell(.begin(inUse: "wlan1")).first == "use wlan1")
        #expect(bench.core.inUse == "wlan1" && bench.core.spare == "wlan0")
    }

    /// Some link that no order of the agent's made is not left standing.
    @Test func whatTheSpareStationIsInIsLeft() throws {
        var bench = try CoreBench(spare: "wlan1")
        try bench.start()
        #expect(bench.tell(.supplicant("wlan1", .available)) == ["leave wlan1", "review handover"])
        #expect(bench.tell(.supplicant("wlan1", .connected(attempt: nil, bench.bss("Cafe").bssid))) == ["leave wlan1"])
    }
}
