import AgentModel
import AppProtocol
import Failover
import KeyFile
import Testing

@testable import AgentCore

/// A newer password of the network that the device is in, from the request to the end, row by row, and what a power cut leaves of
/// it.
@Suite struct StagedPasswordTests {
    private static let key = StagedPassword.Key(
        passphrase: Secret(text: "newer password"), psk: Secret([UInt8](repeating: 9, count: 32)))

    private func request(_ id: String = "a", keepFor: Int? = nil, password: String? = nil) throws -> AgentRequest {
        let key = password.map { StagedPassword.Key(passphrase: Secret(text: $0), psk: Self.key.psk) } ?? Self.key
        return .stagePassword(NewPassword(changeID: id, ssid: try SSID("Home"), key: key, keepFor: keepFor))
    }

    private enum Row: Int, CaseIterable {
        case request, stored, lost, refused, associated, lease, online, ended

        func perform(to bench: inout CoreBench, _ tests: StagedPasswordTests) throws -> [String] {
            switch self {
            case .request: return bench.handle(.request(7, try tests.request()))
            case .stored: return try bench.storeAll()
            case .lost:
                bench.handle(.supplicant("wlan0", .disconnected(reason: 2, locallyGenerated: false)))
                return bench.find("Home")
            case .refused:
                // Until the newer one is tried.
                for _ in 0..<4 where bench.joining?.password != StagedPasswordTests.key.passphrase {
                    if bench.joining == nil {
                        bench.now = max(bench.now, bench.timers[.policy] ?? bench.now)
                        bench.handle(.timer(.policy))
                    } else {
                        let attempt = bench.joins["wlan0"]?.attempt ?? 0
                        bench.handle(.supplicant("wlan0", .joinFailed(attempt: attempt, .wrongKey, detail: "")))
                    }
                    bench.find("Home")
                }
                return []
            case .associated: return bench.connect("wlan0")
            case .lease: return bench.lease("wlan0", 1)
            case .online: return bench.handle(.found(.probed(epoch: bench.probed, .online)))
            case .ended: return try bench.storeAll()
            }
        }
    }

    private func bench(after count: Int) throws -> CoreBench {
        var bench = try CoreBench()
        try bench.start()
        for row in Row.allCases.prefix(count) { _ = try row.perform(to: &bench, self) }
        return bench
    }

    @Test func theNewerOneIsUsedWhenTheOldOneIsRefused() throws {
        var bench = try bench(after: 0)
        #expect(try Row.request.perform(to: &bench, self) == ["commit 1 staged"])
        #expect(try Row.stored.perform(to: &bench, self) == ["publish backups.changed", "answer 7"])
        #expect(bench.disk.staged.map(\.phase) == [.staged])
        for row in Row.allCases.dropFirst(2).dropLast(2) { _ = try row.perform(to: &bench, self) }
        _ = try Row.online.perform(to: &bench, self)
        #expect(bench.disk.home?.password == bench.home.password)
        #expect(try Row.ended.perform(to: &bench, self).contains("publish backups.changed"))
        #expect(bench.disk.home?.password == Self.key.passphrase && bench.disk.staged.map(\.phase) == [.committed])
        #expect(bench.network == "Home")
    }

    /// The device has the old password, the new one, or both, and says which; the same request leads on from there.
    @Test(arguments: 0...Row.allCases.count) func aPowerCutBetweenAnyTwoRows(number: Int) throws {
        var next = try CoreBench(disk: bench(after: number).disk)
        try next.start()
        let phase = next.disk.staged.first?.phase
        let isStored = number > Row.stored.rawValue
        let isEnded = number > Row.ended.rawValue
        #expect(phase == (isEnded ? .committed : isStored ? .staged : nil))
        #expect(next.disk.home?.password == (isEnded ? Self.key.passphrase : next.home.password))
        next.handle(.request(8, try request()))
        try next.storeAll()
        #expect(next.disk.staged.map(\.phase) == [isEnded ? .committed : .staged])
    }

    @Test func theSameRequestChangesNothingAndAnotherPasswordIsRefused() throws {
        var bench = try bench(after: 2)
        let disk = bench.disk
        bench.handle(.request(8, try request()))
        let effects = try bench.storeAll()
        #expect(effects.last == "answer 8" && bench.disk == disk)
        bench.handle(.request(9, try request(password: "third password")))
        #expect(throws: ProtocolError.self) { try bench.storeAll() }
    }

    @Test func whatCannotBeIsRefused() throws {
        var state = StoredState(home: try CoreBench.network("Home"))
        func code(_ name: String, _ password: String) -> ErrorCode? {
            guard let ssid = try? SSID(name) else { return nil }
            let key = StagedPassword.Key(passphrase: Secret(text: password), psk: Self.key.psk)
            do throws(ProtocolError) {
                try state.stage(NewPassword(changeID: "a", ssid: ssid, key: key, keepFor: nil), at: 0)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code("Cellar", "newer password") == .unknownNetwork)
        #expect(code("Home", "é-password") == .invalidPassword)
        state.home?.credential = .none
        #expect(code("Home", "newer password") == .unsupported)
    }

    @Test func itIsTakenBackOrGivenUp() throws {
        var bench = try bench(after: 2)
        bench.handle(.request(8, .dropPassword("a")))
        try bench.storeAll()
        #expect(bench.disk.staged.map(\.phase) == [.dropped] && bench.disk.home == bench.home)
        #expect(bench.handle(.request(9, .dropPassword("b"))) == ["answer 9 unknownNetwork"])

        bench.handle(.request(10, try request("c", keepFor: 60)))
        try bench.storeAll()
        let wake = try #require(bench.timers[.staged])
        #expect((59...61).contains((wake - bench.now).components.seconds))
        bench.now = wake + .seconds(1)
        bench.handle(.timer(.staged))
        try bench.storeAll()
        #expect(bench.disk.staged.map(\.phase) == [.dropped, .expired] && bench.disk.home == bench.home)
    }

    /// A device without a battery for its clock is told the time by the network, and may be told nonsense.
    @Test(arguments: [Int64(-3_000_000_000), 1_000_000_000_000]) func aClockThatJumpsDoesNotCount(by jump: Int64) throws
    {
        var bench = try bench(after: 0)
        bench.handle(.request(7, try request(keepFor: 600)))
        try bench.storeAll()
        func until() throws -> Int64 {
            let clock = ClockReading(
                instant: bench.now, time: Timestamp(millisecondsSince1970: bench.epoch + bench.now.milliseconds))
            let told = try #require(bench.core.backupList(at: clock).staged.first?.until)
            return (told.millisecondsSince1970 - clock.time.millisecondsSince1970) / 1000
        }
        #expect(try (599...600).contains(until()))
        bench.epoch += jump
        bench.handle(.timer(.policy))
        #expect(try (599...600).contains(until()) && bench.disk.staged.map(\.phase) == [.staged])
        try bench.pass(.seconds(595))
        #expect(bench.disk.staged.map(\.phase) == [.staged])
        try bench.pass(.seconds(6))
        #expect(bench.disk.staged.map(\.phase) == [.expired] && bench.disk.staged[0].remaining == nil)
    }

    /// It is switched off in between, for as long as it likes.
    @Test func theTimeThatTheDeviceIsOnIsCounted() throws {
        var bench = try bench(after: 0)
        bench.handle(.request(7, try request(keepFor: 86_400)))
        try bench.storeAll()
        try bench.pass(.seconds(40_000))
        let remaining = try #require(bench.disk.staged[0].remaining)
        #expect((46_400...50_000).contains(remaining))
        bench = try CoreBench(disk: bench.disk)
        bench.epoch += 1_000_000_000
        try bench.start()
        try bench.pass(.seconds(Int64(remaining) - 10))
        #expect(bench.disk.staged.map(\.phase) == [.staged])
        try bench.pass(.seconds(20))
        #expect(bench.disk.staged.map(\.phase) == [.expired])
    }

    @Test func aDiskThatRefusesTheEndIsAskedAgainLater() throws {
        var bench = try bench(after: Row.ended.rawValue)
        let id = try #require(bench.changes.keys.first)
        bench.refuse(id)
        #expect(bench.changes.isEmpty && bench.disk.staged.map(\.phase) == [.staged])
        let wake = try #require(bench.timers[.staged])
        bench.now = wake
        bench.handle(.timer(.staged))
        try bench.storeAll()
        #expect(bench.disk.staged.map(\.phase) == [.committed])
    }

    /// A commanded switch to it, with its own way back, is how a fleet has it tried at once.
    @Test func aSwitchToItsHashCommitsIt() throws {
        var bench = try bench(after: 2)
        let newer = try #require(bench.disk.stagedNetwork(of: try SSID("Home")))
        bench.handle(
            .request(
                8,
                .switchNetwork(
                    .stored(newer.hash(localKey: CoreBench.key)), confirmWithin: nil, joinOnce: false, switchID: "s")))
        try bench.storeAll()
        bench.handle(.answerSent(switchID: "s"))
        bench.find("Home")
        bench.connect("wlan0")
        bench.lease("wlan0", 1)
        bench.handle(.found(.probed(epoch: bench.probed, .online)))
        try bench.storeAll()
        #expect(bench.disk.staged.map(\.phase) == [.committed] && bench.disk.home?.password == Self.key.passphrase)
    }
}

extension CoreBench {
    /// The network that it is in, or on the way to.
    fileprivate var joining: StoredNetwork? { core.policy.phase.network.flatMap { core.registry[$0] } }

    /// The disk takes all that was ordered.
    @discardableResult
    fileprivate mutating func storeAll() throws -> [String] {
        var effects: [String] = []
        while let id = changes.keys.min(by: { $0.rawValue < $1.rawValue }) { effects += try store(id) }
        return effects
    }

    /// Time passes, and what the timer of staged passwords orders is stored.
    fileprivate mutating func pass(_ time: Duration) throws {
        let end = now + time
        while let wake = timers[.staged], wake <= end {
            now = max(now, wake)
            handle(.timer(.staged))
            try storeAll()
        }
        now = max(now, end)
    }

    /// All scans that were ordered end, and find this network.
    @discardableResult
    fileprivate mutating func find(_ name: String) -> [String] {
        var effects: [String] = []
        while !scans.isEmpty { effects += endScan(.finished([bss(name)])) }
        return effects
    }
}
