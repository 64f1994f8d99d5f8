import AgentModel
import Testing

@testable import Failover

/// Twins: access points that bear a network's name and offer less than it has had.
@Suite struct SecurityFloorTests {
    private static func home(_ floor: LinkProtection, usesPassphrase: Bool = true) -> KnownNetwork {
        KnownNetwork(
            id: Bench.home.id, ssid: Bench.home.ssid, usesPassphrase: usesPassphrase, isPreferred: true,
            minimumSecurity: floor)
    }

    private static func observation(
        _ security: Security, protection: LinkProtection? = nil, of network: KnownNetwork = Bench.home
    ) -> BSS {
        BSS(
            bssid: BSSID("02:00:00:00:01:07")!, ssid: network.ssid, frequency: Frequency(megahertz: 2437), signal: -30,
            lastSeen: Instant(milliseconds: 1_000_000), security: security, protection: protection)
    }

    typealias Case = (offer: Security, minimumSecurity: LinkProtection, refusal: JoinFailure?)

    static let protected: [Case] = [
        (.wpa2, [], nil), (.wpa2wpa3, [], nil), (.wpa3, [], nil), (.wpa3, [.sae, .pmf], nil),
        (.wpa2wpa3, [.sae, .pmf], nil), (.wpa2, [.sae, .pmf], .lessSecure), (.wpa2, .pmf, .lessSecure),
        (.wpa2, .sae, .lessSecure), (.open, [], .lessSecure), (.owe, .sae, .lessSecure),
        (.legacy, [], .unsupportedSecurity), (.wep, .sae, .unsupportedSecurity),
        (.enterprise, [], .unsupportedSecurity), (.unknown, [], .unsupportedSecurity),
    ]

    static let open: [Case] = [
        (.open, [], nil), (.owe, [], nil), (.owe, .owe, nil), (.owe, [.owe, .pmf], nil), (.open, .owe, .lessSecure),
    ]

    // covers: rule/floor-refuses-less
    @Test(arguments: protected)
    func aNetworkWithAPassword(_ offer: Security, _ floor: LinkProtection, _ refusal: JoinFailure?) {
        let bss = Self.observation(offer)
        #expect(Self.home(floor).refusal(of: bss) == refusal)
        #expect(Self.home(floor).matches(bss) == (refusal == nil))
    }

    static let withTKIP: [Case] = [
        (.legacy, [], nil), (.legacy, .pmf, .lessSecure), (.legacy, [.sae, .pmf], .lessSecure), (.wpa2, [], nil),
        (.wep, [], .unsupportedSecurity), (.unknown, [], .unsupportedSecurity),
        (.enterprise, [], .unsupportedSecurity), (.open, [], .lessSecure),
    ]

    /// The owner's permission covers WPA and TKIP and nothing else, and the floor holds.
    // covers: rule/floor-no-tkip
    @Test(arguments: withTKIP)
    func aNetworkThatMayUseTKIP(_ offer: Security, _ floor: LinkProtection, _ refusal: JoinFailure?) throws {
        let bss = Self.observation(offer)
        func home(isEnterprise: Bool = false, usesPassphrase: Bool = true) -> KnownNetwork {
            KnownNetwork(
                id: Bench.home.id, ssid: Bench.home.ssid, usesPassphrase: usesPassphrase, isEnterprise: isEnterprise,
                minimumSecurity: floor, allowsTKIP: true)
        }
        #expect(home().refusal(of: bss) == refusal)
        #expect(home().matches(bss) == (refusal == nil))
        let old = Self.observation(.legacy)
        #expect(!home(isEnterprise: true).matches(old) && !home(usesPassphrase: false).matches(old))
        let text = try OutsideJSON.encode(home())
        #expect(try OutsideJSON.decode(KnownNetwork.self, from: text, nesting: 4) == home())
    }

    static let enterprise: [Case] = [
        (.enterprise, [], nil), (.enterprise, .pmf, .lessSecure), (.wpa2, [], .lessSecure), (.wpa3, [], .lessSecure),
        (.wpa2wpa3, [], .lessSecure), (.open, [], .lessSecure), (.owe, [], .lessSecure),
        (.legacy, [], .unsupportedSecurity), (.wep, [], .unsupportedSecurity), (.unknown, [], .unsupportedSecurity),
    ]

    /// Neither a password of many nor none takes the place of a server with a certificate.
    @Test(arguments: enterprise)
    func aNetworkWithUsers(_ offer: Security, _ floor: LinkProtection, _ refusal: JoinFailure?) throws {
        let works = KnownNetwork(
            id: Bench.home.id, ssid: Bench.home.ssid, usesPassphrase: true, isEnterprise: true, minimumSecurity: floor)
        #expect(works.refusal(of: Self.observation(offer)) == refusal)
        #expect(works.matches(Self.observation(offer)) == (refusal == nil))
        let text = try OutsideJSON.encode(works)
        #expect(try OutsideJSON.decode(KnownNetwork.self, from: text, nesting: 4) == works)
    }

    /// A record of before has no word about them.
    @Test func recordsOfBeforeAreRead() throws {
        let text = String(decoding: try OutsideJSON.encode(Bench.home), as: UTF8.self)
        #expect(!text.contains("isEnterprise"))
        #expect(try OutsideJSON.decode(KnownNetwork.self, from: Array(text.utf8), nesting: 4) == Bench.home)
    }

    // covers: rule/floor-refuses-less
    @Test(arguments: open)
    func aNetworkWithoutAPassword(_ offer: Security, _ floor: LinkProtection, _ refusal: JoinFailure?) {
        let cafe = Self.home(floor, usesPassphrase: false)
        #expect(cafe.refusal(of: Self.observation(offer)) == refusal)
        #expect(cafe.matches(Self.observation(offer)) == (refusal == nil))
        // Another network: it has a password.
        #expect(cafe.refusal(of: Self.observation(.wpa2)) == nil)
        #expect(!cafe.matches(Self.observation(.wpa2)))
    }

    /// Of the two halves of an open network the encrypted one is joined, if it is not fainter by a class; and after that
    /// nothing less.
    // covers: rule/rank-encrypted
    @Test(arguments: [(-60, -66, true), (-60, -84, false)]) func theEncryptedHalfComesFirst(
        plain: Int, encrypted: Int, isEncrypted: Bool
    ) {
        let cafe = KnownNetwork(id: Bench.home.id, ssid: Bench.home.ssid, usesPassphrase: false)
        var bench = Bench([cafe])
        bench.start()
        let seen = bench.observation(cafe, plain, radio: 1)
        let half = BSS(
            bssid: seen.bssid, ssid: seen.ssid, frequency: seen.frequency, signal: seen.signal, lastSeen: seen.lastSeen,
            security: .owe, protection: [])
        let other = bench.observation(cafe, encrypted, radio: 2, security: .owe)
        bench.finishScan([half, other])
        #expect(bench.targetBSSID == (isEncrypted ? other.bssid : half.bssid))
    }

    /// An open access point that announces an encrypted one beside it encrypts nothing itself.
    @Test func whatIsAnnouncedIsNotOffered() {
        let announced = Self.observation(.owe, protection: [])
        #expect(Self.home([], usesPassphrase: false).matches(announced))
        #expect(!Self.home(.owe, usesPassphrase: false).matches(announced))
    }

    /// WPA2 with protected management frames, where the other one of that name has none.
    @Test func whatTheAccessPointOffersCounts() {
        #expect(Self.home(.pmf).matches(Self.observation(.wpa2, protection: .pmf)))
        #expect(!Self.home(.pmf).matches(Self.observation(.wpa2, protection: [])))
        #expect(!Self.home([.sae, .pmf]).matches(Self.observation(.wpa3, protection: .sae)))
    }

    // covers: seed/wpa3
    @Test(arguments: [Security.wpa2, .open, .legacy])
    func aTwinIsNeverJoinedAndHoldsNothingAgainstTheNetwork(_ offer: Security) {
        let home = Self.home([.sae, .pmf])
        var bench = Bench([home, Bench.backup])
        bench.start()
        // Hours beside the twin alone, however strong.
        for _ in 0..<200 {
            if bench.policy.scan != nil { bench.finishScan([bench.observation(home, -30, radio: 7, security: offer)]) }
            bench.advance(by: .seconds(40))
        }
        #expect(!bench.take().contains { if case .join = $0 { true } else { false } })
        #expect(bench.policy.lastFailure(of: home.id) == nil)
        // The real one is joined as soon as it is seen.
        while bench.policy.scan == nil { bench.advance(by: .seconds(1)) }
        bench.finishScan([
            bench.observation(home, -30, radio: 7, security: offer), bench.observation(home, -70, security: .wpa2wpa3),
        ])
        let join = bench.take().compactMap { if case .join(let target) = $0 { target } else { nil } }
        #expect(join.map(\.bssid) == [bench.observation(home, -70).bssid])
    }

    @Test func theHistorySaysWhatIsRefused() {
        let home = Self.home([.sae, .pmf])
        var bench = Bench([home, Bench.backup])
        bench.start()
        for _ in 0..<5 {
            if bench.policy.scan != nil { bench.finishScan([bench.observation(home, -30, radio: 7, security: .wpa2)]) }
            bench.advance(by: .seconds(1))
        }
        let search = bench.take().compactMap { action -> PolicyDecision? in
            if case .record(let decision) = action, decision.kind == .search { decision } else { nil }
        }
        #expect(search.first?.considered.map(\.verdict) == [.refused(.lessSecure), .notSeen])
        #expect(search.first?.text.contains("less secure") == true)
        #expect(bench.policy.refusals(at: bench.now).map(\.failure) == [.lessSecure])
    }

    @Test(arguments: [(Security.legacy, JoinFailure.unsupportedSecurity), (.wpa2, .lessSecure)])
    func aCommandSaysWhyItIsNotJoined(_ offer: Security, _ failure: JoinFailure) {
        let guest = KnownNetwork(
            id: NetworkID(9), ssid: Bench.spare.ssid, usesPassphrase: true,
            minimumSecurity: offer == .legacy ? [] : .sae)
        var bench = Bench.online([Bench.home, guest])
        bench.send(.switchTo(guest.id, id: 5, confirmWithin: nil, joinOnce: false))
        for _ in 0..<5 where bench.policy.scan != nil {
            bench.finishScan([bench.observation(guest, -40, security: offer), bench.observation(Bench.home, -50)])
        }
        #expect(bench.take().contains(.switchProgress(id: 5, .rolledBack(failure))))
    }

    /// A floor that rises is no reason to scan; one that the owner lowers is.
    @Test func aRaisedFloorChangesNothingElse() {
        var bench = Bench.online([Self.home([]), Bench.backup])
        let wake = bench.policy.nextWake
        bench.send(.networks([Self.home([.sae, .pmf]), Bench.backup]))
        #expect(bench.take().isEmpty)
        #expect(bench.policy.nextWake == wake)
        #expect(bench.policy.networks[0].minimumSecurity == [.sae, .pmf])
        // Earlier observations count no more.
        #expect(bench.policy.lastObservation(of: Bench.home.id) == nil)
    }
}
