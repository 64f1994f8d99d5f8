import AgentModel
import Randomness
import Testing

@testable import FailoverPolicy

/// Random histories. What must hold in every one of them is checked after every event.
@Suite struct PropertyTests {
    @Test(arguments: 0..<1000)
    func holdInRandomHistories(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var bench = Bench()
        var open: Set<UInt64> = []
        var switches: UInt64 = 0
        for _ in 0..<500 {
            bench.advance(by: .milliseconds(Int.random(in: 0...5000, using: &random)))
            let event = Self.event(for: bench, switches: &switches, using: &random)
            if case .switchTo(_, let id, _) = event { open.insert(id) }
            bench.send(event)
            for case .switchProgress(let id, let phase) in bench.take() where phase.isFinal {
                #expect(open.remove(id) != nil, "a second outcome of switch \(id)")
            }
            if let wake = bench.policy.nextWake, wake <= bench.now {
                // What is due is done at the next tick, so a tick must move it.
                bench.send(.tick)
                #expect(bench.policy.nextWake.map { $0 > bench.now } ?? true, "hot loop after \(event)")
            }
        }
        // Every switch ends, whatever happens, once time passes.
        bench.advance(by: .seconds(600))
        for case .switchProgress(let id, let phase) in bench.take() where phase.isFinal { open.remove(id) }
        #expect(open.isEmpty, "seed \(seed)")
        Self.expectNotStranded(&bench, seed: seed)
    }

    /// With everything in order and the home network in range, the device is joining or online within a bounded time.
    private static func expectNotStranded(_ bench: inout Bench, seed: UInt64) {
        bench.send(.networks([Bench.home, Bench.backup, Bench.spare]))
        bench.send(.interface(isUp: true))
        bench.send(.supplicant(isAvailable: true))
        let start = bench.now
        while bench.now - start < .seconds(400) {
            if let attempt = bench.policy.attempt {
                let bssid = Bench.accessPoint(of: attempt.network)
                bench.send(.associated(epoch: attempt.epoch, bssid))
                bench.send(.address(isReady: true))
            }
            if bench.isOnline { return }
            if bench.policy.scan != nil {
                bench.finishScan([bench.sight(Bench.home, -50)])
            } else {
                bench.advance(by: .seconds(1))
            }
        }
        Issue.record("stranded with a usable network in range, seed \(seed)")
    }

    private static func event(
        for bench: Bench, switches: inout UInt64, using random: inout SeededRandom
    ) -> PolicyEvent {
        let networks = [Bench.home, Bench.backup, Bench.spare]
        let network = networks.randomElement(using: &random) ?? Bench.home
        let sights = networks.filter { _ in Bool.random(using: &random) }.map {
            bench.sight($0, Int.random(in: -95 ... -30, using: &random))
        }
        switch Int.random(in: 0..<14, using: &random) {
        case 0: return .interface(isUp: Int.random(in: 0..<4, using: &random) > 0)
        case 1: return .supplicant(isAvailable: Int.random(in: 0..<4, using: &random) > 0)
        case 2: return .linkFound(network.id, Bench.accessPoint(of: network.id))
        case 3, 4: return .scanned(id: bench.policy.scan?.order.id, sights)
        case 5: return .scanFailed(id: bench.policy.scan?.order.id ?? 1)
        case 6, 7: return .associated(epoch: bench.policy.epoch, Bench.accessPoint(of: network.id))
        case 8:
            return .joinFailed(
                epoch: bench.policy.epoch, JoinFailure.allCases.randomElement(using: &random) ?? .timeout)
        case 9: return .linkLost(isOwnDoing: Bool.random(using: &random))
        case 10: return .address(isReady: Bool.random(using: &random))
        case 11: return .signal(Int.random(in: -95 ... -30, using: &random))
        case 12:
            switches += 1
            return .switchTo(network.id, id: switches)
        default: return .networks(networks.filter { _ in Int.random(in: 0..<8, using: &random) > 0 })
        }
    }

    @Test func sameHistoryGivesTheSameActions() {
        func run() -> [PolicyAction] {
            var random = SeededRandom(seed: 77)
            var bench = Bench()
            var switches: UInt64 = 0
            for _ in 0..<2000 {
                bench.advance(by: .milliseconds(Int.random(in: 0...5000, using: &random)))
                bench.send(Self.event(for: bench, switches: &switches, using: &random))
            }
            return bench.take()
        }
        let first = run()
        #expect(first.count > 100)
        #expect(first == run())
    }
}
