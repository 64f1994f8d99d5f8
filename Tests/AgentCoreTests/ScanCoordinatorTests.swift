import AgentModel
import AppProtocol
import Failover
import KeyFile
import Testing

@testable import AgentCore

/// The order of scans.
@Suite struct ScanCoordinatorTests {
    private let wanted = AppProtocol.ScanRequest()

    private func started() throws -> CoreBench {
        var bench = try CoreBench()
        try bench.start()
        return bench
    }

    /// A device whose policy scans for a commanded switch.
    private func searching() throws -> CoreBench {
        var bench = try started()
        bench.handle(.request(7, try bench.command("Backup")))
        try bench.store(1)
        #expect(bench.handle(.answerSent(switchID: "s-1")).last == "scan all commanded")
        return bench
    }

    @Test func anAppIsAnsweredWhenTheRadioHasTakenTheScanOn() throws {
        var bench = try started()
        #expect(bench.handle(.request(1, .startScan(wanted))) == ["scan for app"])
        #expect(bench.handle(.scanBegan(bench.scans[0])) == ["answer 1"])
        #expect(bench.endScan(.finished([bench.bss("Home")])) == ["publish scan.finished"])
    }

    @Test func aScanThatTheRadioRefusesIsTheAnswer() throws {
        var bench = try started()
        bench.handle(.request(1, .startScan(wanted)))
        #expect(bench.endScan(.busy(ProtocolError(.scanBusy, "busy"))) == ["answer 1 scanBusy"])
        // It is not in the way of the next one.
        #expect(bench.handle(.request(2, .startScan(wanted))) == ["scan for app"])
    }

    @Test func ofTwoAppsTheSecondIsToldThatAScanRuns() throws {
        var bench = try started()
        bench.handle(.request(1, .startScan(wanted)))
        #expect(bench.handle(.request(2, .startScan(wanted))) == ["answer 2 scanBusy"])
        #expect(bench.handle(.scanBegan(bench.scans[0])) == ["answer 1"])
    }

    @Test func withoutAnInterfaceThereIsNoScan() throws {
        var bench = try started()
        bench.surroundings.stations["wlan0"]?.index = nil
        #expect(bench.handle(.request(1, .startScan(wanted))) == ["answer 1 interfaceMissing"])
        bench.surroundings.stations["wlan0"]?.index = 1
        bench.surroundings.stations["wlan0"]?.isLinkUp = false
        #expect(bench.handle(.request(2, .startScan(wanted))) == ["answer 2 radioFailed"])
    }

    @Test func thePolicysScanWaitsForTheEndOfAnApps() throws {
        var bench = try started()
        bench.handle(.request(1, .startScan(wanted)))
        bench.handle(.request(7, try bench.command("Backup")))
        try bench.store(1)
        #expect(bench.handle(.answerSent(switchID: "s-1")) == ["publish accepted"])
        #expect(
            bench.endScan(.finished([])) == ["answer 1", "publish scan.finished", "scan all commanded"])
    }

    @Test func aBusyRadioIsTriedAgain() throws {
        var bench = try searching()
        #expect(bench.endScan(.busy(ProtocolError(.scanBusy, "busy"))) == ["wait scanRetry"])
        #expect(bench.handle(.timer(.scanRetry)) == ["scan all commanded"])
    }

    @Test func theEndOfAnotherProgramsScanIsTheEarlierOccasion() throws {
        var bench = try searching()
        bench.endScan(.busy(ProtocolError(.scanBusy, "busy")))
        #expect(bench.handle(.radio("wlan0", .scanFinished(aborted: false))) == ["read scan", "scan all commanded"])
    }

    /// What another program has just found on the same channels need not be scanned for again.
    @Test func theResultsOfAnotherProgramsScanAreTaken() throws {
        var bench = try started()
        bench.handle(.scanRead([bench.bss("Home"), bench.bss("Backup")], after: nil))
        bench.now = bench.now + .seconds(20)
        bench.handle(.supplicant("wlan0", .disconnected(reason: 4, locallyGenerated: true)))
        guard case .policy(let order)? = bench.scans.first else { return #expect(Bool(false), "no scan") }
        bench.endScan(.busy(ProtocolError(.scanBusy, "busy")))
        let others = order.frequencies + [Frequency(megahertz: 5180)]
        #expect(
            bench.handle(.radio("wlan0", .scanFinished(aborted: false, frequencies: others))) == ["read scan"])
        let effects = bench.handle(.scanRead([bench.bss("Backup")], after: order))
        #expect(effects.contains("join wlan0 Backup"), "\(effects)")
        #expect(bench.timers[.scanRetry] == nil)
    }

    @Test func aRunOfRefusedScansIsToldOnceAndItsEndToo() throws {
        var bench = try started()
        bench.handle(.scanRead([bench.bss("Home"), bench.bss("Backup")], after: nil))
        bench.now = bench.now + .seconds(20)
        bench.handle(.supplicant("wlan0", .disconnected(reason: 0, locallyGenerated: true)))
        let refusal = ScanEnd.refused(ProtocolError(.radioFailed, "Invalid exchange"), joinsUnseen: false)
        for _ in 0..<20 {
            bench.endScan(refusal)
            bench.now = bench.timers[.policy] ?? bench.now
            bench.handle(.timer(.policy))
        }
        #expect(bench.warnings.filter { $0.contains("refuses scans: ") }.count == 1, "\(bench.warnings)")
        #expect(bench.warnings.first { $0.contains("refuses scans: ") }?.contains("Invalid exchange") == true)
        while bench.scans.isEmpty {
            bench.now = bench.timers[.policy] ?? bench.now
            bench.handle(.timer(.policy))
        }
        bench.endScan(.finished([bench.bss("Home")]))
        #expect(bench.notices.count { $0.contains("scans again") && $0.contains(" 20") } == 1, "\(bench.notices)")
    }

    /// EAGAIN of brcmfmac, which joins something at that moment: no scan is refused for that.
    @Test func aDriverThatJoinsIsWaitedFor() throws {
        var bench = try started()
        bench.handle(.scanRead([bench.bss("Home"), bench.bss("Backup")], after: nil))
        bench.handle(.supplicant("wlan0", .disconnected(reason: 0, locallyGenerated: true)))
        #expect(bench.core.policy.phase.epoch != nil, "Backup is joined")
        let again = ScanEnd.refused(ProtocolError(.radioFailed, "Try again"), joinsUnseen: true, isConnecting: true)
        while bench.scans.isEmpty {
            bench.now = bench.timers[.policy] ?? bench.now
            bench.handle(.timer(.policy))
        }
        let effects = bench.endScan(again)
        #expect(effects == ["wait scanRetry"])
        #expect(bench.core.policy.refusedScans.count == 0)
    }

    /// brcmfmac's firmware may not end a scan, and then nothing else is to wait for it.
    @Test func aScanThatDoesNotEndIsGivenUp() throws {
        var bench = try started()
        bench.handle(.scanRead([bench.bss("Home"), bench.bss("Backup")], after: nil))
        bench.now = bench.now + .seconds(20)
        bench.handle(.supplicant("wlan0", .disconnected(reason: 0, locallyGenerated: true)))
        let owner = try #require(bench.scans.first)
        bench.handle(.scanBegan(owner))
        let limit = try #require(bench.timers[.scanOverdue])
        #expect(limit - bench.now <= .seconds(5))
        bench.now = limit
        #expect(bench.handle(.timer(.scanOverdue)).contains("abort scan"))
        #expect(bench.core.policy.refusedScans.count == 1)
        // Its end, whenever that is, lets the next one begin.
        bench.now = bench.timers[.policy] ?? bench.now
        let effects = bench.handle(.timer(.policy))
        #expect(!effects.contains { $0.hasPrefix("scan") })
        let next = bench.endScan(.aborted)
        #expect(next.contains { $0.hasPrefix("scan") }, "\(next)")
    }

    /// The results until then serve as well.
    @Test func anAbortedScanIsReadBeforeItCountsAsFailed() throws {
        var bench = try searching()
        let owner = bench.scans[0]
        guard case .policy(let order) = owner else { return #expect(Bool(false), "\(owner)") }
        #expect(bench.endScan(.aborted) == ["read scan"])
        #expect(bench.handle(.scanRead([bench.bss("Backup")], after: order)).contains("join wlan0 Backup"))
    }

    @Test func aFailedScanIsTheFailureOfTheSwitchInTheEnd() throws {
        var bench = try searching()
        var effects: [String] = []
        for _ in 0..<5 where !bench.scans.isEmpty {
            effects += bench.endScan(.failed(ProtocolError(.radioFailed, "no")))
            bench.now = bench.now + .seconds(5)
            effects += bench.handle(.timer(.policy))
        }
        #expect(effects.contains("commit 2 outcome"), "\(effects)")
        #expect(bench.network == "Home")
    }

    // MARK: An access point that falls silent

    private func suspicion(_ bench: CoreBench) -> AgentEvent {
        .silence(AccessPoint(bssid: bench.bss("Home").bssid, frequency: bench.bss("Home").frequency), .suspected)
    }

    @Test func aSilentAccessPointIsAskedAndLeft() throws {
        var bench = try started()
        #expect(bench.handle(suspicion(bench)) == ["scan for silence"])
        #expect(bench.endScan(.finished([])) == ["access point is silent"])
        let accessPoint = try #require(bench.core.policy.phase.accessPoint)
        #expect(bench.handle(.silence(accessPoint, .confirmed)) == ["leave wlan0"])
        // The end that this brings counts as silence, not as the device's own doing.
        bench.handle(.supplicant("wlan0", .disconnected(reason: 3, locallyGenerated: true)))
        #expect(bench.core.history(1).first?.reason.rawValue == "linkLost" || bench.network == "none")
    }

    @Test func oneThatAnswersIsThere() throws {
        var bench = try started()
        bench.handle(suspicion(bench))
        bench.now = bench.now + .milliseconds(30)
        #expect(bench.endScan(.finished([bench.bss("Home")])) == ["access point is there"])
    }

    /// The scan of an app is ended for it, and the app is told that.
    @Test func theQuestionComesBeforeAScanOfTheAgentsOwn() throws {
        var bench = try started()
        bench.handle(.request(1, .startScan(wanted)))
        bench.handle(.scanBegan(bench.scans[0]))
        bench.surroundings.stations["wlan0"]?.isScanning = true
        #expect(bench.handle(suspicion(bench)) == ["abort scan"])
        bench.surroundings.stations["wlan0"]?.isScanning = false
        #expect(bench.endScan(.aborted) == ["scan for silence", "read scan", "publish scan.finished"])
    }

    @Test func anotherProgramsScanIsNotEndedForIt() throws {
        var bench = try started()
        bench.handle(.request(1, .startScan(wanted)))
        #expect(bench.handle(suspicion(bench)) == ["access point is there"])
    }
}

/// Reports of the agent: findings, losses, waits.
@Suite struct AgentCoreTests {
    @Test func anExistingLinkIsKept() throws {
        var bench = try CoreBench()
        try bench.start()
        #expect(bench.network == "Home" && bench.joins.isEmpty)
        #expect(bench.core.status(at: bench.core.now).state == .online)
        #expect(bench.core.serviceStatus.hasPrefix("online in \"Home\""))
    }

    @Test func onlyTheLastAnswerOfWpaSupplicantCounts() throws {
        var bench = try CoreBench()
        bench.handle(.begin(inUse: "wlan0"))
        bench.handle(.atWork)
        bench.handle(.supplicant("wlan0", .available))
        bench.handle(.supplicant("wlan0", .available))
        #expect(bench.handle(.linkAnswer("wlan0", .whatIsThere(1), .notLinked)) == [])
        #expect(bench.handle(.linkAnswer("wlan0", .whatIsThere(2), .none)) == ["wait supplicantRetry(wlan0)"])
        #expect(bench.handle(.timer(.supplicantRetry("wlan0"))) == ["ask wlan0"])
    }

    /// A link with less than the network has had is another one's.
    @Test func aLinkBelowTheFloorIsLeft() throws {
        var home = try CoreBench.network("Home")
        home.minimumSecurity = [.sae, .pmf]
        var bench = try CoreBench(disk: StoredState(home: home))
        bench.handle(.begin(inUse: "wlan0"))
        bench.handle(.atWork)
        bench.handle(.supplicant("wlan0", .available))
        let facts = LinkFacts(ssid: home.ssid, bssid: bench.bss("Home").bssid, security: .wpa2, protection: [])
        #expect(bench.handle(.linkAnswer("wlan0", .whatIsThere(1), .linked(facts))).contains("leave wlan0"))
    }

    @Test func whatIsMissingIsSaidOnceAndAfterAWhile() throws {
        var bench = try CoreBench()
        bench.handle(.begin(inUse: "wlan0"))
        #expect(bench.core.troubles.waiting == .supplicant)
        #expect(bench.handle(.timer(.trouble)) == ["explain supplicant"])
        #expect(
            bench.handle(.timer(.trouble)) == ["explain supplicant"] || bench.core.troubles.lastReported == .supplicant)
        #expect(bench.core.serviceStatus == "waiting for wpa_supplicant")
    }

    /// That the interface has gone does not mean that wpa_supplicant is back.
    @Test func whatHasNotEndedIsNotSaidToHave() {
        #expect(MissingPart.supplicant.isOver(given: nil) && MissingPart.interface.isOver(given: nil))
        #expect(MissingPart.interface.isOver(given: .supplicant) && !MissingPart.supplicant.isOver(given: .interface))
        #expect(MissingPart.wifi.isOver(given: .interface) && MissingPart.wifi.isOver(given: .supplicant))
        #expect(
            MissingPart.interface.isOver(given: .blocked(.soft))
                && MissingPart.blocked(.hard).isOver(given: .supplicant))
        #expect(!MissingPart.blocked(.soft).isOver(given: .blocked(.hard)))
        #expect(!MissingPart.interface.isOver(given: .wifi) && !MissingPart.supplicant.isOver(given: .wifi))
    }

    @Test func anotherUplinkIsToldAndFollowed() throws {
        var bench = try CoreBench()
        bench.handle(.begin(inUse: "wlan0"))
        bench.handle(.atWork)
        bench.surroundings.otherUplink = .wired
        #expect(bench.handle(.route(.resynchronise)) == ["follow wired"])
        #expect(bench.handle(.route(.resynchronise)) == [], "it is told once")
    }

    /// The signal is the modem's while it carries the traffic, and each change of it is news.
    @Test func aModemsSignalIsTold() throws {
        var bench = try CoreBench()
        try bench.start()
        var modem = ModemStatus(interface: "wwan0", state: .registered, quality: 40)
        bench.surroundings.modem = modem
        bench.handle(.route(.resynchronise))
        bench.handle(.connectivity(Connectivity()))
        #expect(bench.statuses.last?.modem == modem)
        (modem.state, modem.rssi) = (.connected, -67)
        bench.surroundings.modem = modem
        (bench.surroundings.uplink, bench.surroundings.otherUplink) = (.cellular, .cellular)
        bench.handle(.route(.resynchronise))
        bench.handle(.connectivity(Connectivity()))
        #expect(bench.statuses.last?.signal == -67 && bench.statuses.last?.quality == 40)
        #expect(bench.statuses.last?.flags == .canUpdateBackups)
        let told = bench.statuses.count
        bench.handle(.route(.resynchronise))
        bench.handle(.connectivity(Connectivity()))
        #expect(bench.statuses.count == told)
    }

    // covers: seed/captive-reported
    @Test func aLoginPageMarksTheInterface() throws {
        var bench = try CoreBench()
        try bench.start()
        #expect(bench.handle(.connectivity(Connectivity(internet: .captive))) == ["captive true wlan0"])
        #expect(bench.handle(.connectivity(Connectivity(internet: .yes))) == ["captive false wlan0"])
    }

    @Test func whatTheKernelLostIsAskedAfterOverflow() throws {
        var bench = try CoreBench()
        try bench.start()
        #expect(bench.handle(.radio("wlan0", .resynchronise)) == ["read scan", "ask kernel wlan0"])
        guard case .online(let link) = bench.core.policy.phase else { return #expect(Bool(false)) }
        bench.handle(.linkGone(link))
        #expect(bench.network != "Home" || !bench.scans.isEmpty)
    }

    /// Learnt values are written at the end, whether they are worth a write or not.
    @Test func theEndWritesWhatWasLearnt() throws {
        var bench = try CoreBench()
        try bench.start()
        #expect(bench.handle(.stop) == ["commit 1 learnt"])
        try bench.store(1)
        #expect(bench.disk.current?.isSame(as: bench.home) == true)
    }

    /// The same events at the same times have the same effects.
    @Test func nothingElseHasAnInfluence() throws {
        func run() throws -> [[String]] {
            var bench = try CoreBench(spare: "wlan1")
            try bench.start()
            bench.readySpare()
            let request = try bench.command("Backup")
            return [bench.handle(.request(7, request)), try bench.store(1), bench.handle(.answerSent(switchID: "s-1"))]
        }
        #expect(try run() == run())
    }
}
