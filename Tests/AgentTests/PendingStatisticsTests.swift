import AgentModel
import AppProtocol
import KeyFile
import Testing

@testable import Agent
@testable import AgentCore

/// A device with its store and a clock that only the test moves.
private struct Bench {
    let home: StoredNetwork
    let attic: StoredNetwork
    let cafe: StoredNetwork
    var now = Instant(milliseconds: 1_000_000)
    var stored: StoredState
    var journal: PendingStatistics
    var writes: [Instant] = []
    var diskFails = false

    /// At the start of a year: 2026-01-01.
    static let start: Int64 = 1_767_225_600_000

    init() throws {
        home = try StoredNetwork(DecryptedNetwork(ssid: SSID("Home"), password: Secret(text: "home-password")))
        attic = try StoredNetwork(DecryptedNetwork(ssid: SSID("Attic"), password: Secret(text: "attic-password")))
        cafe = try StoredNetwork(DecryptedNetwork(ssid: SSID("Cafe"), password: nil))
        stored = StoredState(home: home, backups: [attic, cafe])
        journal = PendingStatistics(stored)
    }

    var clock: ClockReading {
        ClockReading(
            instant: now, time: Timestamp(millisecondsSince1970: Self.start + now.milliseconds - 1_000_000))
    }

    /// Reviews, writes if it is due, and lets time pass.
    mutating func pass(_ duration: Duration = .zero, in step: Duration = .seconds(30)) {
        let end = now + duration
        repeat {
            journal.review(over: stored, at: clock)
            if let due = journal.due, due <= now { write() }
            now = now + min(step, max(end - now, .zero))
        } while now < end
        journal.review(over: stored, at: clock)
    }

    mutating func write() {
        writes.append(now)
        guard !diskFails else { return journal.refused(at: now) }
        journal.update(&stored, clock)
        stored = normalised(stored)
        journal.written()
    }

    mutating func see(_ network: StoredNetwork, _ signal: Int, on megahertz: Int = 2412) {
        journal.saw(
            BSS(
                bssid: BSSID("02:00:00:00:01:00")!, ssid: network.ssid, frequency: Frequency(megahertz: megahertz),
                signal: signal, lastSeen: now, security: network.credential == .none ? .owe : .wpa2), of: network)
    }

    /// As the store keeps it.
    private func normalised(_ state: StoredState) -> StoredState {
        var state = state
        state.statistics = state.statistics.filter { $0.value != NetworkStatistics() }
        return state
    }
}

@Suite struct PendingStatisticsTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    @Test func nothingLearntIsNothingToWrite() {
        var bench = bench
        bench.pass(.seconds(7 * 86_400), in: .seconds(600))
        #expect(bench.writes.isEmpty)
        #expect(bench.journal.due == nil)
    }

    @Test(arguments: [false, true]) func theOutcomeOfASwitchIsTriedAgainUntilItIsStored(isCommitted: Bool) throws {
        var bench = bench
        let target = try StoredNetwork(DecryptedNetwork(ssid: SSID("Guest"), password: Secret(text: "guest-password")))
        bench.stored.pendingSwitch = PendingSwitch(id: "1", target: target, cameFrom: bench.home.ssid)
        let before = bench.stored
        bench.journal.ended(SwitchOutcome(switchID: "1", isCommitted: isCommitted, isResumed: false))
        bench.diskFails = true
        bench.pass(.seconds(7200))
        #expect((3...6).contains(bench.writes.count), "no more often than anything else")
        #expect(bench.stored == before)

        bench.diskFails = false
        bench.pass(.seconds(1800))
        #expect(bench.stored.pendingSwitch == nil)
        #expect(bench.stored.chosen == (isCommitted ? target : nil))
        let count = bench.writes.count
        bench.pass(.seconds(7 * 86_400), in: .seconds(600))
        #expect(bench.writes.count == count)
    }

    /// It is stored with whatever is stored first, be it the next switch.
    @Test func theOutcomeOfASwitchGoesAlongWithTheNextOne() throws {
        var bench = bench
        let target = try StoredNetwork(DecryptedNetwork(ssid: SSID("Guest"), password: Secret(text: "guest-password")))
        bench.stored.pendingSwitch = PendingSwitch(id: "1", target: target, cameFrom: bench.home.ssid)
        bench.journal.ended(SwitchOutcome(switchID: "1", isCommitted: true, isResumed: false))
        let next = PendingSwitch(id: "2", target: bench.cafe, cameFrom: target.ssid)
        bench.journal.update(&bench.stored, bench.clock) { state in state.pendingSwitch = next }
        bench.pass(.seconds(7200))
        #expect(bench.stored.chosen == target)
        #expect(bench.stored.pendingSwitch?.id == "2", "the outcome of the first is none of the second")
        #expect(bench.writes.isEmpty)
    }

    @Test func aChangeThatChangesNothingWritesNothingThatWasLearnt() {
        var bench = bench
        bench.see(bench.attic, -60)
        bench.journal.update(&bench.stored, bench.clock) { _ in }
        #expect(bench.stored.statistics.isEmpty)
        bench.journal.update(&bench.stored, bench.clock) { state in state.backupsRevision += 1 }
        #expect(bench.stored.statistics.count == 1)
    }

    @Test func anIdleDeviceOnAGoodLinkWritesOnce() {
        var bench = bench
        for _ in 0..<5000 {
            bench.journal.online(in: bench.home, frequency: Frequency(megahertz: 2412))
            bench.journal.measured(Int.random(in: -60 ... -40), of: bench.home, at: bench.now)
            bench.see(bench.attic, Int.random(in: -80 ... -40))
            bench.pass(.seconds(30))
        }
        #expect(bench.writes.count == 1, "where it is, and the first sights")
        #expect(bench.stored.current == bench.stored.home)
        #expect(bench.stored.statistics.count == 2)
    }

    /// A network that can neither be kept nor be left, on two channels, for a day.
    @Test(arguments: [false, true]) func theBusiestDeviceWritesThreeTimesAnHour(diskFails: Bool) {
        var bench = bench
        bench.diskFails = diskFails
        for round in 0..<8640 {
            let network = round.isMultiple(of: 2) ? bench.home : bench.attic
            bench.see(network, -70, on: round % 7 < 3 ? 2412 : 5180)
            if round % 3 == 0 { bench.journal.failed(network, .timeout) }
            if round % 3 == 1 { bench.journal.online(in: network, frequency: nil) }
            if round % 3 == 2 { bench.journal.offline() }
            bench.pass(.seconds(10))
        }
        #expect((24...72).contains(bench.writes.count), "also if it is now and then just as it is stored")
        for (earlier, later) in zip(bench.writes, bench.writes.dropFirst()) {
            #expect(later - earlier >= .seconds(1200))
        }
    }

    @Test func whatIsWorthAWriteIsCollectedFirst() {
        var bench = bench
        bench.see(bench.home, -50)
        bench.pass(.seconds(600))
        bench.journal.failed(bench.attic, .wrongKey)
        bench.pass(.seconds(570))
        #expect(bench.writes.isEmpty)
        bench.pass(.seconds(60))
        #expect(bench.writes.count == 1)
        #expect(bench.stored.statistics[bench.attic.ssid]?.lastFailure == .wrongKey)
        let start = UInt32(Bench.start / 1000)
        #expect(
            bench.stored.statistics[bench.home.ssid]
                == NetworkStatistics(lastSeen: start, lastSignal: -50, lastFrequency: Frequency(megahertz: 2412)))
    }

    @Test func whatIsUndoneMeanwhileIsNotWritten() {
        var bench = bench
        bench.journal.online(in: bench.home, frequency: Frequency(megahertz: 2412))
        bench.see(bench.home, -50)
        bench.pass(.seconds(3600))
        let before = bench.writes.count
        bench.journal.failed(bench.home, .timeout)
        bench.see(bench.home, -50, on: 5180)
        bench.pass(.seconds(600))
        #expect(bench.journal.due != nil)
        bench.journal.online(in: bench.home, frequency: Frequency(megahertz: 2412))
        bench.pass(.seconds(3600))
        #expect(bench.writes.count == before)
    }

    @Test func eachOfTheseIsWorthAWrite() {
        let events: [(inout Bench) -> Void] = [
            { $0.see($0.cafe, -50) }, { $0.see($0.home, -50, on: 5180) }, { $0.journal.failed($0.home, .noAddress) },
            { $0.journal.online(in: $0.attic, frequency: nil) },
        ]
        for (number, event) in events.enumerated() {
            var bench = bench
            bench.journal.online(in: bench.home, frequency: nil)
            bench.see(bench.home, -50)
            bench.see(bench.attic, -50)
            bench.write()
            bench.pass()
            #expect(bench.journal.due == nil)
            event(&bench)
            bench.pass()
            #expect(bench.journal.due == bench.now + .seconds(1200), "event \(number)")
        }
    }

    private func accessPoints(_ numbers: UInt8...) -> [BSSID] {
        numbers.compactMap { BSSID(bytes: [2, 0, 0, 0, 0, $0]) }
    }

    @Test func aProvenAccessPointIsWorthAWriteUntilThereAreFour() {
        var bench = bench
        for count in UInt8(1)...4 {
            bench.journal.proved((1...count).reversed().flatMap { accessPoints($0) }, of: bench.home)
            bench.pass(.seconds(3600))
            #expect(bench.writes.count == Int(count))
        }
        #expect(bench.stored.statistics[bench.home.ssid]?.verifiedAccessPoints == accessPoints(4, 3, 2, 1))
        for number in UInt8(5)...20 {
            bench.journal.proved(accessPoints(number, 4, 3, 2), of: bench.home)
            bench.pass(.seconds(3600))
        }
        bench.journal.proved(accessPoints(1, 2, 3, 4), of: bench.home)
        bench.pass(.seconds(3600))
        #expect(bench.writes.count == 4, "a device that moves about among many writes nothing")
        bench.journal.proved(accessPoints(24, 23, 22, 21), of: bench.home)
        bench.pass(.seconds(3600))
        #expect(bench.writes.count == 5, "none of those that are stored is there any more")
    }

    @Test func provenAccessPointsSpeakForOneKeyOnly() throws {
        var bench = bench
        bench.journal.proved(accessPoints(1), of: bench.home)
        bench.pass(.seconds(3600))
        let other = try StoredNetwork(
            DecryptedNetwork(ssid: bench.home.ssid, password: Secret(text: "another-password")))
        var state = bench.stored
        #expect(!state.hasTwoKeys(of: bench.home.ssid))
        state.adopt(other)
        #expect(state.statistics[bench.home.ssid]?.verifiedAccessPoints == [], "another password opens nothing as yet")
        bench.stored.chosen = other
        #expect(bench.stored.hasTwoKeys(of: bench.home.ssid))
        bench.journal.update(&bench.stored, bench.clock)
        #expect(bench.stored.statistics[bench.home.ssid]?.verifiedAccessPoints == [])
    }

    @Test func anotherCommitTakesEverythingAlong() {
        var bench = bench
        bench.see(bench.home, -50)
        bench.pass(.seconds(60))
        #expect(bench.journal.due != nil)
        bench.journal.update(&bench.stored, bench.clock)
        bench.pass(.seconds(7200))
        #expect(bench.writes.isEmpty)
    }

    @Test func aFailingDiskIsLeftAlone() {
        var bench = bench
        bench.diskFails = true
        bench.see(bench.home, -50)
        bench.pass(.seconds(86_400))
        #expect((70...72).contains(bench.writes.count))
        bench.diskFails = false
        bench.pass(.seconds(1260))
        #expect(bench.stored.statistics[bench.home.ssid]?.lastSignal == -50)
        #expect(bench.journal.due == nil)
    }

    @Test func theLastSuccessClearsTheFailure() {
        var bench = bench
        bench.journal.failed(bench.home, .timeout)
        bench.write()
        #expect(bench.stored.statistics[bench.home.ssid]?.lastFailure == .timeout)
        bench.journal.online(in: bench.home, frequency: nil)
        bench.write()
        #expect(bench.stored.statistics[bench.home.ssid] == nil)
    }

    @Test func whatWasStoredBeforeTheStartIsKept() {
        var bench = bench
        let known = NetworkStatistics(
            lastSeen: 5, lastSignal: -70, lastFrequency: Frequency(megahertz: 2437), lastFailure: .timeout)
        bench.stored.statistics[bench.attic.ssid] = known
        bench.journal.failed(bench.attic, .wrongKey)
        bench.write()
        #expect(
            bench.stored.statistics[bench.attic.ssid]
                == NetworkStatistics(
                    lastSeen: 5, lastSignal: -70, lastFrequency: known.lastFrequency, lastFailure: .wrongKey))
    }

    /// A beacon is no proof that its sender knows the password.
    @Test func whatAnAccessPointSaysOfItselfIsNotStored() {
        var bench = bench
        bench.see(bench.home, -50)
        bench.see(bench.cafe, -50)
        bench.write()
        #expect(bench.stored.home?.security == nil)
        #expect(bench.stored.backups.map(\.security) == [nil, nil])
        #expect(bench.stored.backups.map(\.minimumSecurity) == [[], []])
    }

    private func floor(_ days: Int, _ protection: LinkProtection = [.sae, .pmf]) -> LearnedMinimumSecurity {
        var floor = LearnedMinimumSecurity()
        for _ in 0..<days { floor.countLink(with: protection) }
        return floor
    }

    @Test func howTheLastJoinWasAuthenticatedIsKeptWithTheNetwork() {
        var bench = bench
        bench.stored.current = bench.home
        bench.journal = PendingStatistics(bench.stored)
        bench.journal.negotiated(.wpa3, in: bench.home)
        bench.journal.negotiated(.owe, in: bench.cafe)
        bench.journal.negotiated(.wpa2, in: bench.attic)
        bench.write()
        #expect(bench.stored.home?.security == .wpa3)
        #expect(bench.stored.current == bench.stored.home, "one copy, so one cell")
        #expect(bench.stored.backups.map(\.security) == [.wpa2, .owe])
        #expect(bench.stored.namedNetworks.allSatisfy { $0.minimumSecurity == [] })
        // A twin with OWE is not believed for ever.
        bench.journal.negotiated(.open, in: bench.cafe)
        bench.write()
        #expect(bench.stored.backups.map(\.security) == [.wpa2, .open])
    }

    /// Each day that counts is worth one write, within the same patience as all others.
    @Test func aFloorIsWrittenOnceForEachDay() {
        var bench = bench
        for day in 1...3 {
            bench.journal.learned(floor(day), of: bench.home)
            bench.pass(.seconds(86_400))
            #expect(bench.writes.count == day)
        }
        #expect(bench.writes[0] - Instant(milliseconds: 1_000_000) >= PendingStatistics.patience)
        #expect(bench.stored.statistics[bench.home.ssid]?.learnedMinimumSecurity == floor(3))
        #expect(bench.stored.learnedProtection(of: bench.home) == [.sae, .pmf])
        bench.journal.learned(floor(1), of: bench.attic)
        bench.pass(.seconds(3600))
        #expect(bench.writes.count == 4, "another network's")
    }

    /// Before it is written, too: all that needs it is the state in memory.
    @Test func aFloorCountsAtOnce() {
        var bench = bench
        bench.journal.learned(floor(3), of: bench.home)
        var state = bench.stored
        bench.journal.addSecurity(to: &state)
        var book = NetworkRegistry()
        #expect(book.known(in: state).map(\.minimumSecurity) == [[.sae, .pmf], [], []])
        // A switch may have been ordered with less.
        let known = book.known(in: state, target: bench.home, origin: bench.home)
        #expect(known.map(\.minimumSecurity) == [[.sae, .pmf], [], []])
    }

    /// Of two networks of one name nobody knows which of them has shown it. A newer password is no other network.
    @Test func aFloorIsOfOneNetwork() throws {
        var state = bench.stored
        state.statistics[bench.home.ssid] = NetworkStatistics(learnedMinimumSecurity: floor(3))
        #expect(state.learnedProtection(of: bench.home) == [.sae, .pmf])
        let other = try StoredNetwork(
            DecryptedNetwork(ssid: bench.home.ssid, password: Secret(text: "another-password")))
        state.chosen = other
        #expect(state.learnedProtection(of: bench.home) == [] && state.learnedProtection(of: other) == [])
        state.chosen = nil
        #expect(state.learnedProtection(of: other) == [.sae, .pmf], "as one that is staged")
    }

    /// The network of a switch is not stored before it is committed.
    @Test func whatTheJoinOfASwitchShowsIsNotForgotten() throws {
        var bench = bench
        let target = try StoredNetwork(DecryptedNetwork(ssid: SSID("Guest"), password: Secret(text: "guest-password")))
        bench.stored.pendingSwitch = PendingSwitch(id: "1", target: target, cameFrom: bench.home.ssid)
        bench.journal.learned(floor(1), of: target)
        bench.pass(.seconds(60))
        bench.journal.ended(SwitchOutcome(switchID: "1", isCommitted: true, isResumed: false))
        bench.journal.update(&bench.stored, bench.clock) { _ in }
        #expect(bench.stored.statistics[target.ssid]?.learnedMinimumSecurity == floor(1))
    }

    /// The owner's word counts from then on, whatever was learnt before and not written.
    @Test func theOwnerLowersAFloor() {
        var bench = bench
        bench.journal.learned(floor(3), of: bench.home)
        let before = bench.journal
        let home = bench.home
        bench.journal.update(&bench.stored, bench.clock) { state in state.applyUserSetting(for: home) }
        bench.journal.minimumSecurityStored(of: before)
        #expect(bench.stored.learnedProtection(of: home) == [])
        bench.write()
        #expect(bench.stored.learnedProtection(of: home) == [])
        // Until it is learned again.
        bench.journal.learned(floor(3, .pmf), of: bench.home)
        bench.write()
        #expect(bench.stored.learnedProtection(of: home) == .pmf)
    }

    /// The clock of a board without a battery is wrong until the device is online.
    @Test func timesAreRightOnceTheClockIs() {
        var bench = bench
        bench.see(bench.home, -50)
        let later = bench.now + .seconds(90)
        bench.journal.update(
            &bench.stored, ClockReading(instant: later, time: Timestamp(millisecondsSince1970: Bench.start)))
        #expect(bench.stored.statistics[bench.home.ssid]?.lastSeen == UInt32(Bench.start / 1000) - 90)
        let unset = ClockReading(instant: later, time: Timestamp(millisecondsSince1970: 1000))
        #expect(unset.seconds(of: bench.now) == 0)
        #expect(unset.seconds(of: later) == 1)
    }
}

@Suite struct WhereaboutsTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    @Test func currentAndPreviousFollowTheDevice() {
        var bench = bench
        for network in [bench.home, bench.attic, bench.attic, bench.cafe] {
            bench.journal.online(in: network, frequency: nil)
            bench.journal.offline()
        }
        bench.write()
        #expect(bench.stored.current == bench.cafe)
        #expect(bench.stored.previous == bench.attic)
        // After a restart it goes on from there.
        bench.journal = PendingStatistics(bench.stored)
        bench.journal.online(in: bench.cafe, frequency: nil)
        bench.journal.online(in: bench.home, frequency: nil)
        bench.write()
        #expect(bench.stored.current == bench.home)
        #expect(bench.stored.previous == bench.cafe)
    }

    @Test func aRemovedNetworkIsNotThePreviousOne() {
        var bench = bench
        bench.journal.online(in: bench.attic, frequency: nil)
        bench.journal.online(in: bench.home, frequency: nil)
        bench.write()
        #expect(bench.stored.previous == bench.attic)
        bench.stored.backups = [bench.cafe]
        bench.journal.update(&bench.stored, bench.clock)
        #expect(bench.stored.previous == nil)
        #expect(bench.stored.current == bench.home)
    }

    @Test func aRemovedNetworkIsTheCurrentOneUntilTheDeviceLeavesIt() {
        var bench = bench
        bench.journal.online(in: bench.attic, frequency: nil)
        bench.write()
        bench.stored.backups = [bench.cafe]
        bench.journal.update(&bench.stored, bench.clock)
        bench.pass(.seconds(7200))
        #expect(bench.stored.current == bench.attic, "so it can still say where it is")
        #expect(bench.writes.count == 1)
        bench.journal.offline()
        bench.pass()
        #expect(bench.stored.current == nil, "at once")
        bench.journal.online(in: bench.home, frequency: nil)
        bench.write()
        #expect(bench.stored.previous == nil)
    }

    @Test func aRemovedNetworkGoesAlsoWhenTheDeviceMovesOn() {
        var bench = bench
        bench.journal.online(in: bench.attic, frequency: nil)
        bench.write()
        bench.stored.backups = []
        bench.journal.online(in: bench.home, frequency: nil)
        bench.pass()
        #expect(bench.writes.count == 2, "at once")
        #expect(bench.stored.current == bench.home)
        #expect(bench.stored.previous == nil)
    }

    /// The power went before the device left it.
    @Test func aRemovedNetworkDoesNotSurviveARestart() {
        var bench = bench
        bench.stored = StoredState(home: bench.home, current: bench.attic, previous: bench.cafe)
        bench.journal = PendingStatistics(bench.stored)
        bench.pass()
        #expect(bench.stored.current == nil)
        #expect(bench.stored.previous == nil)
        #expect(bench.writes.count == 1)
    }

    @Test func aDiskThatRefusesToForgetIsAskedAgainLater() {
        var bench = bench
        bench.stored = StoredState(home: bench.home, previous: bench.cafe)
        bench.diskFails = true
        bench.journal = PendingStatistics(bench.stored)
        bench.pass(.seconds(3570))
        #expect(bench.writes.count == 3)
        bench.diskFails = false
        bench.pass(.seconds(1200))
        #expect(bench.stored.previous == nil)
    }

    /// Under its new password it is another network; the old password goes with the old one.
    @Test func anOldPasswordIsNotKept() throws {
        var bench = bench
        bench.journal.online(in: bench.home, frequency: nil)
        bench.journal.online(in: bench.attic, frequency: nil)
        bench.journal.failed(bench.home, .wrongKey)
        bench.write()
        #expect(bench.stored.previous == bench.home)
        let rotated = try StoredNetwork(DecryptedNetwork(ssid: bench.home.ssid, password: Secret(text: "new-password")))
        bench.stored.adopt(rotated)
        bench.journal.update(&bench.stored, bench.clock)
        #expect(bench.stored.home == rotated)
        #expect(bench.stored.previous == nil)
        #expect(bench.stored.statistics[rotated.ssid]?.lastFailure == nil, "that was the old password's")
    }
}

/// What a network's server gives is worth a write where the device would ask for something else after a restart.
@Suite struct LeaseJournalTests {
    private func lease(_ change: (inout StoredLease) -> Void = { _ in }) throws -> StoredLease {
        var lease = StoredLease(
            address: try #require(IPAddress("192.168.1.20")), prefixLength: 24, gateway: IPAddress("192.168.1.1"),
            gatewayHardware: HardwareAddress(bytes: [2, 0, 0, 0, 0, 1]),
            server: try #require(IPAddress("192.168.1.1")),
            hardware: try #require(HardwareAddress(bytes: [2, 0, 0, 0, 0, 2])), expiry: 1000)
        change(&lease)
        return lease
    }

    @Test func aFirstLeaseIsWrittenAfterAWhileAndALongerOneIsNot() throws {
        var bench = try Bench()
        let given = try lease()
        bench.journal.leased(given, in: bench.home)
        bench.pass(.seconds(19 * 60))
        #expect(bench.writes.isEmpty)
        bench.pass(.seconds(2 * 60))
        #expect(bench.writes.count == 1)
        #expect(bench.stored.statistics[bench.home.ssid]?.lease == given)
        let longer = try lease {
            $0.expiry = 5000
            $0.nameServers = [IPAddress("9.9.9.9")].compactMap(\.self)
        }
        bench.journal.leased(longer, in: bench.home)
        bench.pass(.seconds(24 * 3600), in: .seconds(600))
        #expect(bench.writes.count == 1)
        #expect(bench.stored.statistics[bench.home.ssid]?.lease == given)
        bench.write()
        #expect(bench.stored.statistics[bench.home.ssid]?.lease == longer, "it goes along with another write")
    }

    @Test func whatChangesTheQuestionIsWritten() throws {
        let changes: [(inout StoredLease) -> Void] = [
            { $0.address = IPAddress("192.168.1.21") ?? $0.address }, { $0.gateway = IPAddress("192.168.1.2") },
            { $0.gatewayHardware = HardwareAddress(bytes: [2, 0, 0, 0, 0, 9]) }, { $0.gatewayHardware = nil },
            { $0.server = IPAddress("192.168.1.3") ?? $0.server },
        ]
        for change in changes {
            var bench = try Bench()
            bench.journal.leased(try lease(), in: bench.attic)
            bench.write()
            let other = try lease(change)
            bench.journal.leased(other, in: bench.attic)
            bench.pass(.seconds(21 * 60))
            #expect(bench.writes.count == 2)
            #expect(bench.stored.statistics[bench.attic.ssid]?.lease == other)
        }
    }

    @Test func nilForgetsIt() throws {
        var bench = try Bench()
        bench.journal.leased(try lease(), in: bench.home)
        bench.write()
        bench.journal.leased(nil, in: bench.home)
        bench.pass(.seconds(21 * 60))
        #expect(bench.writes.count == 2)
        #expect(bench.stored.statistics[bench.home.ssid]?.lease == nil)
    }

    /// What comes back within the time is not written twice, and at most three an hour are.
    @Test func aServerThatGivesAnotherEachMinuteWearsNothingOut() throws {
        var bench = try Bench()
        for minute in 0..<240 {
            let next = try lease { $0.address = IPAddress("192.168.1.\(2 + minute % 250)") ?? $0.address }
            bench.journal.leased(next, in: bench.home)
            bench.pass(.seconds(60))
        }
        #expect((1...12).contains(bench.writes.count))
    }

    @Test func aNetworkThatIsNotStoredLeavesNothing() throws {
        var bench = try Bench()
        let visited = try StoredNetwork(DecryptedNetwork(ssid: SSID("Visited")))
        bench.journal.leased(try lease(), in: visited)
        bench.pass(.seconds(3600))
        #expect(bench.writes.isEmpty)
    }

    @Test func whatACommitWouldDropIsWorthNoWrite() throws {
        var bench = try Bench()
        bench.journal.leased(try lease { $0.hardware = .zero }, in: bench.home)
        bench.pass(.seconds(3600))
        #expect(bench.writes.isEmpty)
    }
}
