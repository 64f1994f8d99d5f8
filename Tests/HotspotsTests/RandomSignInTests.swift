import AgentModel
import AppProtocol
import Randomness
import Testing

@testable import Hotspots

/// Whatever providers, people and the network do, in any order: nothing is left open, nothing is asked too often, and it
/// always goes on by itself.
///
/// One story after the other, with room for others in between: whoever keeps the few threads that all tests share busy
/// for seconds makes the time limits of those pass that wait for an answer.
@Suite(.serialized) struct RandomSignInTests {
    private static let providers = ["a", "b", "c", "d", "e"]

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
        case .listing, .authenticating, .presentingUI, .maintaining, .loggingOff: expected = 1
        }
        #expect(bench.open.count == expected)
        #expect(bench.open.count <= 4)
        switch bench.signIn.phase {
        case .inactive, .resting: #expect(bench.signIn.deadline == nil)
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
        #expect(bench.signIn.round.line.count <= ProviderLimits.providers)
        #expect(bench.signIn.round.tried.count <= Self.providers.count)
    }

    private func step(_ bench: inout SignInBench, _ random: inout SeededRandom) {
        let open = bench.open.sorted { $0.key < $1.key }
        // A connection that may have ended long ago, too.
        let number = Bool.random(using: &random) ? open.randomElement(using: &random)?.key ?? 1 : 1
        switch Int.random(in: 0..<14, using: &random) {
        case 0: bench.captive()
        case 1: bench.captive(SignInBench.network(Bool.random(using: &random) ? "Cafe" : "Hotel"))
        case 2: bench.receive(.online)
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
        case 9, 10:
            if case .listing(let number, _) = bench.signIn.phase {
                let names = Self.providers.filter { _ in Bool.random(using: &random) }
                bench.receiveList(number, ProviderList(names: names))
            }
        default: bench.receive(.answered(number, answer(&random)))
        }
    }

    private func answer(_ random: inout SeededRandom) -> ProviderAnswer {
        let seconds = Bool.random(using: &random) ? Int.random(in: ProviderLimits.seconds, using: &random) : nil
        return switch Int.random(in: 0..<10, using: &random) {
        case 0: .evaluated(.none)
        case 1: .evaluated(.low)
        case 2: .evaluated(.high)
        case 3: .signIn(.success(maintainIn: seconds, session: nil))
        case 4: .signIn(.uiRequired(Dialogue(title: "t", message: "m")))
        case 5: .signIn(.temporaryFailure(retryAfter: seconds))
        case 6: .signIn(.failure(reason: "r"))
        case 7: .maintained(.success(next: seconds))
        case 8: .maintained(.authenticationRequired)
        default: .loggedOff
        }
    }

    /// Providers that lie without a pause, at a network that stays closed: for a week they are started a bounded number of
    /// times.
    @Test func liarsAreNotStartedForever() {
        var bench = SignInBench()
        var started = 0
        let end = bench.now + .seconds(7 * 24 * 3600)
        bench.captive()
        while bench.now < end {
            started += bench.actions.count { if case .open = $0 { true } else { false } }
            switch bench.signIn.phase {
            case .listing(let number, _): bench.receiveList(number, ProviderList(names: ["a", "b"]))
            case .evaluating(let evaluation):
                bench.receive(.answered(evaluation.asked[0].connection, .evaluated(.high)))
            case .authenticating(let attempt, _):
                bench.receive(
                    .answered(attempt.connection, .signIn(.success(maintainIn: 1, session: nil))))
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
