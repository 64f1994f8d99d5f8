import AgentModel
import AppProtocol
import Failover
import Testing

@testable import AgentCore
@testable import KeyFile

/// Rules of Docs/contributor/security-floor.md and failover-rules.md that concern the agent, and not the policy alone.
@Suite struct SecurityFloorRowTests {
    private static let home = CoreBench.access["Home"]!
    private static let twin = BSSID("02:00:00:00:01:99")!

    /// A device in Home, of which these access points are proven.
    private func started(
        minimumSecurity: LinkProtection = [], learned: LearnedMinimumSecurity? = nil, proven: [BSSID] = [home]
    ) throws -> CoreBench {
        var home = try CoreBench.network("Home")
        home.minimumSecurity = minimumSecurity
        var state = StoredState(home: home, backups: [try CoreBench.network("Backup")])
        state.statistics[home.ssid] = NetworkStatistics(verifiedAccessPoints: proven, learnedMinimumSecurity: learned)
        var bench = try CoreBench(validates: false, disk: state)
        try bench.start(with: minimumSecurity.union(learned?.protection ?? []))
        return bench
    }

    /// A link to Home was made, and has this.
    private func link(
        _ bench: inout CoreBench, _ protection: LinkProtection, to bssid: BSSID = home, closed: TransitionDisable? = nil
    ) throws {
        if let closed { bench.handle(.supplicant("wlan0", .transitionDisabled(closed))) }
        let facts = try facts(protection, bssid)
        bench.handle(.linkAnswer("wlan0", .protection(bench.home, bssid), .linked(facts)))
    }

    private func facts(_ protection: LinkProtection, _ bssid: BSSID = home) throws -> LinkFacts {
        LinkFacts(ssid: try SSID("Home"), bssid: bssid, security: .wpa3, protection: protection)
    }

    private func observation(_ bssid: BSSID, _ offer: LinkProtection, _ bench: CoreBench) -> BSS {
        BSS(
            bssid: bssid, ssid: bench.home.ssid, frequency: Frequency(megahertz: 2412), signal: -50,
            lastSeen: bench.now, security: offer.contains(.sae) ? .wpa3 : .wpa2, protection: offer)
    }

    /// Access points of Home are in sight, by their address.
    private func see(_ offers: [BSSID: LinkProtection], _ bench: inout CoreBench) {
        bench.handle(.scanRead(offers.map { observation($0, $1, bench) }, after: nil))
    }

    /// The device is on for so many days, and sees these access points when it looks.
    /// - Returns: how often it has looked.
    @discardableResult
    private func pass(
        days: Int64, seeing offers: [BSSID: LinkProtection] = [:], ending end: ScanEnd? = nil, _ bench: inout CoreBench
    ) -> Int {
        var looks = 0
        for _ in 0..<days * 24 {
            bench.now = bench.now + .seconds(3600)
            bench.handle(.timer(.setupAccessPoint))
            for _ in 0..<9 where !bench.scans.isEmpty {
                let owner = bench.scans.removeFirst()
                if case .minimumSecurity = owner { looks += 1 }
                bench.handle(.scanEnded(owner, end ?? .finished(offers.map { observation($0, $1, bench) })))
            }
        }
        return looks
    }

    private func lose(_ bench: inout CoreBench) {
        bench.handle(.supplicant("wlan0", .disconnected(reason: 8, locallyGenerated: false)))
    }

    private func minimumSecurity(_ bench: CoreBench) -> LinkProtection? {
        bench.core.policy.networks.first { $0.ssid.description == "Home" }?.minimumSecurity
    }

    private func policyKnows(_ bench: CoreBench) -> [String] {
        bench.core.history(200).filter { $0.kind.rawValue == "floor" }.map(\.reason.rawValue)
    }

    private static func learned(_ protection: LinkProtection) -> LearnedMinimumSecurity {
        var minimumSecurity = LearnedMinimumSecurity()
        for _ in 0..<LearnedMinimumSecurity.days { minimumSecurity.countLink(with: protection) }
        return minimumSecurity
    }

    // covers: rule/floor-learned, rule/floor-reported
    @Test(arguments: [LinkProtection.sae, .pmf, [.sae, .pmf]])
    func whatLinksHaveOnThreeDaysIsTheFloor(protection: LinkProtection) throws {
        var bench = try started()
        // However often it is joined.
        for _ in 0..<9 { try link(&bench, protection) }
        #expect(pass(days: 2, seeing: [Self.home: protection], &bench) == 2)
        #expect(minimumSecurity(bench) == [] && policyKnows(bench) == [])
        #expect(pass(days: 1, seeing: [Self.home: protection], &bench) == 1)
        #expect(minimumSecurity(bench) == protection, "at once, before it is stored")
        #expect(policyKnows(bench) == ["raised"])
        #expect(bench.notices.contains { $0.contains("without \(protection)") })
        #expect(pass(days: 9, &bench) == 0, "there is nothing more to learn")
        bench.handle(.stop)
        for id in bench.changes.keys { try bench.store(id) }
        #expect(bench.disk.statistics[bench.home.ssid]?.learnedMinimumSecurity == Self.learned(protection))
        #expect(bench.disk.home?.minimumSecurity == [], "the owner has said nothing")
        var next = try CoreBench(disk: bench.disk)
        try next.start(with: protection)
        #expect(minimumSecurity(next) == protection && policyKnows(next) == [])
        #expect(next.network == "Home")
    }

    /// A device that is switched off each night counts on.
    @Test func theDaysOutliveARestart() throws {
        var disk = try started().disk
        for day in 1...3 {
            var bench = try CoreBench(validates: false, disk: disk)
            try bench.start(with: .sae)
            for _ in 0..<2 { pass(days: 1, &bench) }
            #expect(minimumSecurity(bench) == (day < 2 ? [] : .sae))
            bench.handle(.stop)
            for id in bench.changes.keys { try bench.store(id) }
            disk = bench.disk
        }
    }

    /// A scan that fails is not repeated with each event.
    // covers: rule/floor-learned
    @Test func withoutALookAroundNoDayCounts() throws {
        var bench = try started()
        try link(&bench, .sae)
        let failure = ScanEnd.failed(ProtocolError(.radioFailed, "no"))
        #expect((1...24).contains(pass(days: 1, ending: failure, &bench)))
        #expect(minimumSecurity(bench) == [])
    }

    /// Who knows the password can have a network's name with SAE, beside a router that can do WPA2 only.
    // covers: rule/floor-learned
    @Test func aTwinWithThePasswordTeachesNothingBesideTheRouter() throws {
        for closed in [nil, TransitionDisable.personal] {
            var bench = try started(proven: [Self.home, Self.twin])
            bench.handle(.supplicant("wlan0", .connected(attempt: bench.core.policy.linkEpoch, bssid: Self.twin)))
            try link(&bench, [.sae, .pmf], to: Self.twin, closed: closed)
            #expect(pass(days: 20, seeing: [Self.twin: [.sae, .pmf], Self.home: []], &bench) > 3)
            #expect(minimumSecurity(bench) == [] && policyKnows(bench) == [])
        }
        // Nor where the device is in both by turns.
        var bench = try started(proven: [Self.home, Self.twin])
        for _ in 0..<20 {
            try link(&bench, [.sae, .pmf])
            pass(days: 1, &bench)
            try link(&bench, [], to: Self.twin)
        }
        #expect(minimumSecurity(bench) == [])
    }

    /// What an access point offers that has never completed a handshake is anybody's.
    // covers: rule/floor-learned
    @Test func anAccessPointThatIsNotProvenSaysNothing() throws {
        var bench = try started()
        try link(&bench, .sae)
        pass(days: 3, seeing: [Self.twin: [], Self.home: .sae], &bench)
        #expect(minimumSecurity(bench) == .sae)
        bench = try started(proven: [])
        try link(&bench, .sae)
        #expect(pass(days: 9, &bench) == 0)
        #expect(minimumSecurity(bench) == [])
    }

    /// Anybody can complete OWE under the name of an open network.
    // covers: rule/floor-learned
    @Test func nothingIsLearnedFromOWE() throws {
        let cafe = StoredNetwork(ssid: try SSID("Home"), credential: .none, security: .open)
        var bench = try CoreBench(disk: StoredState(home: cafe))
        try bench.start()
        let facts = LinkFacts(ssid: cafe.ssid, bssid: Self.home, security: .owe, protection: [.owe, .pmf])
        bench.handle(.linkAnswer("wlan0", .protection(cafe, Self.home), .linked(facts)))
        #expect(pass(days: 9, &bench) == 0)
        #expect(minimumSecurity(bench) == [] && policyKnows(bench) == [])
    }

    /// A router that was reset to WPA2.
    // covers: rule/floor-forgotten, rule/floor-reported
    @Test func threeDaysBelowItEndTheFloor() throws {
        var bench = try started(learned: Self.learned([.sae, .pmf]))
        lose(&bench)
        for _ in 0..<3 {
            #expect(minimumSecurity(bench) == [.sae, .pmf])
            for _ in 0..<5 { see([Self.home: .pmf], &bench) }
            #expect(bench.joins.isEmpty)
            bench.now = bench.now + .seconds(86_400)
        }
        see([Self.home: .pmf], &bench)
        #expect(minimumSecurity(bench) == [] && policyKnows(bench) == ["lapsed"])
        #expect(bench.warnings.contains { $0.contains("are joined again") })
        see([Self.home: .pmf], &bench)
        #expect(bench.joins["wlan0"]?.request.ssid == bench.home.ssid)
    }

    /// Whether it is there by beacons that anybody can send, or is the real one.
    // covers: rule/floor-forgotten
    @Test func onlyProvenAccessPointsEndTheFloorOrKeepIt() throws {
        // A twin with less, for ever.
        var bench = try started(learned: Self.learned(.sae))
        lose(&bench)
        for _ in 0..<30 {
            see([Self.twin: []], &bench)
            bench.now = bench.now + .seconds(43_200)
        }
        #expect(minimumSecurity(bench) == .sae)
        // The real one is in sight now and then.
        for _ in 0..<30 {
            see([Self.home: []], &bench)
            see([Self.home: .sae], &bench)
            bench.now = bench.now + .seconds(43_200)
        }
        #expect(minimumSecurity(bench) == .sae && policyKnows(bench) == [])
        // A stranger's SAE keeps no router out.
        bench = try started(learned: Self.learned(.sae))
        lose(&bench)
        for _ in 0..<4 {
            see([Self.home: [], Self.twin: .sae], &bench)
            bench.now = bench.now + .seconds(86_400)
        }
        #expect(minimumSecurity(bench) == [] && policyKnows(bench) == ["lapsed"])
    }

    @Test func refusedNetworkIsInTheStatus() throws {
        var bench = try started(minimumSecurity: [.sae, .pmf])
        func refused() -> [RefusedNetwork] { bench.core.status(at: bench.core.now).refused }
        #expect(refused() == [])
        lose(&bench)
        see([Self.home: []], &bench)
        #expect(refused().map(\.ssid) == [bench.home.ssid])
        #expect(refused().map(\.reason) == [.lessSecure] && refused().map(\.security) == [.wpa2])
        bench.now = bench.now + .seconds(1)
        see([Self.home: [.sae, .pmf]], &bench)
        #expect(refused() == [])
    }

    // covers: rule/floor-no-tkip
    @Test func permissionForTKIPReachesTheJoin() throws {
        for isAllowed in [false, true] {
            var bench = try started()
            bench.disk.home?.options.allowsTKIP = isAllowed
            bench = try CoreBench(validates: false, disk: bench.disk)
            try bench.start(with: [])
            lose(&bench)
            bench.now = bench.now + .seconds(1)
            let old = BSS(
                bssid: Self.home, ssid: bench.home.ssid, frequency: Frequency(megahertz: 2412), signal: -50,
                lastSeen: bench.now, security: .legacy)
            bench.handle(.scanRead([old], after: nil))
            let joined = bench.joins["wlan0"].map { $0.request.ssid == bench.home.ssid && $0.request.offer == .legacy }
            #expect((joined ?? false) == isAllowed)
            if isAllowed { #expect(bench.joins["wlan0"]?.request.allowsTKIP == true) }
            #expect(bench.core.status(at: bench.core.now).refused.isEmpty == isAllowed)
        }
    }

    // covers: rule/floor-owner
    @Test func theOwnersWordDoesNotLapse() throws {
        var bench = try started(minimumSecurity: [.sae, .pmf])
        lose(&bench)
        for _ in 0..<9 {
            see([Self.home: []], &bench)
            bench.now = bench.now + .seconds(86_400)
        }
        #expect(minimumSecurity(bench) == [.sae, .pmf] && policyKnows(bench) == [])
    }

    @Test func anAccessPointThatClosesWPA2HasBoth() throws {
        for (protection, closed, learned) in [
            (.sae, .personal, [.sae, .pmf]), (.pmf, .personal, .pmf), (.sae, .open, .sae),
        ] as [(LinkProtection, TransitionDisable, LinkProtection)] {
            var bench = try started()
            try link(&bench, protection, closed: closed)
            pass(days: 3, &bench)
            #expect(minimumSecurity(bench) == learned, "of WPA2 it is not believed")
        }
    }

    /// What one network has said says nothing of the next.
    @Test func whatIsClosedIsClosedInOneNetwork() throws {
        var bench = try CoreBench(validates: false)
        try bench.start()
        bench.handle(.supplicant("wlan0", .transitionDisabled(.personal)))
        bench.handle(.request(7, try bench.command("Backup")))
        try bench.store(1)
        bench.handle(.answerSent(switchID: "s-1"))
        bench.endScan(.finished([bench.bss("Backup")]))
        #expect(bench.core.stations["wlan0"]?.closedWays == [])
    }

    // covers: rule/floor-reported
    @Test func theOwnersWordBeginsAnew() throws {
        var next = try started(learned: Self.learned([.sae, .pmf]))
        // By its hash it is as it was.
        let hash = next.home.hash(localKey: CoreBench.key)
        next.handle(.request(1, .updateBackups(PreparedUpdate(entries: [.stored(hash)], ifRevision: nil))))
        try next.store(1)
        #expect(minimumSecurity(next) == [.sae, .pmf])
        let word = try CoreBench.network("Home")
        next.handle(.request(2, .updateBackups(PreparedUpdate(entries: [.new(word)], ifRevision: nil))))
        try next.store(2)
        #expect(minimumSecurity(next) == [] && next.disk.statistics[word.ssid]?.learnedMinimumSecurity == nil)
    }

    /// A link that the agent finds when it starts counts too, and is left where it has less than the floor.
    @Test func aLinkThatIsFoundWithLessIsLeft() throws {
        var home = try CoreBench.network("Home")
        home.minimumSecurity = .sae
        var bench = try CoreBench(disk: StoredState(home: home, backups: []))
        bench.handle(.begin(inUse: "wlan0"))
        bench.handle(.atWork)
        bench.handle(.supplicant("wlan0", .available))
        let effects = bench.handle(.linkAnswer("wlan0", .whatIsThere(1), .linked(try facts(.pmf))))
        #expect(effects.contains("leave wlan0") && bench.network == "none")
        #expect(bench.warnings.contains { $0.contains("leaving Home") })
    }

    @Test func aLinkThatIsFoundCounts() throws {
        var bench = try CoreBench(disk: try started().disk)
        bench.handle(.begin(inUse: "wlan0"))
        bench.handle(.atWork)
        bench.lease("wlan0", 1)
        bench.handle(.supplicant("wlan0", .available))
        bench.handle(.linkAnswer("wlan0", .whatIsThere(1), .linked(try facts(.sae))))
        bench.handle(.found(.probed(epoch: bench.core.policy.linkEpoch, .online)))
        pass(days: 3, &bench)
        #expect(bench.network == "Home" && minimumSecurity(bench) == .sae)
    }

    /// wpa_supplicant is told the same.
    @Test func theJoinHasTheFloor() throws {
        var bench = try started(learned: Self.learned([.sae, .pmf]))
        lose(&bench)
        bench.now = bench.now + .milliseconds(100)
        let clock = ClockReading(instant: bench.now, time: Timestamp(millisecondsSince1970: 0))
        let home = BSS(
            bssid: bench.bss("Home").bssid, ssid: bench.home.ssid, frequency: bench.bss("Home").frequency, signal: -50,
            lastSeen: bench.now, security: .wpa3, protection: [.sae, .pmf])
        let owner = try #require(bench.scans.first)
        let effects = bench.core.handle(
            .scanEnded(owner, .finished([home])), kernel: bench.surroundings, at: clock)
        let minimums = effects.compactMap { effect in
            if case .join(_, let request, _, _, _) = effect { request.minimumSecurity } else { nil }
        }
        #expect(minimums == [[.sae, .pmf]])
    }

    @Test func aTwinThatOffersLessIsToldOfOnce() throws {
        var bench = try started(learned: Self.learned([.sae, .pmf]))
        lose(&bench)
        let twin = bench.bss("Home")
        #expect(bench.endScan(.finished([twin])).allSatisfy { !$0.hasPrefix("join") })
        #expect(bench.warnings.filter { $0.contains("not joined") }.count == 1)
        bench.now = bench.now + .seconds(5)
        bench.handle(.timer(.policy))
        bench.endScan(.finished([bench.bss("Home")]))
        #expect(bench.warnings.filter { $0.contains("not joined") }.count == 1)
    }
}

/// Parts that die, other uplinks, sleep, and what is remembered.
@Suite struct FailoverRowTests {
    private func started() throws -> CoreBench {
        var bench = try CoreBench()
        try bench.start()
        return bench
    }

    /// The driver keeps the link, and so does the device.
    // covers: rule/part-wpa-supplicant
    @Test func withoutWpaSupplicantTheLinkIsKept() throws {
        var bench = try started()
        #expect(bench.handle(.supplicant("wlan0", .unavailable)) == ["wait trouble", "ask kernel wlan0"])
        #expect(bench.network == "Home")
        #expect(bench.handle(.supplicant("wlan0", .available)) == ["ask wlan0"])
        let facts = LinkFacts(ssid: bench.home.ssid, bssid: bench.bss("Home").bssid, frequency: nil)
        bench.handle(.linkAnswer("wlan0", .whatIsThere(bench.core.stations["wlan0"]!.questions), .linked(facts)))
        #expect(bench.network == "Home" && bench.joins.isEmpty)
    }

    @Test func aLinkThatWentWithWpaSupplicantIsTheDevicesOwnDoing() throws {
        var bench = try started()
        bench.handle(.supplicant("wlan0", .unavailable))
        guard case .online(let link) = bench.core.policy.phase else { return #expect(Bool(false)) }
        bench.handle(.linkGone(link))
        #expect(bench.network == "none")
        #expect(bench.joins.isEmpty, "there is nothing to join with")
    }

    // covers: rule/part-interface
    @Test func anInterfaceThatIsDownIsBroughtUp() throws {
        var bench = try started()
        bench.surroundings.stations["wlan0"]?.isLinkUp = false
        bench.handle(.linkChanged("wlan0", isUp: false))
        var effects: [String] = []
        for _ in 0..<2 {
            bench.now = bench.now + .seconds(30)
            effects += bench.handle(.timer(.policy))
        }
        #expect(effects.filter { $0 == "bring up wlan0" }.count == 2)
        // One that is not there cannot be.
        bench.surroundings.stations["wlan0"]?.hasLink = false
        bench.now = bench.now + .seconds(30)
        #expect(bench.handle(.timer(.policy)) == ["explain interface"])
    }

    @Test func whileAnotherUplinkCarriesTheTrafficACommandIsRefused() throws {
        var bench = try started()
        bench.surroundings.otherUplink = .wired
        bench.handle(.route(.resynchronise))
        #expect(bench.handle(.request(7, try bench.command("Backup"))) == ["answer 7 cannotSwitch"])
        bench.surroundings.otherUplink = nil
        bench.handle(.route(.resynchronise))
        #expect(bench.handle(.request(8, try bench.command("Backup"))) == ["commit 1 pending switch"])
    }

    // covers: seed/switch-beside-cable
    @Test func wiFiMovesBesideAnotherUplinkWhereThatIsAskedFor() throws {
        var bench = try started()
        bench.surroundings.otherUplink = .wired
        bench.handle(.route(.resynchronise))
        let asked = try bench.command("Backup", besideUplink: true)
        #expect(bench.handle(.request(7, asked)) == ["commit 1 pending switch"])
        #expect(try bench.core.switchStatus("s-1").trafficOver == .wired)
        bench.surroundings.otherUplink = nil
        bench.handle(.route(.resynchronise))
        #expect(try bench.core.switchStatus("s-1").trafficOver == .wired, "as it was when that was told")
    }

    @Test func theHashOfAVisitedNetworkNamesItInTheList() throws {
        let bench = try started()
        let visited = try CoreBench.network("Cafe")
        let hash = visited.hash(localKey: CoreBench.key)
        let update = PreparedUpdate(entries: [.stored(hash)], ifRevision: nil, home: .replaced(by: .stored(hash)))
        var state = bench.disk
        #expect(throws: ProtocolError.self) { try state.apply(update, localKey: CoreBench.key) }
        let named = update.naming(visited, localKey: CoreBench.key, in: state)
        try state.apply(named, localKey: CoreBench.key)
        #expect(state.backups == [visited] && state.home == visited && state.chosen == nil)
        #expect(named.entries == [.new(visited)] && named.home == .replaced(by: .new(visited)))
        // One that is stored keeps its hash, and with it what is known of it.
        let home = try CoreBench.network("Home")
        let known = PreparedUpdate(entries: [.stored(home.hash(localKey: CoreBench.key))], ifRevision: nil)
        #expect(known.naming(home, localKey: CoreBench.key, in: bench.disk) == known)
    }

    @Test func afterSleepTheLinkIsProbedAnew() throws {
        var bench = try started()
        bench.now = bench.now + .seconds(3600)
        #expect(bench.handle(.resumed).contains("probe"))
    }

    // covers: rule/part-netlink
    @Test func lostMessagesOfTheKernelAreReadAnew() throws {
        var bench = try started()
        #expect(bench.handle(.radio("wlan0", .resynchronise)) == ["read scan", "ask kernel wlan0"])
    }

    /// A first sight, another network in use: worth a write, 20 minutes later.
    @Test func whatWasLearntIsWrittenLater() throws {
        var bench = try started()
        bench.handle(.radio("wlan0", .scanFinished(aborted: false)))
        bench.handle(.scanRead([bench.bss("Home"), bench.bss("Backup")], after: nil))
        let due = try #require(bench.timers[.statistics])
        #expect(due - bench.now <= .seconds(1200) && due - bench.now > .seconds(1100))
        bench.now = due
        #expect(bench.handle(.timer(.statistics)) == ["commit 1 learnt"])
        try bench.store(1)
        #expect(bench.disk.statistics[try SSID("Backup")]?.lastFrequency == bench.bss("Backup").frequency)
        // A device that stays where it is writes nothing.
        bench.handle(.scanRead([bench.bss("Home"), bench.bss("Backup")], after: nil))
        #expect(bench.timers[.statistics] == nil)
    }

    /// An access point that has completed a handshake with the password is remembered over a restart.
    @Test func provenAccessPointsOutliveARestart() throws {
        var bench = try started()
        bench.handle(.request(7, try bench.command("Backup")))
        try bench.store(1)
        bench.handle(.answerSent(switchID: "s-1"))
        bench.endScan(.finished([bench.bss("Backup")]))
        bench.connect("wlan0")
        bench.handle(.stop)
        try bench.store(2)
        var next = try CoreBench(disk: bench.disk)
        next.handle(.begin(inUse: "wlan0"))
        let backup = try #require(next.core.policy.networks.first { $0.ssid.description == "Backup" })
        #expect(next.core.policy.verifiedAccessPoints(of: backup.id) == [bench.bss("Backup").bssid])
    }

    /// Why a join failed is remembered for the user, and no reason for the policy.
    // covers: rule/unblock-restart
    @Test func aRestartEndsWhatIsHeldAgainstANetwork() throws {
        var bench = try started()
        bench.handle(.request(7, try bench.command("Backup")))
        try bench.store(1)
        bench.handle(.answerSent(switchID: "s-1"))
        bench.endScan(.finished([bench.bss("Home"), bench.bss("Backup")]))
        for _ in 1...2 {
            let join = try #require(bench.joins["wlan0"])
            #expect(join.request.ssid == bench.backup.ssid)
            bench.handle(.supplicant("wlan0", .joinFailed(attempt: join.attempt, .wrongKey, detail: "no")))
        }
        let backup = try #require(bench.core.policy.networks.last)
        #expect(bench.core.policy.lastFailure(of: backup.id) == .wrongKey)
        bench.connect("wlan0")
        for id in bench.changes.keys.sorted(by: { $0.rawValue < $1.rawValue }) { try bench.store(id) }
        bench.handle(.stop)
        for id in bench.changes.keys { try bench.store(id) }
        var next = try CoreBench(disk: bench.disk)
        try next.start()
        let again = try #require(next.core.policy.networks.last)
        #expect(again.ssid == backup.ssid && next.core.policy.lastFailure(of: again.id) == nil)
    }

    /// After the end nothing is wanted any more, and the link stays as it is.
    // covers: rule/time-end
    @Test func afterTheEndNothingIsWanted() throws {
        var bench = try started()
        bench.handle(.stop)
        bench.now = bench.now + .seconds(600)
        #expect(bench.handle(.timer(.policy)) == [])
        #expect(bench.handle(.timer(.signal)) == [])
        #expect(bench.handle(.supplicant("wlan0", .disconnected(reason: 8, locallyGenerated: false))) == [])
    }
}
