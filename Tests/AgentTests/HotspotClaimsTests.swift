import AgentModel
import AppProtocol
import Hotspots
import Linux
import Testing

@testable import Agent

/// Providers' claims to the networks that a scan found. The providers are a fake that answers when it is told to.
@AgentLoop @Suite struct HotspotClaimsTests {
    @Test func openNetworksAreClaimed() async throws {
        let desk = ClaimsDesk()
        let found = [
            try Self.network(1, "Cafe"), try Self.network(2, "Hotel", .owe), try Self.network(3, "Home", .wpa2),
            try Self.network(4, nil), try Self.network(5, "Old", .wep),
        ]
        desk.claims.scanned(found)
        let question = try #require(await desk.next())
        #expect(
            question.networks == [
                ScannedHotspot(ssid: try SSID("Cafe"), bssid: found[0].bssid, signal: -51, security: .open),
                ScannedHotspot(ssid: try SSID("Hotel"), bssid: found[1].bssid, signal: -52, security: .owe),
            ])
        #expect(desk.claimed(found) == [[], [], [], [], []], "nothing waits for the answer")
        question.answer([found[1].bssid: ["cafe", "click-through"]])
        await desk.claims.asking?.value
        #expect(desk.claimed(found) == [[], ["cafe", "click-through"], [], [], []])
        #expect(desk.claims.asking == nil)
    }

    @Test func aNewScanReplacesThem() async throws {
        let desk = ClaimsDesk()
        let found = [try Self.network(1, "Cafe"), try Self.network(2, "Hotel")]
        desk.claims.scanned(found)
        await desk.next()?.answer([found[0].bssid: ["cafe"]])
        await desk.claims.asking?.value
        desk.now = desk.now + HotspotClaims.validity
        desk.claims.scanned(found)
        let question = try #require(await desk.next())
        #expect(desk.claimed(found) == [["cafe"], []], "until there is another answer")
        question.answer([found[1].bssid: ["hotel"]])
        await desk.claims.asking?.value
        #expect(desk.claimed(found) == [[], ["hotel"]])
    }

    @Test func oneQuestionAtATimeAndThenTheNewestScan() async throws {
        let desk = ClaimsDesk()
        let scans = try (1...4).map { try Self.network($0, "Cafe") }
        desk.claims.scanned([scans[0]])
        let first = try #require(await desk.next())
        for scan in scans.dropFirst() { desk.claims.scanned([scan]) }
        first.answer([scans[0].bssid: ["cafe"]])
        let second = try #require(await desk.next())
        #expect(second.networks.map(\.bssid) == [scans[3].bssid])
        second.answer([scans[3].bssid: ["cafe"]])
        await desk.claims.asking?.value
        #expect(desk.claimed(scans) == [[], [], [], ["cafe"]])
    }

    @Test func aboutTheSameAccessPointsNobodyIsAskedAgainSoSoon() async throws {
        let desk = ClaimsDesk()
        let found = [try Self.network(1, "Cafe"), try Self.network(2, "Hotel")]
        desk.claims.scanned(found)
        await desk.next()?.answer([found[0].bssid: ["cafe"]])
        await desk.claims.asking?.value
        desk.now = desk.now + HotspotClaims.validity - .milliseconds(1)
        desk.claims.scanned(found.reversed())
        await desk.claims.asking?.value
        #expect(desk.claimed(found) == [["cafe"], []])
        // Another one has come, and that is news.
        desk.claims.scanned(found + [try Self.network(3, "Club")])
        let question = try #require(await desk.next())
        #expect(question.networks.count == 3)
        question.answer([:])
        await desk.claims.asking?.value
        #expect(await desk.hasAsked() == false)
    }

    @Test func nobodyIsAskedWhereNothingIsOpen() async throws {
        let desk = ClaimsDesk()
        let found = [try Self.network(1, "Cafe")]
        desk.claims.scanned(found)
        await desk.next()?.answer([found[0].bssid: ["cafe"]])
        await desk.claims.asking?.value
        desk.claims.scanned([try Self.network(1, "Cafe", .wpa3)])
        await desk.claims.asking?.value
        #expect(desk.claimed(found) == [[]])
        #expect(await desk.hasAsked() == false)
    }

    @Test func afterTheEndNothingIsAsked() async throws {
        let desk = ClaimsDesk()
        let found = [try Self.network(1, "Cafe")]
        desk.claims.scanned(found)
        let question = try #require(await desk.next())
        desk.claims.scanned(found)
        desk.claims.stop()
        question.answer([:])
        await desk.claims.asking?.value
        #expect(await desk.hasAsked() == false)
    }

    @Test func withoutProvidersThereIsNothingToAsk() throws {
        let claims = HotspotClaims(of: nil)
        claims.scanned([try Self.network(1, "Cafe")])
        #expect(claims.asking == nil)
    }

    /// The weaker, the higher its number.
    private static func network(_ number: Int, _ name: String?, _ security: Security = .open) throws -> BSS {
        BSS(
            bssid: try #require(BSSID("02:00:00:00:00:0\(number)")), ssid: try name.map { try SSID($0) },
            frequency: Frequency(megahertz: 2412), signal: -50 - number, lastSeen: .now, security: security)
    }
}

/// Claims, and the questions that come of them.
@AgentLoop
private final class ClaimsDesk {
    private(set) lazy var claims = HotspotClaims(of: providers) { [unowned self] in now }
    var now = Instant.now
    private let providers: NotedSignIn
    private let questions: AsyncStream<Question>
    private let teller: AsyncStream<Question>.Continuation

    struct Question: Sendable {
        let networks: [ScannedHotspot]
        private let continuation: CheckedContinuation<[BSSID: [String]], Never>

        init(_ networks: [ScannedHotspot], _ continuation: CheckedContinuation<[BSSID: [String]], Never>) {
            self.networks = networks
            self.continuation = continuation
        }

        func answer(_ names: [BSSID: [String]]) { continuation.resume(returning: names) }
    }

    init() {
        let (questions, teller) = AsyncStream.makeStream(of: Question.self)
        self.questions = questions
        self.teller = teller
        providers = NotedSignIn { networks in
            await withCheckedContinuation { teller.yield(Question(networks, $0)) }
        }
    }

    /// The next question to the providers.
    func next() async -> Question? { await questions.first { @Sendable _ in true } }

    /// Whether there was a question that `next` has not returned. None comes after this.
    func hasAsked() async -> Bool {
        teller.finish()
        return await next() != nil
    }

    /// The names in `scan.get` for each of these.
    func claimed(_ networks: [BSS]) -> [[String]] {
        networks.map { ScannedNetwork($0, now: .now, providers: claims[$0.bssid], refusal: nil).providers }
    }
}
