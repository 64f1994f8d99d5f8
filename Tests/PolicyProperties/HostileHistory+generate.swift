import AgentModel
import Failover
import Randomness

/// The main subject of a history.
private enum Theme {
    case anything
    /// Another network is joined beside the link in use, and whatever can go wrong meanwhile does.
    case handover
}

extension HostileHistory {
    /// A history that was drawn and lived through, up to the first property that did not hold.
    package struct Drawn {
        package let history: HostileHistory
        package let violation: Violation?
        package let situations: Set<Situation>
        /// Time until the device was online in the calm that follows.
        package let longestOffline: Duration
    }

    /// A random history. The same seed gives the same.
    /// - Parameter length: in steps; nil for what is drawn. Most of what goes wrong at all goes wrong in few.
    package static func random(seed: UInt64, length: Int? = nil) -> Drawn {
        var random = SeededRandom(seed: seed)
        let drawnLength = random.chance(1, in: 8) ? 100 : Int.random(in: 15...40, using: &random)
        let theme = random.chance(1, in: 2) ? Theme.handover : .anything
        var settings = PolicySettings.random(using: &random)
        if theme == .handover, random.chance(1, in: 2) { settings.validation = settings.validation ?? .init() }
        if theme == .handover { settings.keepsStandby = random.chance(1, in: 2) }
        var run = HostileRun(settings: settings)
        var steps: [Step] = []
        var violation: Violation?
        do {
            for step in beginning(theme, using: &random) {
                steps.append(step)
                try run.perform(step)
            }
            while steps.count < length ?? drawnLength {
                let step = Step.random(theme, in: run, using: &random)
                steps.append(step)
                try run.perform(step)
            }
            try run.finish()
        } catch {
            violation = error
        }
        return Drawn(
            history: HostileHistory(steps: steps, settings: settings), violation: violation,
            situations: run.watched.situations, longestOffline: run.longestOffline)
    }

    /// Mostly a device that works, so that there is something to break.
    private static func beginning(_ theme: Theme, using random: inout SeededRandom) -> [Step] {
        if theme == .handover {
            return [
                Step(delay: 0, stimuli: [.networks([0, 1, 2, 3, 4], preferred: random.chance(1, in: 2) ? 0 : nil)]),
                Step(delay: 0, stimuli: [.interface(true), .supplicant(true), .spare(true), .linkFound(0)]),
                Step(delay: 0, stimuli: [.address(true)]),
            ]
        }
        var stimuli: [Stimulus] = [.networks(Array(0..<Int.random(in: 1...5, using: &random)), preferred: 0)]
        if random.chance(1, in: 8) {
            stimuli.append(.interrupted(target: 1, cameFrom: random.chance(1, in: 2) ? 0 : nil))
        }
        if random.chance(1, in: 4) { stimuli.append(.remembered(0, Neighbourhood.frequencies[0])) }
        if random.chance(1, in: 8) { stimuli.append(.linkFound(1)) }
        if random.chance(7, in: 8) { stimuli += [.interface(true), .supplicant(true)] }
        if random.chance(1, in: 2) { stimuli.append(.spare(true)) }
        return [Step(delay: 0, stimuli: stimuli)]
    }
}

extension PolicySettings {
    package static func random(using random: inout SeededRandom) -> PolicySettings {
        var settings = PolicySettings()
        if random.chance(1, in: 2) { settings.validation = Validation() }
        return settings
    }
}

extension Step {
    fileprivate static func random(
        _ theme: Theme, in run: HostileRun, using random: inout SeededRandom
    ) -> Step {
        let policy = run.watched.policy
        let count = random.chance(1, in: 5) ? Int.random(in: 2...5, using: &random) : 1
        var stimuli: [Stimulus] = []
        for _ in 0..<count {
            let isOnTheme = theme == .handover && random.chance(1, in: 2)
            let stimulus =
                isOnTheme
                ? Stimulus.handover(after: policy, using: &random) : Stimulus.random(after: policy, using: &random)
            // One source tells of one state at a time.
            guard !stimuli.contains(where: { $0.isOfTheSameSource(as: stimulus) }) else { continue }
            stimuli.append(stimulus)
        }
        // At the moment that the policy waits for, or just beside it: then what is due is late if nothing wakes it.
        if random.chance(1, in: 8), let wake = policy.nextWake {
            let delay = (wake - run.now).milliseconds + Int64(Int.random(in: -1...1, using: &random))
            return Step(delay: Int(delay), isPunctual: random.chance(1, in: 2), stimuli: stimuli)
        }
        return Step(delay: delay(using: &random), isPunctual: !random.chance(1, in: 16), stimuli: stimuli)
    }

    private static func delay(using random: inout SeededRandom) -> Int {
        switch Int.random(in: 0..<64, using: &random) {
        case 0...11: 0
        case 12...25: Int.random(in: 1...500, using: &random)
        case 26...50: Int.random(in: 500...5000, using: &random)
        case 51...60: Int.random(in: 5000...60_000, using: &random)
        case 61: Int.random(in: 60_000...3_600_000, using: &random)
        // Days forward, and back.
        case 62: Int.random(in: 3_600_000...864_000_000, using: &random)
        default: -Int.random(in: 1...100_000, using: &random)
        }
    }
}

extension Stimulus {
    fileprivate func isOfTheSameSource(as other: Stimulus) -> Bool {
        switch (self, other) {
        case (.networks, .networks), (.interface, .interface), (.supplicant, .supplicant), (.address, .address),
            (.spare, .spare), (.successorAddress, .successorAddress), (.otherUplink, .otherUplink), (.signal, .signal),
            (.scanned, .scanned), (.linkFound, .linkFound), (.settings, .settings),
            (.associated, .associated), (.interrupted, .interrupted), (.remembered, .remembered):
            true
        default: self == other
        }
    }

    /// An event that the policy waits for, more often than another.
    static func random(after policy: FailoverPolicy, using random: inout SeededRandom) -> Stimulus {
        if random.chance(1, in: 2) {
            let index = policy.phase.network.map { $0.rawValue % Neighbourhood.networkCount }
            let accessPoint = (index ?? 0) + (random.chance(1, in: 3) ? Neighbourhood.networkCount : 0)
            switch random.chance(1, in: 2) ? policy.successor ?? policy.phase : policy.phase {
            case .offline: return .scanned(.latest, observations(using: &random))
            case .joining: return .associated(.latest, accessPoint: accessPoint)
            case .waitingForAddress:
                return policy.successor == nil ? .address(true) : .successorAddress(.latest, true)
            case .validating:
                return random.chance(1, in: 2)
                    ? .probed(.latest, random.chance(2, in: 3) ? .online : random.element(ProbeResult.allCases))
                    : random.chance(1, in: 4) ? .signingIn(.latest, signInTime(using: &random)) : .confirmed(.latest)
            case .online:
                switch Int.random(in: 0..<6, using: &random) {
                case 0: return .scanned(.latest, observations(using: &random))
                case 1: return .probed(.latest, random.element(ProbeResult.allCases))
                case 2: return .doubted(.latest)
                case 3 where random.chance(1, in: 4): return .signingIn(.latest, signInTime(using: &random))
                case 3 where random.chance(1, in: 3): return .postponed(.latest, signInTime(using: &random))
                default: return .signal(random.chance(2, in: 3) ? -84 : -60)
                }
            }
        }
        return anything(using: &random)
    }

    /// Events that lead to another link beside the one in use, and those in its way.
    fileprivate static func handover(after policy: FailoverPolicy, using random: inout SeededRandom) -> Stimulus {
        let network = Int.random(in: 0..<Neighbourhood.networkCount, using: &random)
        guard policy.successor != nil else {
            switch policy.phase {
            case .online:
                switch Int.random(in: 0..<10, using: &random) {
                case 0: return .spare(true)
                case 1...3:
                    return .switchTo(
                        network, confirmWithin: random.chance(1, in: 3) ? 20 : nil, joinOnce: random.chance(1, in: 4))
                case 4: return .signal(-84)
                default: return .scanned(.latest, everything(using: &random))
                }
            case .offline: return .scanned(.latest, everything(using: &random))
            case .joining, .waitingForAddress, .validating: return .random(after: policy, using: &random)
            }
        }
        if policy.settings.keepsStandby, random.chance(1, in: 2),
            let next = step(towards: policy.successor, using: &random)
        {
            return next
        }
        switch Int.random(in: 0..<24, using: &random) {
        case 0...2: return .supplicant(random.chance(1, in: 4))
        case 3...4: return .interface(random.chance(1, in: 4))
        case 5...7: return .address(random.chance(1, in: 4))
        case 8: return .linkLost(random.element(LinkEnd.allCases))
        case 9: return .successorLost(.latest)
        case 10: return .spare(random.chance(1, in: 2))
        case 11...12: return .settings(random.element(SettingsVariant.allCases))
        case 13...14: return .switchTo(network, confirmWithin: random.chance(1, in: 2) ? 20 : nil)
        case 15: return .resumed
        case 16: return .otherUplink(random.chance(1, in: 2) ? .wired : nil)
        case 17: return .doubted(answer(using: &random))
        case 18: return .probed(.previous, random.element(ProbeResult.allCases))
        case 19: return .signingIn(answer(using: &random), signInTime(using: &random))
        case 20: return .joinFailed(.latest, random.element(JoinFailure.allCases))
        case 21: return .successorAddress(.latest, random.chance(1, in: 2))
        case 22: return .interrupted(target: network, cameFrom: 0)
        default: return .tick
        }
    }

    /// The next event on the way of a link that is to stand by, and what it stands by for.
    private static func step(
        towards successor: FailoverPolicy.Phase?, using random: inout SeededRandom
    ) -> Stimulus? {
        switch successor {
        case .joining:
            .associated(.latest, accessPoint: Int.random(in: 0..<Neighbourhood.accessPointCount, using: &random))
        case .waitingForAddress: .successorAddress(.latest, true)
        case .validating: .probed(.latest, .online)
        case .online: random.chance(1, in: 2) ? .linkLost(random.element(LinkEnd.allCases)) : nil
        case .offline, nil: nil
        }
    }

    /// Every access point, so that whatever is wanted is there.
    private static func everything(using random: inout SeededRandom) -> [Observation] {
        (0..<Neighbourhood.accessPointCount).map {
            Observation(accessPoint: $0, signal: Int.random(in: -70 ... -40, using: &random))
        }
    }

    private static func anything(using random: inout SeededRandom) -> Stimulus {
        let network = Int.random(in: 0..<Neighbourhood.networkCount, using: &random)
        let accessPoint = Int.random(in: 0..<Neighbourhood.accessPointCount, using: &random)
        switch Int.random(in: 0..<50, using: &random) {
        case 0...1:
            let indices = (0..<Neighbourhood.networkCount).filter { _ in random.chance(3, in: 4) }
            return .networks(
                indices.shuffled(using: &random), preferred: random.chance(1, in: 8) ? nil : indices.first,
                generation: random.chance(1, in: 4) ? 1 : 0)
        case 2:
            return random.chance(1, in: 2)
                ? .remembered(network, random.element(Neighbourhood.frequencies))
                : .settings(random.element(SettingsVariant.allCases))
        case 3...4: return .interface(random.chance(3, in: 4))
        case 5...6: return .supplicant(random.chance(3, in: 4))
        case 7: return .otherUplink(random.chance(1, in: 3) ? .wired : nil)
        case 8: return .linkFound(accessPoint)
        case 9:
            guard random.chance(1, in: 4) else { return .resumed }
            return .interrupted(target: network, cameFrom: random.chance(1, in: 2) ? 0 : nil)
        case 10...17: return .scanned(answer(using: &random), observations(using: &random))
        case 18: return .scanFailed(answer(using: &random))
        case 19: return .scanRefused(answer(using: &random), joinsUnseen: random.chance(3, in: 4))
        case 20...23: return .associated(answer(using: &random), accessPoint: accessPoint)
        case 24...26: return .joinFailed(answer(using: &random), random.element(JoinFailure.allCases))
        case 27...28: return .linkLost(random.element(LinkEnd.allCases))
        case 29...30: return .address(random.chance(1, in: 2))
        case 31...35: return .signal(Int.random(in: -95 ... -30, using: &random))
        case 36...37: return .probed(answer(using: &random), random.element(ProbeResult.allCases))
        case 38: return .doubted(answer(using: &random))
        case 39:
            let time = signInTime(using: &random)
            return random.chance(1, in: 2)
                ? .signingIn(answer(using: &random), time) : .postponed(answer(using: &random), time)
        case 40...43:
            return .switchTo(
                network, confirmWithin: random.chance(1, in: 3) ? Int.random(in: 0...120, using: &random) : nil,
                joinOnce: random.chance(1, in: 3))
        case 44: return .confirmed(answer(using: &random))
        case 45: return .resumed
        case 46: return .tick
        case 47:
            return random.chance(1, in: 2) ? .spare(random.chance(3, in: 4)) : .successorLost(answer(using: &random))
        case 48: return .successorAddress(answer(using: &random), random.chance(1, in: 2))
        default: return random.chance(1, in: 16) ? .stop : .tick
        }
    }

    private static func signInTime(using random: inout SeededRandom) -> Int {
        random.chance(1, in: 8)
            ? Int.random(in: -1000...864_000_000, using: &random)
            : Int.random(in: 0...120_000, using: &random)
    }

    private static func answer(using random: inout SeededRandom) -> Answer {
        random.chance(3, in: 4) ? .latest : random.element(Answer.allCases)
    }

    private static func observations(using random: inout SeededRandom) -> [Observation] {
        (0..<Neighbourhood.accessPointCount).compactMap { index in
            guard random.chance(1, in: 2) else { return nil }
            return Observation(
                accessPoint: index, signal: Int.random(in: -95 ... -30, using: &random),
                age: random.chance(1, in: 4) ? Int.random(in: -5000...60_000, using: &random) : 0,
                isEvilTwin: random.chance(1, in: 16))
        }
    }
}

extension SeededRandom {
    mutating func chance(_ part: Int, in whole: Int) -> Bool { Int.random(in: 0..<whole, using: &self) < part }

    mutating func element<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &self)]
    }
}
