import AgentModel
import Testing

@testable import Failover

/// The owner permits only some access points of a network.
@Suite struct OwnerChoiceTests {
    private static func home(band: Band? = nil, bssid: BSSID? = nil) -> KnownNetwork {
        KnownNetwork(
            id: Bench.home.id, ssid: Bench.home.ssid, usesPassphrase: true, isPreferred: true, band: band, bssid: bssid)
    }

    /// The owner permits the weaker of two access points.
    // covers: rule/owner-choice
    @Test(arguments: [nil, Band.five]) func onlyWhatIsPermittedIsJoined(band: Band?) throws {
        let weaker = try #require(BSSID("02:00:00:00:01:01"))
        var bench = Bench([Self.home(band: band, bssid: band == nil ? weaker : nil)])
        bench.start()
        bench.finishScan([
            bench.observation(Bench.home, -40), bench.observation(Bench.home, -70, channel: 5180, radio: 1),
        ])
        #expect(bench.targetBSSID == weaker)
    }

    @Test func nothingIsJoinedWithoutAPermittedAccessPoint() {
        var bench = Bench([Self.home(band: .six)])
        bench.start()
        bench.finishScan([bench.observation(Bench.home, -40)])
        #expect(bench.take().joins.isEmpty)
    }

    /// The band was chosen while the device was in the other.
    // covers: rule/owner-choice
    @Test func anExcludedAccessPointIsLeftForAPermittedOne() {
        var bench = Bench.online([Bench.home])
        bench.advance(by: .seconds(60))
        bench.send(.networks([Self.home(band: .five)]))
        bench.advance(by: .seconds(20))
        #expect(bench.isOnline && bench.take().joins.isEmpty)
        bench.send(
            .scanned(
                id: nil,
                [bench.observation(Bench.home, -40), bench.observation(Bench.home, -74, channel: 5180, radio: 1)]))
        bench.send(.signal(-40))
        #expect(bench.take().joins.last?.frequencies == [Frequency(megahertz: 5180)])
    }

    /// It could not come back.
    @Test func anExcludedAccessPointIsNotLeftForAFaintOne() {
        var bench = Bench.online([Bench.home])
        bench.advance(by: .seconds(60))
        bench.send(.networks([Self.home(band: .five)]))
        bench.send(.scanned(id: nil, [bench.observation(Bench.home, -85, channel: 5180, radio: 1)]))
        bench.send(.signal(-40))
        #expect(bench.isOnline)
    }

    /// Nothing is scanned for where it may not be joined.
    @Test func channelsOfAnotherBandAreForgotten() {
        var bench = Bench.online([Bench.home])
        bench.send(.networks([Self.home(band: .five)]))
        bench.send(.linkLost(.other))
        bench.advance(by: .seconds(10))
        #expect(bench.take().scans.allSatisfy { $0.frequencies.isEmpty })
    }

    /// A channel that is nearly always busy makes up for 10 dB.
    // covers: rule/rank-headroom
    @Test(arguments: [(-52, 11), (-49, 1)]) func aBusyChannelMakesAnAccessPointWorse(signal: Int, channel: Int) {
        var bench = Bench([Bench.home])
        bench.start()
        let quiet = bench.observation(Bench.home, -61, channel: 2462, radio: 1)
        let strong = bench.observation(Bench.home, signal, channel: 2412)
        let busy = BSS(
            bssid: strong.bssid, ssid: strong.ssid, frequency: strong.frequency, signal: strong.signal,
            lastSeen: strong.lastSeen, security: strong.security, channelUtilization: 250)
        bench.finishScan([busy, quiet])
        #expect(bench.take().joins.last?.frequencies.first?.channel == channel)
    }
}
