import AgentModel
import AppProtocol
import Failover
import KeyFile
import Testing

@testable import AgentCore

/// Moving without a gap, row by row of Docs/contributor/loss-and-radios.md.
@Suite struct HandoverTests {
    /// In Home with wlan0, sent to Backup, which wlan1 joins.
    private func joining(confirmWithin: Int? = nil) throws -> CoreBench {
        var bench = try CoreBench(spare: "wlan1")
        try bench.start()
        bench.readySpare()
        bench.handle(.request(7, try bench.command("Backup", confirmWithin: confirmWithin)))
        try bench.store(1)
        bench.handle(.answerSent(switchID: "s-1"))
        #expect(
            bench.endScan(.finished([bench.bss("Home"), bench.bss("Backup")]))
                == ["join wlan1 Backup", "publish joining"])
        return bench
    }

    private static let succession = ["sign off", "leave successor probe", "use wlan1", "wait grace(wlan0)"]

    // covers: rule/move-decided, rule/move-address, rule/move-probe, rule/move-route, rule/move-grace
    @Test func theNextNetworkIsFoundGoodBeforeTheTrafficMoves() throws {
        var bench = try joining()
        #expect(bench.connect("wlan1") == ["ask protection wlan1", "seek address wlan1", "publish waitingForAddress"])
        #expect(bench.lease("wlan1", 2) == ["publish validating", "probe wlan1"])
        #expect(bench.core.inUse == "wlan0" && bench.network == "Home")
        let effects = bench.handle(.found(.probed(epoch: bench.probed, .online)))
        #expect(Array(effects.prefix(4)) == Self.succession)
        #expect(effects.contains("follow wifi") && effects.contains("commit 2 outcome"))
        #expect(!effects.contains("leave wlan0"))
        #expect(bench.core.inUse == "wlan1" && bench.network == "Backup")
        #expect(bench.handle(.timer(.grace("wlan0"))) == ["leave wlan0"])
    }

    // covers: rule/move-confirm
    @Test func theAppConfirmsAtTheNewAddress() throws {
        var bench = try joining(confirmWithin: 60)
        bench.connect("wlan1")
        bench.lease("wlan1", 2)
        #expect(
            bench.handle(.found(.probed(epoch: bench.probed, .online))) == ["publish waitingForConfirmation"])
        #expect(bench.core.inUse == "wlan0")
        #expect(Array(bench.handle(.request(8, .confirmSwitch("s-1"))).prefix(4)) == Self.succession)
    }

    // covers: rule/move-failure
    @Test func aFailureLeavesTheDeviceWhereItWas() throws {
        var bench = try joining()
        let attempt = try #require(bench.joins["wlan1"]?.attempt)
        let effects = bench.handle(.supplicant("wlan1", .joinFailed(attempt: attempt, .rejected, detail: "no")))
        #expect(effects == ["leave successor probe", "leave wlan1", "commit 2 outcome"])
        #expect(try bench.store(2) == ["publish rolledBack"])
        #expect(bench.core.inUse == "wlan0" && bench.network == "Home")
    }

    // covers: rule/move-old-lost
    @Test func theOldLinkLostInTheMiddleMakesItAnOrdinaryJoin() throws {
        var bench = try joining()
        bench.connect("wlan1")
        let effects = bench.handle(.supplicant("wlan0", .disconnected(reason: 8, locallyGenerated: false)))
        // Nothing to sign off from, and nothing to keep.
        #expect(Array(effects.prefix(3)) == ["leave successor probe", "use wlan1", "leave wlan0"])
        #expect(bench.core.inUse == "wlan1" && bench.network == "Backup")
        #expect(bench.lease("wlan1", 2).contains("probe"))
    }

    @Test func theSuccessorLostIsNotTheLinkLost() throws {
        var bench = try joining()
        bench.connect("wlan1")
        let effects = bench.handle(.supplicant("wlan1", .disconnected(reason: 8, locallyGenerated: false)))
        #expect(effects.contains("leave wlan1") && !effects.contains("leave wlan0"))
        #expect(bench.network == "Home")
    }

    /// Its radio may sleep until the link in use is lost.
    // covers: rule/standby-ready
    @Test func whatStandsByTakesOverAtALoss() throws {
        var bench = try CoreBench(spare: "wlan1", keepsStandby: true)
        try bench.start()
        bench.handle(.scanRead([bench.bss("Home"), bench.bss("Backup")], after: nil))
        bench.readySpare()
        bench.now = bench.now + .seconds(6)
        bench.handle(.timer(.policy))
        #expect(bench.endScan(.finished([bench.bss("Home"), bench.bss("Backup")])) == ["join wlan1 Backup"])
        bench.connect("wlan1")
        #expect(bench.lease("wlan1", 2) == ["probe wlan1"])
        let ready = bench.handle(.found(.probed(epoch: bench.probed, .online)))
        #expect(ready.contains("wlan1 stands by"))
        #expect(bench.core.inUse == "wlan0" && bench.network == "Home")
        let clock = ClockReading(instant: bench.now, time: Timestamp(millisecondsSince1970: 0))
        #expect(bench.core.status(at: clock).standby?.ssid == bench.backup.ssid)

        let effects = bench.handle(.supplicant("wlan0", .disconnected(reason: 4, locallyGenerated: true)))
        #expect(Array(effects.prefix(3)) == ["leave successor probe", "use wlan1", "leave wlan0"])
        #expect(effects.contains("wlan1 is awake"))
        #expect(bench.core.inUse == "wlan1" && bench.network == "Backup")
        #expect(bench.core.status(at: clock).standby == nil)
    }

    /// Signing in goes over the link in use.
    // covers: rule/move-login-page
    @Test func aCommandToANetworkWithALoginPageMovesFirst() throws {
        var bench = try joining()
        bench.connect("wlan1")
        bench.lease("wlan1", 2)
        let effects = bench.handle(.found(.probed(epoch: bench.probed, .captive)))
        #expect(Array(effects.prefix(4)) == Self.succession)
        #expect(bench.core.inUse == "wlan1" && bench.network == "Backup")
    }

    /// There the device keeps its address.
    // covers: rule/move-same-network
    @Test func anotherAccessPointOfTheSameNetworkIsJoinedByTheStationInUse() throws {
        var bench = try CoreBench(spare: "wlan1", validates: false)
        try bench.start()
        bench.readySpare()
        for _ in 0..<60 where bench.joins.isEmpty {
            bench.now = bench.now + .seconds(2)
            bench.handle(.signal(-85))
            let weak = BSS(
                bssid: BSSID("02:00:00:00:01:01")!, ssid: bench.home.ssid, frequency: Frequency(megahertz: 2462),
                signal: -50, lastSeen: bench.now, security: .wpa2)
            bench.endScan(.finished([bench.bss("Home", signal: -85), weak]))
        }
        #expect(bench.joins["wlan0"]?.request.ssid == bench.home.ssid && bench.joins["wlan1"] == nil)
    }

    /// After a loss the station that was in use last searches.
    // covers: rule/move-after-loss
    @Test func afterALossTheStationInUseSearches() throws {
        var bench = try CoreBench(spare: "wlan1")
        try bench.start()
        bench.readySpare()
        bench.handle(.supplicant("wlan0", .disconnected(reason: 8, locallyGenerated: false)))
        bench.endScan(.finished([bench.bss("Backup")]))
        #expect(bench.joins["wlan0"]?.request.ssid == bench.backup.ssid && bench.joins["wlan1"] == nil)
    }

    @Test func aSpareThatGoesIsNotReady() throws {
        var bench = try CoreBench(spare: "wlan1")
        try bench.start()
        bench.readySpare()
        #expect(bench.core.handover.isSpareReady)
        #expect(bench.handle(.supplicant("wlan1", .unavailable)) == ["review handover"])
        #expect(!bench.core.handover.isSpareReady)
        // With one station, the network is left first.
        bench.handle(.request(7, try bench.command("Backup")))
        try bench.store(1)
        bench.handle(.answerSent(switchID: "s-1"))
        #expect(bench.endScan(.finished([bench.bss("Home"), bench.bss("Backup")])).contains("join wlan0 Backup"))
    }

    // MARK: What it takes

    private typealias Radio = HandoverRadios.Radio

    /// What the hardware allows, and what the device tells of it. The spare station is up, and its wpa_supplicant
    /// answers.
    // covers: rule/spare-interface
    @Test(arguments: [
        (HandoverRadios(inUse: nil), Handover.breakBeforeMake(.radioMissing)),
        (HandoverRadios(inUse: Radio(index: 0, links: 2, channels: 2)), .breakBeforeMake(.spareMissing)),
        // Of the same radio: two links, on two channels.
        (
            HandoverRadios(
                inUse: Radio(index: 0, links: 1, channels: 1), spare: Radio(index: 0, links: 1, channels: 1)),
            .breakBeforeMake(.oneLink)
        ),
        (
            HandoverRadios(
                inUse: Radio(index: 0, links: 2, channels: 1), spare: Radio(index: 0, links: 2, channels: 1)),
            .breakBeforeMake(.oneChannel)
        ),
        (
            HandoverRadios(
                inUse: Radio(index: 0, links: 2, channels: 2), spare: Radio(index: 0, links: 2, channels: 2)),
            .makeBeforeBreak
        ),
        // Of another radio: always.
        (
            HandoverRadios(
                inUse: Radio(index: 0, links: 1, channels: 1), spare: Radio(index: 1, links: 1, channels: 1)),
            .makeBeforeBreak
        ),
    ])
    func whatTheRadiosAllow(radios: HandoverRadios, handover: Handover) throws {
        var bench = try CoreBench(spare: "wlan1")
        try bench.start()
        bench.handle(.supplicant("wlan1", .available))
        bench.handle(.radiosFound(bench.core.handover.reviews, radios))
        #expect(bench.core.status(at: bench.core.now).handover == handover)
        #expect(bench.core.handover.isSpareReady == handover.isMakeBeforeBreak)
    }

    // covers: rule/spare-interface
    @Test(arguments: [
        (Radio?.none, Handover.Obstacle.radioMissing), (Radio(index: 0, links: 1, channels: 1), .oneLink),
        (Radio(index: 0, links: 2, channels: 1), .oneChannel), (Radio(index: 0, links: 2, channels: 2), .notSet),
    ])
    func withoutASpareInterfaceTheDeviceTellsWhy(radio: HandoverRadios.Radio?, obstacle: Handover.Obstacle) throws {
        var bench = try CoreBench()
        try bench.start()
        #expect(bench.handle(.radiosFound(bench.core.handover.reviews, HandoverRadios(inUse: radio))) == [])
        #expect(bench.core.status(at: bench.core.now).handover == .breakBeforeMake(obstacle))
    }

    private static let another = HandoverRadios(
        inUse: Radio(index: 0, links: 1, channels: 1), spare: Radio(index: 1, links: 1, channels: 1))

    // covers: rule/spare-ready
    @Test func aSpareThatIsDownOrHasNoWpaSupplicantIsNotReady() throws {
        var bench = try CoreBench(spare: "wlan1")
        try bench.start()
        bench.handle(.radiosFound(bench.core.handover.reviews, Self.another))
        #expect(bench.core.handover.found == .breakBeforeMake(.spareNotReady))
        bench.handle(.supplicant("wlan1", .available))
        bench.surroundings.stations["wlan1"]?.isLinkUp = false
        bench.handle(.radiosFound(bench.core.handover.reviews, Self.another))
        #expect(bench.core.handover.found == .breakBeforeMake(.spareNotReady))
        // It is looked at again when it comes up.
        bench.surroundings.stations["wlan1"]?.isLinkUp = true
        #expect(bench.handle(.linkChanged("wlan1", isUp: true)) == ["review handover"])
        bench.handle(.radiosFound(bench.core.handover.reviews, Self.another))
        #expect(bench.core.handover.found == .makeBeforeBreak)
    }

    /// Where the radio has room for it, and no interface has the name; once for each review, whether it comes about or
    /// not.
    // covers: rule/spare-interface
    @Test func theSpareInterfaceIsMade() throws {
        var bench = try CoreBench(spare: "wlan1")
        bench.surroundings.stations["wlan1"]?.index = nil
        try bench.start()
        let roomy = HandoverRadios(inUse: Radio(index: 0, links: 2, channels: 2))
        let number = bench.core.handover.reviews
        #expect(bench.handle(.radiosFound(number, roomy)) == ["add wlan1 beside wlan0"])
        #expect(bench.handle(.radiosFound(number, roomy)) == [])
        #expect(bench.core.handover.found == .breakBeforeMake(.spareMissing))
        // And again whenever it goes.
        #expect(bench.handle(.radio("wlan1", .interfaceRemoved)) == ["review handover"])
        #expect(bench.handle(.radiosFound(number + 1, roomy)) == ["add wlan1 beside wlan0"])
        // A radio without room gets none.
        bench.handle(.radio("wlan1", .interfaceRemoved))
        let narrow = HandoverRadios(inUse: Radio(index: 0, links: 1, channels: 1))
        #expect(bench.handle(.radiosFound(number + 2, narrow)) == [])
    }

    /// The first interface is of a radio that may come back.
    @Test func theFirstInterfaceIsNotMade() throws {
        var bench = try joining()
        bench.connect("wlan1")
        bench.lease("wlan1", 2)
        bench.handle(.found(.probed(epoch: bench.probed, .online)))
        #expect(bench.core.inUse == "wlan1")
        bench.surroundings.stations["wlan0"]?.index = nil
        bench.handle(.radio("wlan0", .interfaceRemoved))
        let roomy = HandoverRadios(inUse: Radio(index: 0, links: 2, channels: 2))
        #expect(bench.handle(.radiosFound(bench.core.handover.reviews, roomy)) == [])
        #expect(bench.core.handover.found == .breakBeforeMake(.spareMissing))
    }

    @Test func anAnswerToAnEarlierReviewIsDropped() throws {
        var bench = try CoreBench(spare: "wlan1")
        try bench.start()
        let number = bench.core.handover.reviews
        bench.handle(.radio("wlan1", .interfaceAdded))
        bench.handle(.handoverFound(number, .makeBeforeBreak))
        #expect(!bench.core.handover.isSpareReady)
    }

    @Test func anAgentThatStartsGoesOnWithTheStationThatCarriesTheTraffic() throws {
        var bench = try CoreBench(spare: "wlan1")
        #expect(bench.handle(.begin(inUse: "wlan1")).first == "use wlan1")
        #expect(bench.core.inUse == "wlan1" && bench.core.spare == "wlan0")
    }

    /// Some link that no order of the agent's made is not left standing.
    @Test func whatTheSpareStationIsInIsLeft() throws {
        var bench = try CoreBench(spare: "wlan1")
        try bench.start()
        #expect(bench.handle(.supplicant("wlan1", .available)) == ["leave wlan1", "review handover"])
        #expect(
            bench.handle(.supplicant("wlan1", .connected(attempt: nil, bssid: bench.bss("Cafe").bssid)))
                == ["leave wlan1"])
    }
}
