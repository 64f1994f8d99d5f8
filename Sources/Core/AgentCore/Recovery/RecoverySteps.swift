import AgentModel

/// Recovery steps for a faulty radio or a link that carries nothing, from cheap to expensive.
///
/// ```
/// no fault -> waiting(patience of the fault) -> step -> waiting(time for it to help) -> next step -> ...
///    ^                                                                                      |
///    +---- the fault has gone -------------------------------------------- tellOwner, resting
/// ```
///
/// A value: faults go in, steps come out. Each step has a minimum interval across faults and restarts
/// (`PersistentState`). A step taken more recently is skipped. If no step is left, the recovery rests, so it cannot
/// loop.
package struct RecoverySteps: Sendable {
    package enum Fault: String, Sendable, Hashable, CaseIterable, Codable {
        case scansRefused
        /// The firmware does not answer commands, but data may flow.
        case mute
        /// Visible access points cannot be joined.
        case joinsFail
        case missing
        /// The link is up, no probe gets through, and nothing else can be joined.
        case carriesNothing
    }

    /// Steps in the order of execution.
    package enum Step: String, Sendable, Hashable, CaseIterable, Codable {
        case abort
        case disconnect
        /// Ask gateway and DHCP server about the address.
        case renewAddress
        case reassociate
        case cycleInterface
        case restartSupplicant
        case rebindDriver
        /// Report that no step has helped.
        case tellOwner
        case reboot
    }

    package enum Reach: String, Sendable, Hashable, CaseIterable, Codable {
        case none
        case interface
        case driver
        case reboot

        func allows(_ step: Step) -> Bool {
            switch step {
            case .abort, .disconnect, .renewAddress, .reassociate, .cycleInterface, .restartSupplicant: self != .none
            case .tellOwner: true
            case .rebindDriver: self == .driver || self == .reboot
            case .reboot: self == .reboot
            }
        }
    }

    /// State kept across restarts.
    package struct PersistentState: Sendable, Hashable {
        package private(set) var performed: [Step: Instant] = [:]
        /// The interface did not return after the driver was rebound: the chip may need a power cycle.
        package var needsPowerCycle = false

        package init() {}

        package mutating func setPerformed(_ step: Step, at moment: Instant) { performed[step] = moment }
    }

    package enum Effect: Sendable, Hashable {
        case perform(Step, Fault)
        /// The fault ended after this time and this number of steps.
        case cured(Fault, after: Duration, steps: Int)
    }

    private struct Case: Sendable {
        var fault: Fault
        let since: Instant
        /// Time of the next step; nil if it came during a hold.
        var next: Instant?
        var isOnHold = false
        var step: Step?
        var steps = 0
        /// Number of times that no step was left.
        var rounds = 0
        var isPerforming = false
    }

    package let reach: Reach
    private let excluded: Set<Step>
    package private(set) var state: PersistentState
    private var current: Case?

    /// - Parameter excluded: Steps that the device cannot take.
    package init(
        reach: Reach = .driver, excluding excluded: Set<Step> = [], state: PersistentState = PersistentState()
    ) {
        (self.reach, self.excluded, self.state) = (reach, excluded, state)
    }

    package var nextWake: Instant? { current?.next }

    package var fault: (Fault, since: Instant, step: Step?)? { current.map { ($0.fault, $0.since, $0.step) } }

    // MARK: Events

    /// - Parameters:
    ///   - isOnline: Whether the link still carries traffic, which allows longer waits.
    ///   - isOnHold: Whether the fault lasts, but no step may be taken now.
    package mutating func review(
        _ fault: Fault?, isOnline: Bool, isOnHold: Bool = false, at now: Instant
    ) -> [Effect] {
        guard reach != .none else { return [] }
        if fault != .missing { state.needsPowerCycle = false }
        guard let fault else {
            defer { current = nil }
            return current.map { [.cured($0.fault, after: now - $0.since, steps: $0.steps)] } ?? []
        }
        let end = now + fault.patience(isOnline: isOnline)
        var found = current ?? Case(fault: fault, since: now, next: end)
        // One fault can lead to another. The new fault gets its own time to end, and so does one after a hold.
        let isNew = fault != found.fault || found.isOnHold && !isOnHold
        if isNew && !found.isPerforming || found.next == nil && !isOnHold { found.next = max(found.next ?? now, end) }
        (found.fault, found.isOnHold) = (fault, isOnHold)
        if isOnHold, let next = found.next, next <= now { found.next = nil }
        current = found
        guard !isOnHold, let next = found.next, next <= now else { return [] }
        if found.step == .rebindDriver, fault == .missing { state.needsPowerCycle = true }
        return performNext(&found, at: now)
    }

    package mutating func ended(_ step: Step, at now: Instant) {
        guard let found = current, found.isPerforming, found.step == step else { return }
        current?.isPerforming = false
        current?.next = now + (found.fault.settling ?? step.settling)
    }

    private mutating func performNext(_ found: inout Case, at now: Instant) -> [Effect] {
        let steps = found.fault.steps.filter { step in
            reach.allows(step) && !excluded.contains(step) && !(step == .rebindDriver && state.needsPowerCycle)
        }
        let after = found.step.flatMap { last in Step.allCases.firstIndex(of: last) }
        let left = steps.filter { step in
            guard let after, let index = Step.allCases.firstIndex(of: step) else { return true }
            return index > after
        }
        if let step = left.first(where: { freeAt($0) <= now }) {
            state.setPerformed(step, at: now)
            (found.step, found.isPerforming) = (step, true)
            found.steps = min(found.steps, .max - 1) + 1
            found.next = now + Self.performanceLimit
            current = found
            return [.perform(step, found.fault)]
        }
        // Start over after a rest, when steps are allowed again.
        found.isPerforming = false
        found.step = nil
        let rest = found.fault.rest.wait(after: found.rounds)
        found.rounds = min(found.rounds, .max - 1) + 1
        found.next = max(now + rest, steps.map(freeAt).min() ?? now + rest)
        current = found
        return []
    }

    private func freeAt(_ step: Step) -> Instant {
        state.performed[step].map { $0 + step.interval } ?? Instant(milliseconds: .min / 2)
    }

    /// Time limit of a step.
    private static let performanceLimit = Duration.seconds(60)
}

extension RecoverySteps.Fault {
    /// Time for the fault to end without a step.
    fileprivate func patience(isOnline: Bool) -> Duration {
        switch self {
        case .scansRefused: isOnline ? .seconds(600) : .seconds(60)
        case .mute: isOnline ? .seconds(60) : .seconds(20)
        case .joinsFail: .zero
        case .missing: .seconds(30)
        case .carriesNothing: .seconds(60)
        }
    }

    /// Time for a step to take effect; nil if it depends on the step alone.
    fileprivate var settling: Duration? { self == .carriesNothing ? .seconds(120) : nil }

    /// Rest after the last step.
    fileprivate var rest: BackOff {
        BackOff(first: self == .carriesNothing ? .seconds(300) : .seconds(3600), last: .seconds(3600))
    }

    fileprivate var steps: [RecoverySteps.Step] {
        switch self {
        case .scansRefused:
            [.abort, .disconnect, .cycleInterface, .restartSupplicant, .rebindDriver, .tellOwner, .reboot]
        case .mute: [.cycleInterface, .rebindDriver, .tellOwner, .reboot]
        case .joinsFail: [.disconnect, .cycleInterface, .restartSupplicant, .rebindDriver, .tellOwner, .reboot]
        case .missing: [.rebindDriver, .tellOwner, .reboot]
        // Mostly the network is to blame, so the rest of the device stays as it is.
        case .carriesNothing: [.renewAddress, .reassociate, .cycleInterface, .tellOwner]
        }
    }

    package var words: String {
        switch self {
        case .scansRefused: "it refuses scans"
        case .mute: "its firmware does not answer"
        case .joinsFail: "it cannot join any access point in range"
        case .missing: "its interface is gone"
        case .carriesNothing: "nothing gets through"
        }
    }

    /// Part that has the fault.
    package var part: String { self == .carriesNothing ? "link" : "radio" }
}

extension RecoverySteps.Step {
    /// Time for a step to take effect.
    fileprivate var settling: Duration {
        switch self {
        case .abort, .disconnect, .renewAddress, .reassociate: .seconds(5)
        case .cycleInterface: .seconds(15)
        case .restartSupplicant: .seconds(20)
        case .rebindDriver: .seconds(30)
        case .tellOwner: .seconds(600)
        case .reboot: .seconds(600)
        }
    }

    /// Minimum interval between two steps of this kind.
    package var interval: Duration {
        switch self {
        case .abort: .seconds(30)
        case .disconnect: .seconds(60)
        case .renewAddress, .reassociate, .cycleInterface: .seconds(300)
        case .restartSupplicant: .seconds(900)
        case .rebindDriver: .seconds(3600)
        case .tellOwner: .seconds(21_600)
        case .reboot: .seconds(86_400)
        }
    }

    /// Whether the step must be remembered across a restart.
    var isToBeRemembered: Bool {
        switch self {
        case .abort, .disconnect, .renewAddress, .reassociate: false
        case .cycleInterface, .restartSupplicant, .rebindDriver, .tellOwner, .reboot: true
        }
    }

    package var words: String {
        switch self {
        case .abort: "aborting its scan"
        case .disconnect: "ending its join"
        case .renewAddress: "asking gateway and DHCP server about the address"
        case .reassociate: "joining the network again"
        case .cycleInterface: "setting its interface down and up"
        case .restartSupplicant: "restarting wpa_supplicant"
        case .rebindDriver: "rebinding its driver"
        case .tellOwner: "nothing has helped"
        case .reboot: "rebooting the device"
        }
    }
}
