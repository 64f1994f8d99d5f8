import AgentModel

/// What is done about a radio that does not work, step by step, from what costs nothing to what costs most.
///
/// ```
/// no fault -> waiting(patience of the fault) -> step -> waiting(time for it to help) -> next step -> ...
///    ^                                                                                      |
///    +---- the fault has gone -----------------------------------------------  told, resting (an hour at least)
/// ```
///
/// A value that decides: which fault there is goes in, which step is to be taken comes out. Each step has a shortest time
/// from one to the next of its kind, over all faults and over restarts of the agent (`Memory`): a step that was taken so
/// lately is passed over, and where none is left the ladder rests. So it is never a loop, whatever the radio does.
package struct RecoveryLadder: Sendable {
    package enum Fault: String, Sendable, Hashable, CaseIterable, Codable {
        /// The radio refuses all scans, or does not end them.
        case scansRefused
        /// Its firmware answers no command, though data may flow.
        case mute
        /// Access points are seen, and none can be joined.
        case joinsFail
        /// The interface was there and is not any more.
        case missing
    }

    /// In the order in which they are taken.
    package enum Step: String, Sendable, Hashable, CaseIterable, Codable {
        /// End what scan is under way, and wait.
        case abort
        /// End the join or the link.
        case disconnect
        /// Set the interface down and up.
        case cycleInterface
        /// Have wpa_supplicant start anew.
        case restartSupplicant
        /// Take the driver off the device, and bind it again.
        case rebindDriver
        /// Tell the owner that nothing has helped.
        case tellOwner
        case reboot
    }

    /// How far it may go.
    package enum Reach: String, Sendable, Hashable, CaseIterable, Codable {
        case none
        case interface
        case driver
        case reboot

        func allows(_ step: Step) -> Bool {
            switch step {
            case .abort, .disconnect, .cycleInterface, .restartSupplicant: self != .none
            case .tellOwner: true
            case .rebindDriver: self == .driver || self == .reboot
            case .reboot: self == .reboot
            }
        }
    }

    /// What outlives the agent.
    package struct Memory: Sendable, Hashable {
        /// When each step was taken last.
        package private(set) var taken: [Step: Instant] = [:]
        /// The interface has not come back after the driver was bound anew: the chip may need to be without power.
        package var needsPowerCycle = false

        package init() {}

        package mutating func setTaken(_ step: Step, at moment: Instant) { taken[step] = moment }
    }

    package enum Output: Sendable, Hashable {
        case perform(Step, Fault)
        /// The fault is over, after that time, and after these steps.
        case cured(Fault, after: Duration, steps: Int)
    }

    private struct Case: Sendable {
        var fault: Fault
        let since: Instant
        /// When the next step is taken.
        var next: Instant
        /// The last step that was taken for it.
        var step: Step?
        var steps = 0
        /// It has not ended yet.
        var isPerforming = false
    }

    package let reach: Reach
    package private(set) var memory: Memory
    private var current: Case?

    package init(reach: Reach = .driver, memory: Memory = Memory()) { (self.reach, self.memory) = (reach, memory) }

    /// When it is to be reviewed next, at the latest.
    package var nextWake: Instant? { current?.next }

    /// The fault that there is, since when, and the last step that was taken for it.
    package var fault: (Fault, since: Instant, step: Step?)? { current.map { ($0.fault, $0.since, $0.step) } }

    // MARK: Events

    /// - Parameters:
    ///   - fault: the one that there is now.
    ///   - isOnline: whether the link carries traffic all the same, so that there is time.
    package mutating func review(_ fault: Fault?, isOnline: Bool, at now: Instant) -> [Output] {
        guard reach != .none else { return [] }
        if fault != .missing { memory.needsPowerCycle = false }
        guard let fault else {
            defer { current = nil }
            return current.map { [.cured($0.fault, after: now - $0.since, steps: $0.steps)] } ?? []
        }
        guard var found = current else {
            var found = Case(fault: fault, since: now, next: now + fault.patience(isOnline: isOnline))
            current = found
            return found.next <= now ? take(&found, at: now) : []
        }
        if fault != found.fault {
            // One leads to another. A radio that has gone is waited for: it may be on its way back.
            found.fault = fault
            if !found.isPerforming { found.next = max(found.next, now + fault.patience(isOnline: isOnline)) }
            current = found
        }
        guard found.next <= now else { return [] }
        if found.step == .rebindDriver, fault == .missing { memory.needsPowerCycle = true }
        return take(&found, at: now)
    }

    /// A step has been carried out, or could not be.
    package mutating func ended(_ step: Step, at now: Instant) {
        guard let found = current, found.isPerforming, found.step == step else { return }
        current?.isPerforming = false
        current?.next = now + step.settling
    }

    private mutating func take(_ found: inout Case, at now: Instant) -> [Output] {
        let steps = found.fault.steps.filter { step in
            reach.allows(step) && !(step == .rebindDriver && memory.needsPowerCycle)
        }
        let after = found.step.flatMap { last in Step.allCases.firstIndex(of: last) }
        let left = steps.filter { step in
            guard let after, let index = Step.allCases.firstIndex(of: step) else { return true }
            return index > after
        }
        if let step = left.first(where: { freeAt($0) <= now }) {
            memory.setTaken(step, at: now)
            (found.step, found.isPerforming) = (step, true)
            found.steps = min(found.steps, .max - 1) + 1
            found.next = now + Self.performanceLimit
            current = found
            return [.perform(step, found.fault)]
        }
        // From the beginning, when that is allowed again, and not soon.
        found.isPerforming = false
        found.step = nil
        found.next = max(now + Self.rest, steps.map(freeAt).min() ?? now + Self.rest)
        current = found
        return []
    }

    private func freeAt(_ step: Step) -> Instant {
        memory.taken[step].map { $0 + step.interval } ?? Instant(milliseconds: .min / 2)
    }

    /// A step that has not ended by then is one that did not help.
    private static let performanceLimit = Duration.seconds(60)
    private static let rest = Duration.seconds(3600)
}

extension RecoveryLadder.Fault {
    /// It may end by itself.
    fileprivate func patience(isOnline: Bool) -> Duration {
        switch self {
        case .scansRefused: isOnline ? .seconds(600) : .seconds(60)
        case .mute: isOnline ? .seconds(60) : .seconds(20)
        case .joinsFail: .zero
        case .missing: .seconds(30)
        }
    }

    /// Those that can help.
    fileprivate var steps: [RecoveryLadder.Step] {
        switch self {
        case .scansRefused: RecoveryLadder.Step.allCases
        case .mute: [.cycleInterface, .rebindDriver, .tellOwner, .reboot]
        case .joinsFail: [.disconnect, .cycleInterface, .restartSupplicant, .rebindDriver, .tellOwner, .reboot]
        case .missing: [.rebindDriver, .tellOwner, .reboot]
        }
    }

    package var words: String {
        switch self {
        case .scansRefused: "it refuses scans"
        case .mute: "its firmware does not answer"
        case .joinsFail: "it joins none of the access points that it sees"
        case .missing: "its interface has gone"
        }
    }
}

extension RecoveryLadder.Step {
    /// The time for it to help.
    fileprivate var settling: Duration {
        switch self {
        case .abort, .disconnect: .seconds(5)
        case .cycleInterface: .seconds(15)
        case .restartSupplicant: .seconds(20)
        case .rebindDriver: .seconds(30)
        case .tellOwner: .seconds(600)
        case .reboot: .seconds(600)
        }
    }

    /// From one to the next of its kind, at the least.
    package var interval: Duration {
        switch self {
        case .abort: .seconds(30)
        case .disconnect: .seconds(60)
        case .cycleInterface: .seconds(300)
        case .restartSupplicant: .seconds(900)
        case .rebindDriver: .seconds(3600)
        case .tellOwner: .seconds(21_600)
        case .reboot: .seconds(86_400)
        }
    }

    /// Whether it has to be known after a restart of the agent that it was taken.
    var isToBeRemembered: Bool {
        switch self {
        case .abort, .disconnect: false
        case .cycleInterface, .restartSupplicant, .rebindDriver, .tellOwner, .reboot: true
        }
    }

    package var words: String {
        switch self {
        case .abort: "its scan is ended"
        case .disconnect: "what it joins is ended"
        case .cycleInterface: "its interface is set down and up"
        case .restartSupplicant: "wpa_supplicant is started anew"
        case .rebindDriver: "its driver is bound anew"
        case .tellOwner: "nothing has helped"
        case .reboot: "the device is rebooted"
        }
    }
}
