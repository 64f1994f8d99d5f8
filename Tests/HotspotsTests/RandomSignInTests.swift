import AgentModel
import AppProtocol
import Randomness
import Testing

@testable import Hotspots

/// Any order of events from providers, users and the network: nothing is left open, nothing is asked too often, and it
/// always goes on by itself.
///
/// One story after the other, with room for others in between: a test that keeps the few threads that all tests share
/// busy for seconds makes the time limits of those pass that wait for an answer.
@Suite(.serialized) struct RandomSignInTests {
    private static let providers = ["a", "b", "c", "d", "e"]

    // covers: seed/provider-states
    @Test(arguments: 0..<40) func anythingGoes(seed: UInt64) async {
        var random = SeededRandom(seed: seed)
        for _ in 0..<50 {
            story(&random)
            await Task.yield()
        }
    }

    private func story(_ random: inout SeededRandom) {
        var bench = SignInBench()
        var lastRequest = 0
        for _ in 0..<120 {
            step(&bench, &random)
            check(bench, &lastRequest)
        }
        bench.receive(.left)
        #expect(bench.open.isEmpty)
        #expect(bench.signIn.deadline == nil)
    }

    /// Each connection that is open belongs to what goes on now.
    private func check(_ bench: SignInBench, _ lastRequest: inout Int) {
        let expected: Int
        switch bench.signIn.phase {
        case .inactive, .authenticated, .waiting, .resting: expected = 0
        case .evaluating(let evaluation): expected = evaluation.asked.count
        case .maintaining(_, let asked): expected = asked == nil ? 0 : 1
        case .listing, .authenticating, .presentingUI, .loggingOff: expected = 1
        }
        #expect(bench.open.count == expected)
        #expect(bench.open.count <= 4)
        switch bench.signIn.phase {
        case .inactive, .resting, .waiting(until: nil): #expect(bench.signIn.deadline == nil)
        default:
            // It goes on by itself within what a provider may ask for.
            #expect(bench.signIn.deadline.map { $0 - bench.now <= .seconds(86_400) } == true)
        }
        if let until = bench.signIn.status.signingInUntil { #expect(until - bench.now <= .seconds(602)) }
        #expect((bench.signIn.status.request != nil) == (bench.state == .presentingUI))
        if let request = bench.signIn.status.request {
            #expect(request.id >= lastRequest)
            lastRequest = request.id
        }
        if let provider = bench.provider { #expect(!bench.signIn.switchedOff.contains(provider)) }
        #expect(bench.signIn.held.count <= bench.signIn.settings.heldSessions)
        #expect(bench.signIn.round.line.count <= ProviderLimits.providers)
        #expect(bench.signIn.round.tried.count <= Self.providers.count)
    }

    private func step(_ bench: inout SignInBench, _ random: inout SeededRandom) {
        let open = bench.open.sorted { $0.key < $1.key }
        // A connection that may have ended long ago, too.
        let number = Bool.random(using: &random) ? open.randomElement(using: &random)?.key ?? 1 : 1
        switch Int.random(in: 0..<16, using: &random) {
        case 0: bench.captive()
        case 1: bench.captive(SignInBench.network(Bool.random(using: &random) ? "Cafe" : "Hotel"))
        case 2: bench.online()
        case 3 where Bool.random(using: &random): bench.receive(.left)
        case 4: bench.receive(.logOff)
        case 5 where bench.open[number] != nil: bench.receive(.failed(number, .ended))
        case 6: bench.wait()
        case 7: bench.pass(.seconds(Int.random(in: 0...100, using: &random)))
        case 8:
            bench.receive(
                .person(
                    PortalAnswer(
                        id: bench.signIn.status.request?.id ?? 0, values: Bool.random(using: &random) ? [:] : nil)))
        case 15: bench.offline()
        case 9, 10:
            if case .listing(let number, _) = bench.signIn.phase {
                let names = Self.providers.filter { _ in Bool.random(using: &random) }
                bench.receiveList(number, ProviderList(names: names))
            }
        case 11 where Int.random(in: 0..<4, using: &random) == 0:
            bench.receive(.switchedOff(Set(Self.providers.filter { _ in Int.random(in: 0..<3, using: &random) == 0 })))
        default: bench.receive(.answer(number, answer(&random)))
        }
    }

    private func answer(_ random: inout SeededRandom) -> ProviderAnswer {
        let seconds = Bool.random(using: &random) ? Int.random(in: ProviderLimits.seconds, using: &random) : nil
        return switch Int.random(in: 0..<12, using: &random) {
        case 0: .evaluated(.none)
        case 1: .evaluated(.low)
        case 2: .evaluated(.high)
        case 3: .signIn(.success(maintainIn: seconds, session: nil))
        case 4: .signIn(.uiRequired(Dialogue(title: "t", message: "m")))
        case 5: .signIn(.temporaryFailure(retryAfter: seconds))
        case 6: .signIn(.failure(reason: "r"))
        case 7: .maintained(.success(next: seconds))
        case 8: .maintained(.authenticationRequired)
        case 9: .signIn(.uiRequired(nil))
        case 10: .presents(Dialogue(title: "t", message: "m", url: "https://portal.example/"))
        default: .loggedOff
        }
    }

    /// Providers that lie without a pause, at a network that stays closed: for a week they are started a bounded number
    /// of times.
    @Test func liarsAreNotStartedForever() {
        var bench = SignInBench()
        var started = 0
        let end = bench.now + .seconds(7 * 24 * 3600)
        bench.captive()
        while bench.now < end {
            started += bench.effects.count { if case .open = $0 { true } else { false } }
            switch bench.signIn.phase {
            case .listing(let number, _): bench.receiveList(number, ProviderList(names: ["a", "b"]))
            case .evaluating(let evaluation):
                bench.receive(.answer(evaluation.asked[0].connection, .evaluated(.high)))
            case .authenticating(let attempt, _):
                bench.receive(
                    .answer(attempt.connection, .signIn(.success(maintainIn: 1, session: nil))))
            case .authenticated: bench.captive()
            default: bench.wait()
            }
        }
        // Two evaluations and two sign-ins each hour, and a few more at first.
        #expect(started <= 4 * (7 * 24 + 10))
        #expect(started >= 4 * 7 * 24 / 2)
    }
}

extension SignInBench {
    mutating func receiveList(_ number: Int, _ list: ProviderList) {
        forget(number)
        receive(.listed(number, list))
    }
}

/// A sign-in with its clock, and what it wanted last.
struct SignInBench {
    var signIn: SignIn
    var now = Instant(milliseconds: 1000)
    private(set) var effects: [SignIn.Effect] = []
    /// The connections that are open, by what they are about; nil for the list.
    private(set) var open: [Int: String?] = [:]

    init(_ settings: HotspotSettings = HotspotSettings()) { signIn = SignIn(settings: settings) }

    static let name: NetworkName = NetworkName(ssid: cafe.ssid, hash: nil)
    static let cafe = network("Cafe")

    static func network(_ name: String) -> JoinedNetwork {
        guard let ssid = try? SSID(name) else { preconditionFailure("no SSID") }
        return JoinedNetwork(ssid: ssid, security: .open, interface: "wlan0", portal: "http://10.0.0.1/")
    }

    var state: Portal.State { signIn.status.portal.state }
    var provider: String? { signIn.status.portal.provider }

    @discardableResult mutating func receive(_ event: SignIn.Event) -> [SignIn.Effect] {
        if case .failed(let connection, _) = event { open[connection] = nil }
        effects = signIn.handle(event, at: now)
        for effect in effects {
            switch effect {
            case .list(let number):
                precondition(open.updateValue(nil, forKey: number) == nil, "a connection twice")
            case .open(let number, let provider, _):
                precondition(open.updateValue(provider, forKey: number) == nil, "a connection twice")
            case .ask(let number, _): precondition(open[number] != nil, "asks in a connection that has ended")
            case .end(let number): precondition(open.removeValue(forKey: number) != nil, "ends what is not open")
            }
        }
        return effects
    }

    mutating func online(_ network: JoinedNetwork = cafe) { receive(.online(network, Self.name)) }

    mutating func offline(_ network: JoinedNetwork = cafe) { receive(.offline(network, Self.name)) }

    mutating func captive(_ network: JoinedNetwork = cafe) { receive(.captive(network, Self.name)) }

    /// Answers the host's list.
    mutating func list(_ names: String...) {
        guard let number = open.first(where: { $0.value == nil })?.key else { return }
        open[number] = nil
        receive(.listed(number, ProviderList(names: names)))
    }

    mutating func answer(_ provider: String, _ answer: ProviderAnswer) {
        guard let number = number(provider) else { return }
        receive(.answer(number, answer))
    }

    mutating func fail(_ provider: String, _ fault: ProviderFault = .ended) {
        guard let number = number(provider) else { return }
        receive(.failed(number, fault))
    }

    /// The connection has ended on the other side.
    mutating func forget(_ number: Int) { open[number] = nil }

    func number(_ provider: String) -> Int? { open.first { $0.value == provider }?.key }

    /// Lets the time of the next deadline come.
    mutating func wait() {
        if let deadline = signIn.deadline { now = max(now, deadline) }
        receive(.timePassed)
    }

    mutating func pass(_ duration: Duration) {
        now = now + duration
        receive(.timePassed)
    }

    /// Up to where `provider` is asked to sign in.
    mutating func chosen(_ provider: String, others: String...) {
        captive()
        guard let number = open.first(where: { $0.value == nil })?.key else { return }
        open[number] = nil
        receive(.listed(number, ProviderList(names: [provider] + others)))
        for other in others { answer(other, .evaluated(.low)) }
        answer(provider, .evaluated(.high))
    }
}
