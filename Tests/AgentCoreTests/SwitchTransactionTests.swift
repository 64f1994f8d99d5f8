import AgentModel
import AppProtocol
import Failover
import KeyFile
import Testing

@testable import AgentCore

/// A commanded switch from the command to the outcome, row by row (Docs/contributor/architecture.md), and what a power
/// cut leaves of it.
@Suite struct SwitchTransactionTests {
    /// The rows, each with the effects that it is to have.
    private enum Row: Int, CaseIterable {
        case request, committed, answerSent, scanned, associated, lease, online, stored

        var effects: [String] {
            switch self {
            case .request: ["commit 1 pending switch"]
            case .committed: ["answer 7 accepted"]
            case .answerSent: ["publish accepted", "scan all commanded"]
            case .scanned: ["sign off", "follow none", "join wlan0 Backup", "publish joining"]
            case .associated: ["ask protection wlan0", "seek address wlan0", "publish waitingForAddress"]
            case .lease: ["follow wifi", "publish validating", "probe"]
            case .online: ["commit 2 outcome"]
            case .stored: ["publish committed"]
            }
        }

        func perform(to bench: inout CoreBench) throws -> [String] {
            switch self {
            case .request: bench.handle(.request(7, try bench.command("Backup")))
            case .committed: try bench.store(1)
            case .answerSent: bench.handle(.answerSent(switchID: "s-1"))
            case .scanned: bench.endScan(.finished([bench.bss("Home"), bench.bss("Backup")]))
            case .associated: bench.connect("wlan0")
            case .lease: bench.lease("wlan0", 2)
            case .online: bench.handle(.found(.probed(epoch: bench.probed, .online)))
            case .stored: try bench.store(2)
            }
        }
    }

    /// - Returns: a device in Home after this many rows.
    private func bench(after count: Int) throws -> CoreBench {
        var bench = try CoreBench()
        try bench.start()
        for row in Row.allCases.prefix(count) { _ = try row.perform(to: &bench) }
        return bench
    }

    // covers: rule/command-intent
    @Test(arguments: 0..<Row.allCases.count) func eachRowHasItsEffects(number: Int) throws {
        var bench = try bench(after: number)
        let row = Row.allCases[number]
        #expect(try row.perform(to: &bench) == row.effects)
    }

    @Test func theDeviceBelongsWhereItWasSent() throws {
        let bench = try bench(after: Row.allCases.count)
        #expect(bench.network == "Backup")
        #expect(bench.disk.chosen == bench.backup && bench.disk.pendingSwitch == nil)
        #expect(try bench.core.switchStatus("s-1").phase == .committed)
    }

    /// The next core begins from the stored state.
    // covers: rule/command-intent, seed/roll-back
    @Test(arguments: 0...Row.allCases.count) func aPowerCutBetweenAnyTwoRows(number: Int) throws {
        var next = try CoreBench(disk: bench(after: number).disk)
        try next.start()
        let isPending = (Row.committed.rawValue + 1...Row.online.rawValue + 1).contains(number)
        let isDone = number == Row.allCases.count
        #expect(next.network == "Home")
        guard isPending else {
            #expect(throws: ProtocolError.self) { try next.core.switchStatus("s-1") }
            #expect((next.disk.chosen == next.backup) == isDone)
            return
        }
        // It was cut short, and failed. That is told once it is stored, and nothing of it is left.
        let ids = next.changes.keys.sorted { $0.rawValue < $1.rawValue }
        for id in ids { try next.store(id) }
        #expect(try next.core.switchStatus("s-1").phase.isOutcome)
        #expect(try next.core.switchStatus("s-1").phase != .committed)
        #expect(next.disk.pendingSwitch == nil && next.disk.chosen == nil)
    }

    @Test func aRefusedCommitLeavesEverythingAsItWas() throws {
        var bench = try bench(after: 1)
        let before = bench.core.policy.phase
        #expect(bench.refuse(1) == ["answer 7 storageFailed"])
        #expect(throws: ProtocolError.self) { try bench.core.switchStatus("s-1") }
        #expect(bench.handle(.answerSent(switchID: "s-1")) == [])
        #expect(bench.core.policy.phase == before && bench.disk.pendingSwitch == nil)
        #expect(!bench.core.status(at: bench.core.now).flags.contains(.switchInProgress))
        // The next one is taken on.
        #expect(bench.handle(.request(8, try bench.command("Backup", id: "s-2"))) == ["commit 2 pending switch"])
    }

    /// The outcome is told all the same, with just that, and goes along with whatever is written next.
    @Test func anOutcomeThatCannotBeStoredIsToldWithThat() throws {
        var bench = try bench(after: Row.stored.rawValue)
        #expect(bench.refuse(2) == ["publish committed"])
        let text = try bench.core.switchStatus("s-1").text
        #expect(text?.contains("not be stored") == true)
        #expect(bench.disk.pendingSwitch != nil)
        let backup = bench.backup.hash(localKey: CoreBench.key)
        #expect(
            bench.handle(.request(9, .updateBackups(PreparedUpdate(entries: [.stored(backup)], ifRevision: nil)))) == [
                "commit 3 backups"
            ])
        try bench.store(3)
        #expect(bench.disk.pendingSwitch == nil && bench.disk.chosen?.isSame(as: bench.backup) == true)
    }

    @Test func theSwitchBeginsWithTheAnswerAndOnce() throws {
        var bench = try bench(after: 2)
        #expect(bench.handle(.answerSent(switchID: "s-0")) == [], "the answer of another command")
        #expect(bench.handle(.answerSent(switchID: "s-1")).contains("publish accepted"))
        #expect(bench.handle(.answerSent(switchID: "s-1")) == [])
    }

    @Test func aSecondCommandIsRefusedWhileTheFirstIsOnItsWayToTheDisk() throws {
        var bench = try bench(after: 1)
        #expect(bench.handle(.request(8, try bench.command("Backup", id: "s-2"))) == ["answer 8 switchInProgress"])
        #expect(try bench.store(1) == ["answer 7 accepted"])
    }

    // covers: seed/switch-by-hash, seed/already-associated
    @Test func whereTheDeviceIsAlreadyThereIsNothingToDo() throws {
        var bench = try bench(after: 0)
        #expect(bench.handle(.request(7, try bench.command("Home"))) == ["answer 7 alreadyAssociated"])
        #expect(bench.handle(.request(8, try bench.command("Cafe"))) == ["answer 8 unknownNetwork"])
    }

    @Test func aCommandBeforeTheAgentIsAtWorkWaits() throws {
        var bench = try CoreBench()
        bench.handle(.begin(inUse: "wlan0"))
        #expect(bench.handle(.request(7, try bench.command("Backup"))) == [])
        #expect(bench.handle(.atWork).last == "commit 1 pending switch")
    }

    // MARK: Failure

    @Test func aNetworkThatIsNotThereIsNotJoined() throws {
        var bench = try bench(after: 3)
        #expect(bench.endScan(.finished([bench.bss("Home")])) == ["commit 2 outcome"])
        #expect(try bench.store(2) == ["publish rolledBack"])
        #expect(bench.network == "Home" && bench.disk.chosen == nil && bench.disk.pendingSwitch == nil)
    }

    @Test func aRefusedJoinLeadsBack() throws {
        var bench = try bench(after: 4)
        let attempt = try #require(bench.joins["wlan0"]?.attempt)
        let effects = bench.handle(.supplicant("wlan0", .joinFailed(attempt: attempt, .rejected, detail: "no")))
        // Nothing carries traffic, now under another name.
        #expect(effects == ["follow none", "join wlan0 Home"])
        // The address of Home, which was linked last, counts at once.
        #expect(bench.connect("wlan0").contains("commit 2 outcome"))
        #expect(try bench.store(2) == ["publish rolledBack"])
        #expect(bench.network == "Home" && bench.disk.chosen == nil)
    }

    @Test func aJoinThatWasNotEvenTakenOnCountsAsFailed() throws {
        var bench = try bench(after: 4)
        let attempt = try #require(bench.joins["wlan0"]?.attempt)
        #expect(bench.handle(.joinRefused(attempt: attempt, .rejected)) == ["follow none", "join wlan0 Home"])
    }

    /// The address of the network before looks as good as new until DHCP has noticed.
    // covers: rule/command-address
    @Test func theOldAddressDoesNotCount() throws {
        var bench = try bench(after: 5)
        #expect(bench.handle(.route(.resynchronise)) == [])
        #expect(bench.lease("wlan0", 2).contains("probe"))
    }

    // MARK: Confirmation and visits

    private func waiting() throws -> CoreBench {
        var bench = try CoreBench()
        try bench.start()
        bench.handle(.request(7, try bench.command("Backup", confirmWithin: 60)))
        for row in Row.allCases.dropFirst().prefix(5) { _ = try row.perform(to: &bench) }
        #expect(try Row.online.perform(to: &bench) == ["publish waitingForConfirmation"])
        return bench
    }

    @Test func aConfirmationIsAnsweredWhenTheOutcomeIsStored() throws {
        var bench = try waiting()
        #expect(bench.handle(.request(8, .confirmSwitch("s-1"))) == ["commit 2 outcome"])
        #expect(try bench.store(2) == ["publish committed", "answer 8 committed"])
        #expect(bench.handle(.request(9, .confirmSwitch("s-1"))) == ["answer 9 committed"])
    }

    @Test func twoConfirmationsAreBothAnswered() throws {
        var bench = try waiting()
        bench.handle(.request(8, .confirmSwitch("s-1")))
        #expect(bench.handle(.request(9, .confirmSwitch("s-1"))) == [])
        #expect(try bench.store(2) == ["publish committed", "answer 8 committed", "answer 9 committed"])
    }

    @Test func withoutAConfirmationTheDeviceGoesBack() throws {
        var bench = try waiting()
        bench.now = bench.now + .seconds(61)
        #expect(bench.handle(.timer(.policy)).contains("join wlan0 Home"))
        #expect(bench.handle(.request(8, .confirmSwitch("s-1"))) == ["answer 8 notWaiting"])
        #expect(bench.handle(.request(9, .confirmSwitch("s-9"))) == ["answer 9 unknownSwitch"])
    }

    // covers: seed/join-once
    @Test func aVisitLeavesNothingOnTheDisk() throws {
        var bench = try CoreBench()
        try bench.start()
        let cafe = try CoreBench.network("Cafe")
        bench.handle(
            .request(
                7, .switchNetwork(.new(cafe), confirmWithin: nil, joinOnce: true, switchID: "s-1")))
        _ = try bench.store(1)
        #expect(bench.disk.pendingSwitch?.id == "s-1" && bench.disk.pendingSwitch?.target == nil)
        bench.handle(.answerSent(switchID: "s-1"))
        bench.endScan(.finished([bench.bss("Home"), bench.bss("Cafe")]))
        bench.connect("wlan0")
        bench.lease("wlan0", 3)
        bench.handle(.found(.probed(epoch: bench.probed, .online)))
        #expect(try bench.store(2) == ["publish committed"])
        #expect(bench.network == "Cafe")
        #expect(!bench.disk.holds(cafe) && bench.disk.current?.ssid != cafe.ssid && bench.disk.pendingSwitch == nil)
    }
}

/// The list of backups, and what several connections ask at once.
@Suite struct BackupCommitTests {
    private func started() throws -> CoreBench {
        var bench = try CoreBench()
        try bench.start()
        return bench
    }

    @Test func aListIsAnsweredWhenItIsStored() throws {
        var bench = try started()
        let update = PreparedUpdate(entries: [.new(try CoreBench.network("Cafe"))], ifRevision: 0)
        #expect(bench.handle(.request(7, .updateBackups(update))) == ["commit 1 backups"])
        #expect(bench.core.state.backups.map(\.ssid.description) == ["Backup"])
        #expect(try bench.store(1) == ["publish backups.changed", "answer 7"])
        #expect(bench.core.policy.networks.map(\.ssid.description) == ["Home", "Cafe"])
    }

    /// The second was made from what the first has replaced.
    @Test func ofTwoListsTheSecondIsRefused() throws {
        var bench = try started()
        let update = PreparedUpdate(entries: [], ifRevision: 0)
        bench.handle(.request(7, .updateBackups(update)))
        #expect(bench.handle(.request(8, .updateBackups(update))) == ["commit 2 backups"])
        try bench.store(1)
        let second = try #require(bench.changes[2])
        let error = #expect(throws: ProtocolError.self) {
            var disk = bench.disk
            try second.apply(to: &disk)
        }
        #expect(error?.code == .revisionConflict)
        #expect(bench.handle(.refusedCommit(2, try #require(error))) == ["answer 8 revisionConflict"])
    }

    // covers: seed/backups-update
    @Test func aListThatIsNotStoredChangesNothing() throws {
        var bench = try started()
        bench.handle(.request(7, .updateBackups(PreparedUpdate(entries: [], ifRevision: nil))))
        #expect(bench.refuse(1) == ["answer 7 storageFailed"])
        #expect(bench.core.policy.networks.map(\.ssid.description) == ["Home", "Backup"])
    }

    // covers: seed/allowed-by-flags
    @Test func aStoreThatCannotBeWrittenAllowsNoUpdate() throws {
        var bench = try started()
        func canUpdate() -> Bool { bench.core.status(at: bench.core.now).flags.contains(.canUpdateBackups) }
        #expect(canUpdate())
        bench.handle(.request(7, .updateBackups(PreparedUpdate(entries: [], ifRevision: nil))))
        bench.refuse(1)
        #expect(!canUpdate() && bench.core.lastPublished.status?.flags.contains(.canUpdateBackups) == false)
        let due = try #require(bench.timers[.store])
        #expect(due - bench.now == .seconds(60))

        bench.now = due
        #expect(bench.handle(.timer(.store)) == ["check store"])
        bench.handle(.storeChecked(isWritable: false))
        #expect(!canUpdate() && bench.timers[.store] != nil)
        bench.handle(.storeChecked(isWritable: true))
        #expect(canUpdate() && bench.timers[.store] == nil)

        bench.handle(.storeChecked(isWritable: false))
        bench.handle(.request(8, .updateBackups(PreparedUpdate(entries: [], ifRevision: nil))))
        try bench.store(2)
        #expect(canUpdate() && bench.timers[.store] == nil, "a change has been stored")
    }
}
