import AgentModel
import AppProtocol
import Failover
import KeyFile
import Testing

@testable import AgentCore

/// The setup access point on its radio, event by event.
@Suite struct SetupAccessPointStateTests {
    private static let sixth = Frequency(megahertz: 2437)
    private static let first = Frequency(megahertz: 2412)

    private static func radio(
        _ place: SetupAccessPointRadio.Mode = .beside, channels: Int = 1, usable: [Frequency] = [first, sixth]
    ) -> SetupAccessPointRadio {
        SetupAccessPointRadio(mode: place, channels: channels, usable: usable)
    }

    /// A device that has no network yet.
    private func fresh() throws -> CoreBench {
        var bench = try CoreBench(setupAccessPoint: SetupAccessPoint.Settings(), disk: StoredState())
        bench.handle(.begin(inUse: "wlan0"))
        bench.handle(.nameLimit("wlan0", 4))
        #expect(bench.handle(.atWork).contains("ask setup AP radio 1"))
        return bench
    }

    /// The access point of a fresh device is open.
    private func open(_ radio: SetupAccessPointRadio = radio()) throws -> CoreBench {
        var bench = try fresh()
        let effects = bench.handle(.setupAccessPoint(1, .radio(radio)))
        #expect(effects == ["open setup AP 1 on 2437 \(radio.mode.rawValue)"])
        bench.handle(.setupAccessPoint(1, .opened))
        bench.handle(.supplicant("wlan0", .available))
        bench.handle(.linkAnswer("wlan0", .whatIsThere(bench.question), .notLinked))
        return bench
    }

    private var status: (CoreBench) -> SetupAccessPointStatus? {
        { $0.core.status(at: ClockReading(instant: $0.now, time: .init(millisecondsSince1970: 0))).rescue }
    }

    /// An app sends the device to a network that it does not have yet.
    private func command(_ name: String, _ bench: inout CoreBench) throws {
        bench.handle(
            .request(
                7,
                .switchNetwork(.new(try CoreBench.network(name)), confirmWithin: nil, joinOnce: false, switchID: "s-1"))
        )
        let commit = try #require(bench.changes.keys.first)
        try bench.store(commit)
        bench.handle(.answerSent(switchID: "s-1"))
    }

    /// The page's answer goes over the access point, so that is there until the answer has arrived.
    @Test func itClosesInTheStationsPlaceOnlyAfterTheAnswer() throws {
        var bench = try open(Self.radio(.instead))
        let network = try CoreBench.network("Home")
        let accepted = bench.handle(
            .request(7, .switchNetwork(.new(network), confirmWithin: nil, joinOnce: false, switchID: "s-1")))
        #expect(!accepted.contains("close setup AP 1"))
        #expect(try !bench.store(try #require(bench.changes.keys.first)).contains("close setup AP 1"))
        #expect(bench.handle(.answerSent(switchID: "s-1")).contains("close setup AP 1"))
    }

    @Test func aFreshDeviceOpensAndTellsIt() throws {
        let bench = try open()
        let status = try #require(self.status(bench))
        #expect(status.isOpen && status.why == "neverProvisioned" && status.radio == "beside")
        #expect(status.ssid.description == "altnet-0001" && status.stations == 0 && status.closesIn == nil)
        #expect(bench.core.history(10).contains { $0.kind.rawValue == "rescue" })
    }

    @Test func switchedOffItIsNeverOpened() throws {
        var bench = try CoreBench(disk: StoredState())
        bench.handle(.begin(inUse: "wlan0"))
        #expect(!bench.handle(.atWork).contains { $0.contains("setup AP") })
        #expect(bench.handle(.request(1, .openSetupAccessPoint(.button))).contains("answer 1 unsupported"))
        #expect(self.status(bench) == nil)
    }

    /// The radio is on one channel: it closes, the join begins when it is gone, and with the failure it is back.
    @Test func aJoinOnAnotherChannelWaitsUntilItIsClosed() throws {
        var bench = try open()
        try command("Home", &bench)
        var effects = bench.endScan(.finished([bench.bss("Home")]))
        #expect(effects.contains("close setup AP 1") && !effects.contains { $0.hasPrefix("join") })
        effects = bench.handle(.setupAccessPoint(1, .closed))
        #expect(effects.contains("join wlan0 Home"))
        // A wrong password, twice.
        for _ in 0..<2 {
            let attempt = try #require(bench.joins["wlan0"]?.attempt)
            effects = bench.handle(.supplicant("wlan0", .joinFailed(attempt: attempt, .wrongKey, detail: "")))
        }
        #expect(effects.contains("ask setup AP radio 2"))
        #expect(bench.handle(.setupAccessPoint(2, .radio(Self.radio()))).contains { $0.hasPrefix("open setup AP 2") })
    }

    /// A person waits: the network is looked for where the page has listed it, and everywhere only where it is not there.
    @Test func aNetworkThatWasSeenIsLookedForThere() throws {
        var bench = try open()
        bench.handle(.browserAsked)
        bench.handle(.setupAccessPoint(1, .seen([bench.bss("Home"), bench.bss("Backup")])))
        try command("Home", &bench)
        guard case .policy(let order)? = bench.scans.last else {
            Issue.record("\(bench.scans)")
            return
        }
        #expect(order.frequencies == [Self.first])
        bench.endScan(.finished([]))
        guard case .policy(let next)? = bench.scans.last else {
            Issue.record("\(bench.scans)")
            return
        }
        #expect(next.frequencies.isEmpty)
    }

    /// Hostile beacons take no more room than a list.
    @Test func ofNamesThatAreSeenSomeAreRemembered() throws {
        var places = SeenChannels()
        func bss(_ name: String, _ number: UInt8, _ frequency: Int, _ signal: Int) throws -> BSS {
            BSS(
                bssid: try #require(BSSID(bytes: [2, 0, 0, 0, 9, number])), ssid: try SSID(name),
                frequency: Frequency(megahertz: frequency), signal: signal, lastSeen: Instant(milliseconds: 0),
                security: .wpa2)
        }
        let home = try SSID("Home")
        places.record([
            try bss("Home", 1, 2412, -60), try bss("Home", 2, 5180, -50), try bss("Home", 3, 5200, -70),
            try bss("Home", 4, 5180, -40),
        ])
        #expect(places[home].map(\.megahertz) == [5180, 2412])
        places.record([])
        places.record(try (0..<200).map { try bss("\($0)", UInt8($0), 2437, -90 + $0 / 4) })
        #expect(places.frequencies.count == SeenChannels.maximumNames && places[home].isEmpty)
        #expect(try places[SSID("199")].count == 1 && places[SSID("0")].isEmpty)
        places.record([try bss("Home", 1, 2412, -60)])
        #expect(places.frequencies.count == SeenChannels.maximumNames && places[home].count == 1)
    }

    @Test func aJoinOnItsChannelNeedsNoRoom() throws {
        var bench = try open()
        try command("Backup", &bench)
        let effects = bench.endScan(.finished([bench.bss("Backup")]))
        #expect(effects.contains("join wlan0 Backup") && !effects.contains("close setup AP 1"))
        // Online, with no user at the page, it has done its work.
        bench.connect("wlan0")
        bench.lease("wlan0", 2)
        #expect(bench.handle(.found(.probed(epoch: bench.probed, .online))).contains("commit 2 outcome"))
        #expect(try bench.store(2).contains("close setup AP 1"))
        bench.handle(.setupAccessPoint(1, .closed))
        #expect(self.status(bench)?.isOpen == false && self.status(bench)?.why == nil)
    }

    /// On several channels, or on a radio of its own, it is of no concern to a join.
    @Test(arguments: [radio(channels: 2), radio(.second)]) func aRadioThatHoldsBothKeepsBoth(
        _ radio: SetupAccessPointRadio
    )
        throws
    {
        var bench = try open(radio)
        bench.handle(.browserAsked)
        try command("Home", &bench)
        let effects = bench.endScan(.finished([bench.bss("Home")]))
        #expect(effects.contains("join wlan0 Home") && !effects.contains("close setup AP 1"))
        #expect(!bench.core.setupAccessPoint.isHolding)
    }

    /// Who has submitted the page is shown the result: it is opened anew on the channel of the network.
    @Test func aUserIsShownTheResultOnTheNewChannel() throws {
        var bench = try open()
        bench.handle(.browserAsked)
        try command("Home", &bench)
        bench.endScan(.finished([bench.bss("Home")]))
        bench.handle(.setupAccessPoint(1, .closed))
        bench.connect("wlan0")
        bench.lease("wlan0", 1)
        bench.handle(.found(.probed(epoch: bench.probed, .online)))
        try bench.store(2)
        #expect(bench.setupAccessPointOrder == 2)
        #expect(bench.handle(.setupAccessPoint(2, .radio(Self.radio()))).contains("open setup AP 2 on 2412 beside"))
        bench.handle(.setupAccessPoint(2, .opened))
        let wake = try #require(bench.timers[.setupAccessPoint])
        #expect(wake - bench.now <= .seconds(120))
        bench.now = wake
        #expect(bench.handle(.timer(.setupAccessPoint)).contains("close setup AP 2"))
    }

    // MARK: A device that has networks

    /// Home and Backup have not been in range for so long that it is open.
    /// - Parameters:
    ///   - why: the reason that it is open for.
    ///   - seen: the access points in range. A join of one of them ends in silence.
    private func lost(
        _ radio: SetupAccessPointRadio = radio(), disk: StoredState? = nil, why: String = "nothingSeen",
        seeing seen: (CoreBench) -> [BSS] = { _ in [] }
    ) throws -> CoreBench {
        var bench = try CoreBench(setupAccessPoint: SetupAccessPoint.Settings(), disk: disk)
        bench.handle(.begin(inUse: "wlan0"))
        bench.handle(.nameLimit("wlan0", 4))
        bench.handle(.atWork)
        bench.handle(.supplicant("wlan0", .available))
        bench.handle(.linkAnswer("wlan0", .whatIsThere(bench.question), .notLinked))
        let start = bench.now
        for _ in 0..<1000 where bench.setupAccessPointOrder == 0 {
            if let join = bench.joins.removeValue(forKey: "wlan0") {
                bench.now = bench.now + .seconds(6)
                bench.handle(.supplicant("wlan0", .joinFailed(attempt: join.attempt, .timeout, detail: "")))
            } else if bench.scans.isEmpty {
                let next = bench.timers.filter { $0.key == .policy || $0.key == .setupAccessPoint }.min {
                    $0.value < $1.value
                }
                guard let (timer, moment) = next else { break }
                bench.now = max(bench.now, moment)
                bench.handle(.timer(timer))
            } else {
                bench.endScan(.finished(seen(bench)))
            }
        }
        #expect(bench.setupAccessPointOrder == 1 && bench.now - start < .seconds(why == "nothingSeen" ? 400 : 700))
        bench.handle(.setupAccessPoint(1, .radio(radio)))
        bench.handle(.setupAccessPoint(1, .opened))
        #expect(self.status(bench)?.why == why)
        return bench
    }

    /// A beacon that bears a stored name and is nothing to join keeps it closed for no longer than an empty sky.
    // covers: rule/floor-refuses-less
    @Test(arguments: [Security.open, .owe, .wep, .legacy, .enterprise]) func aNameAloneIsNotSeen(_ offer: Security)
        throws
    {
        _ = try lost { bench in
            let home = bench.bss("Home", signal: -30)
            return [
                BSS(
                    bssid: home.bssid, ssid: home.ssid, frequency: home.frequency, signal: home.signal,
                    lastSeen: home.lastSeen, security: offer)
            ]
        }
    }

    /// So does a router that was reset to WPA2.
    @Test func aRouterBelowTheFloorIsNotSeen() throws {
        var home = try CoreBench.network("Home")
        home.minimumSecurity = [.sae, .pmf]
        _ = try lost(disk: StoredState(home: home)) { [$0.bss("Home")] }
    }

    /// Beacons of the right kind without an access point behind them, and a refusal beside a network that never works.
    @Test func whatNeverLetsTheDeviceInCountsAsRefused() throws {
        _ = try lost(why: "nothingWorks") { [$0.bss("Home")] }
    }

    @Test func manualNetworksAloneHaveTheirOwnReason() throws {
        var backup = try CoreBench.network("Backup")
        backup.options.isManual = true
        _ = try lost(disk: StoredState(backups: [backup]), why: "onlyManual")
    }

    @Test func homeComesBackAndNoUserIsThere() throws {
        var bench = try lost()
        // A phone that was forgotten counts for nothing.
        bench.handle(.setupAccessPoint(1, .stations(1)))
        #expect(self.status(bench)?.stations == 1)
        while bench.scans.isEmpty {
            bench.now = try #require(bench.timers[.policy])
            bench.handle(.timer(.policy))
        }
        #expect(bench.endScan(.finished([bench.bss("Home")])).contains("close setup AP 1"))
        #expect(bench.handle(.setupAccessPoint(1, .closed)).contains("join wlan0 Home"))
        bench.connect("wlan0")
        bench.lease("wlan0", 1)
        bench.handle(.found(.probed(epoch: bench.probed, .online)))
        #expect(bench.setupAccessPointOrder == 1 && self.status(bench)?.why == nil)
    }

    @Test func homeComesBackAndWaitsForTheUser() throws {
        var bench = try lost()
        bench.handle(.browserAsked)
        #expect(bench.core.setupAccessPoint.isHolding)
        let effects = bench.handle(.scanRead([bench.bss("Home")], after: nil))
        #expect(!effects.contains { $0.hasPrefix("join") || $0.hasPrefix("close") })
        bench.now = try #require(bench.timers[.setupAccessPoint])
        bench.handle(.timer(.setupAccessPoint))
        #expect(!bench.core.setupAccessPoint.isHolding)
        #expect(bench.handle(.scanRead([bench.bss("Home")], after: nil)).contains("close setup AP 1"))
    }

    @Test func inThePlaceOfTheStationItMakesRoomToLook() throws {
        var bench = try lost(Self.radio(.instead))
        bench.surroundings.stations["wlan0"]?.isLinkUp = false
        #expect(!bench.handle(.linkChanged("wlan0", isUp: false)).contains { $0.hasPrefix("bring up") })
        bench.now = try #require(bench.core.setupAccessPoint.nextLook)
        #expect(bench.handle(.timer(.setupAccessPoint)).contains("close setup AP 1"))
        bench.surroundings.stations["wlan0"]?.isLinkUp = true
        bench.handle(.setupAccessPoint(1, .closed))
        #expect(bench.core.isInterfaceUp)
        // Nothing is in range: it is open again.
        bench.now = try #require(bench.core.setupAccessPoint.lookEnd)
        bench.handle(.timer(.setupAccessPoint))
        #expect(bench.setupAccessPointOrder == 2)
        bench.handle(.setupAccessPoint(2, .radio(Self.radio(.instead))))
        bench.handle(.setupAccessPoint(2, .opened))
        // A user who is there is not left alone.
        bench.handle(.browserAsked)
        bench.now = try #require(bench.core.setupAccessPoint.nextLook)
        #expect(!bench.handle(.timer(.setupAccessPoint)).contains("close setup AP 2"))
    }

    /// A fresh device has nothing to look for but what its page lists: while no phone is there, and not often.
    @Test(arguments: [radio(.instead), radio(), radio(channels: 2), radio(.second)])
    func thePageGetsItsList(_ radio: SetupAccessPointRadio) throws {
        var bench = try open(radio)
        var order = try #require(bench.core.setupAccessPoint.phase.order)
        #expect(order.look == .quick)
        bench.handle(.setupAccessPoint(1, .stations(1)))
        let first = try #require(bench.core.setupAccessPoint.nextLook)
        bench.now = first + .seconds(5)
        #expect(!bench.handle(.timer(.setupAccessPoint)).contains("close setup AP 1"))
        #expect(bench.handle(.setupAccessPoint(1, .stations(0))).contains("close setup AP 1"))
        #expect(bench.handle(.setupAccessPoint(1, .closed)).contains("ask setup AP radio 2"))
        bench.handle(.setupAccessPoint(2, .radio(radio)))
        order = try #require(bench.core.setupAccessPoint.phase.order)
        #expect(order.look == .everywhere)
        bench.handle(.setupAccessPoint(2, .opened))
        let next = try #require(bench.core.setupAccessPoint.nextLook)
        #expect(next - bench.now == SetupAccessPointState.pageInterval && bench.timers[.setupAccessPoint] == next)
        bench.now = next
        #expect(bench.handle(.timer(.setupAccessPoint)).contains("close setup AP 2"))
    }

    // MARK: Trouble

    @Test func whatFailsIsTriedAgainMoreAndMoreSeldom() throws {
        var bench = try fresh()
        var pauses: [Int64] = []
        for number in UInt64(1)...7 {
            bench.handle(.setupAccessPoint(number, .radio(number == 1 ? nil : Self.radio())))
            if number > 1 { bench.handle(.setupAccessPoint(number, .failed("the driver refuses"))) }
            #expect(self.status(bench)?.problem != nil && self.status(bench)?.isOpen == false)
            let wake = try #require(bench.timers[.setupAccessPoint])
            pauses.append((wake - bench.now).milliseconds / 1000)
            bench.now = wake
            #expect(bench.handle(.timer(.setupAccessPoint)).contains("ask setup AP radio \(number + 1)"))
        }
        #expect(pauses == pauses.sorted() && pauses.last.map { $0 > 50 } ?? false)
        #expect(bench.warnings.count == 2)
    }

    @Test func itIsOpenedAnewWhereItHasEndedByItself() throws {
        var bench = try open()
        bench.handle(.setupAccessPoint(1, .failed("wpa_supplicant has ended")))
        #expect(self.status(bench)?.isOpen == false)
        bench.now = try #require(bench.timers[.setupAccessPoint])
        #expect(bench.handle(.timer(.setupAccessPoint)).contains("ask setup AP radio 2"))
        // What is told of the earlier one is too late.
        bench.handle(.setupAccessPoint(1, .stations(5)))
        bench.handle(.setupAccessPoint(2, .radio(Self.radio())))
        bench.handle(.setupAccessPoint(2, .opened))
        #expect(self.status(bench)?.stations == 0)
    }

    @Test func aChannelThatIsNoneForAccessPointsIsLeftAlone() throws {
        var bench = try CoreBench(setupAccessPoint: SetupAccessPoint.Settings())
        try bench.start()
        bench.handle(.request(3, .openSetupAccessPoint(.command)))
        bench.handle(.setupAccessPoint(1, .radio(Self.radio(usable: [Self.sixth]))))
        #expect(self.status(bench)?.problem?.contains("channel") == true && self.status(bench)?.isOpen == false)
        #expect(bench.network == "Home")
    }

    @Test func byCommandItIsOpenOnTheChannelOfTheLinkAndClosed() throws {
        var bench = try CoreBench(setupAccessPoint: SetupAccessPoint.Settings())
        try bench.start()
        #expect(bench.handle(.request(3, .openSetupAccessPoint(.command))).contains("ask setup AP radio 1"))
        #expect(bench.handle(.setupAccessPoint(1, .radio(Self.radio()))).contains("open setup AP 1 on 2412 beside"))
        bench.handle(.setupAccessPoint(1, .opened))
        #expect(self.status(bench)?.closesIn.map { (590...600).contains($0) } ?? false)
        #expect(bench.handle(.request(4, .closeSetupAccessPoint)).contains("close setup AP 1"))
        bench.handle(.setupAccessPoint(1, .closed))
        #expect(self.status(bench)?.isOpen == false)
    }
}
