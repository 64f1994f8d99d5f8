import AgentModel
import PolicyProperties
import Testing

@testable import Failover

/// A timer has one effect, and the policy never waits for one that is over.
@Suite struct DeadlineTests {
    private static var validating: PolicySettings {
        var settings = PolicySettings()
        settings.validation = PolicySettings.Validation()
        return settings
    }

    /// A device of which the link in use has lost its address and its wpa_supplicant while a command has another
    /// network joined beside it: what the command waited for is there, and the link falls to it later than the
    /// command's patience lasts.
    @Test(arguments: [nil, PolicySettings.Validation()])
    func aCommandThatIsBeingCarriedOutIsNotOutOfPatience(_ validation: PolicySettings.Validation?) throws {
        var bench = Ground.joiningBeside.bench(validation: validation)
        let target = try #require(bench.policy.successor?.attempt)
        bench.send(.address(isReady: false))
        bench.send(.supplicant(isAvailable: false))
        // Bench.advance takes offence at a wish for the past.
        bench.advance(by: .seconds(15))
        let actions = bench.take()
        #expect(actions.contains(.useSuccessor(epoch: target.epoch)))
        #expect(actions.outcomes == [], "the switch goes on")
        bench.joinSucceeds()
        if validation != nil { bench.probeEnds(.online) }
        #expect(bench.isOnline && bench.target == Bench.backup)
        #expect(bench.take().outcomes == [.committed])
    }

    /// The same without a wake-up in between.
    @Test func aLateWakeUpLeavesNothingOverdue() {
        var bench = Ground.joiningBeside.bench(validation: .init())
        bench.send(.address(isReady: false))
        bench.send(.supplicant(isAvailable: false))
        bench.jump(by: .seconds(30))
        bench.send(.tick)
        #expect(bench.policy.nextWake.map { $0 > bench.now } ?? true)
    }

    /// A observation that is reason to leave a link comes with a probe of that link overdue.
    @Test func aLinkThatIsLeftIsNotProbed() {
        var bench = Bench.online([Bench.home, Bench.backup], settings: Self.validating)
        bench.probeEnds(.captive)
        bench.finishScan([])
        _ = bench.take()
        bench.jump(by: .seconds(40))
        // An answer to a scan that is over.
        bench.send(.scanned(id: 0, [bench.observation(Bench.backup, -40)]))
        let actions = bench.take()
        #expect(actions.joins.map(\.network) == [Bench.backup.id])
        #expect(actions.probes == 0)
    }

    /// In every state, after every two things that may happen, in time and late: what is due is done, and the next is
    /// in the future.
    @Test(arguments: Ground.allCases, [nil, PolicySettings.Validation()])
    func nothingIsAskedForTwice(_ ground: Ground, _ validation: PolicySettings.Validation?) {
        let bench = ground.bench(validation: validation)
        for first in Self.happenings {
            for wait in Self.waits {
                var once = bench
                guard isSettled(&once, after: first, wait) else { return }
                for second in Self.happenings {
                    for wait in Self.waits {
                        var twice = once
                        guard isSettled(&twice, after: second, wait) else {
                            Issue.record("after \(first)")
                            return
                        }
                    }
                }
            }
        }
    }

    private func isSettled(_ bench: inout Bench, after event: PolicyEvent, _ wait: Duration) -> Bool {
        bench.send(event)
        if let wake = bench.policy.nextWake, wake <= bench.now {
            Issue.record("\(event) is followed by a wish for \(wake), now is \(bench.now)")
            return false
        }
        guard wait > .zero else { return true }
        bench.jump(by: wait)
        bench.send(.tick)
        if let wake = bench.policy.nextWake, wake <= bench.now {
            Issue.record("\(event) and \(wait) are followed by a wish for \(wake), now is \(bench.now)")
            return false
        }
        return true
    }

    /// The limits of a join, of an address and of patience, and more than any of them.
    private static let waits: [Duration] = [.zero, .seconds(10), .seconds(15), .seconds(50)]

    private static let happenings: [PolicyEvent] = [
        .tick, .supplicant(isAvailable: false), .supplicant(isAvailable: true), .interface(isUp: false),
        .interface(isUp: true), .address(isReady: false), .linkLost(), .spare(isReady: false), .spare(isReady: true),
        .otherUplink(.wired), .networks([Bench.home]), .switchTo(Bench.spare.id, id: 9, confirmWithin: .seconds(5)),
        .settings(SettingsVariant.hasty.settings), .settings(SettingsVariant.patient.settings), .resumed,
    ]

    /// A state that an event may come in.
    enum Ground: CaseIterable {
        case offline, searching, waitingForCommand, joining, waitingForAddress, validating, confirming, online, useless
        case withoutAddress, withoutSupplicant, joiningBeside, waitingBeside, validatingBeside, escapingBeside,
            comingBack

        func bench(validation: PolicySettings.Validation?) -> Bench {
            var settings = PolicySettings()
            settings.validation = validation
            var bench = Bench(settings: settings)
            if self == .offline { return bench }
            if self == .waitingForCommand {
                bench.send(.interface(isUp: true))
                bench.send(.switchTo(Bench.home.id, id: 1))
                return bench
            }
            bench.start()
            if self == .searching { return bench }
            if self == .comingBack {
                bench.send(.interrupted(id: 1, target: Bench.backup.id, cameFrom: Bench.home.id))
                bench.finishScan([bench.observation(Bench.home, -50)])
                return bench
            }
            bench.finishScan([bench.observation(Bench.home, -50)])
            if self == .joining { return bench }
            bench.associates()
            if self == .waitingForAddress { return bench }
            bench.send(.address(isReady: true))
            prepare(&bench)
            _ = bench.take()
            return bench
        }

        /// From home on.
        private func prepare(_ bench: inout Bench) {
            switch self {
            case .useless: bench.probeEnds(.captive)
            case .withoutAddress: bench.send(.address(isReady: false))
            case .withoutSupplicant: bench.send(.supplicant(isAvailable: false))
            case .validating, .confirming:
                command(&bench)
                bench.joinSucceeds()
                if self == .confirming { bench.probeEnds(.online) }
            case .escapingBeside:
                bench.send(.spare(isReady: true))
                bench.measure(-85, for: .seconds(12), every: .seconds(1))
                if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -45)]) }
            case .joiningBeside, .waitingBeside, .validatingBeside:
                bench.send(.spare(isReady: true))
                command(&bench)
                guard self != .joiningBeside else { return }
                bench.send(.associated(epoch: bench.policy.epoch, Bench.accessPoint(of: Bench.backup.id)))
                guard self != .waitingBeside else { return }
                bench.send(.successorAddress(epoch: bench.policy.epoch, isReady: true))
            default: break
            }
        }

        private func command(_ bench: inout Bench) {
            bench.send(
                .switchTo(Bench.backup.id, id: 7, confirmWithin: self == .confirming ? .seconds(60) : nil))
            if bench.policy.scan != nil { bench.finishScan([bench.observation(Bench.backup, -45)]) }
        }
    }
}
