import AgentModel

/// The network that a command has chosen.
struct Choice: Hashable, Sendable {
    let network: NetworkID
    /// Until then the network is not left for being weak.
    let heldUntil: Instant
}

/// A commanded switch: the device scans first, joins only what it sees, and on failure goes back to where it was.
struct Command: Sendable, Hashable {
    let id: UInt64
    let mission: Mission
    /// The network that the device is to go to now.
    let destination: NetworkID
    let cameFrom: NetworkID?
    /// When it was given. A living link is left only for what was seen since.
    let since: Instant
    /// The app has so long to confirm it over the new network; nil if it need not.
    let confirmWithin: Duration?
    /// The device only visits the network.
    let isVisit: Bool
    /// The visit that the command ends, which goes on if the device comes back from it.
    let leaving: Choice?
    private(set) var scannedKnownPlaces = false
    private(set) var scannedEverywhere = false
    private(set) var failedScans = 0
    /// By when it has to be proven and confirmed, whatever happens meanwhile.
    private(set) var validationEnd: Instant?
    private var hasBeenGranted = false
    var joins: Int

    enum Mission: Sendable, Hashable {
        case go
        /// The switch has failed, and the device is on its way back.
        case comeBack(JoinFailure)
    }

    init(
        id: UInt64, _ mission: Mission = .go, to destination: NetworkID, cameFrom: NetworkID?, since: Instant,
        confirmWithin: Duration? = nil, isVisit: Bool = false, leaving: Choice? = nil, joins: Int = 0
    ) {
        self.id = id
        self.mission = mission
        self.destination = destination
        self.cameFrom = cameFrom
        self.since = since
        self.confirmWithin = confirmWithin
        self.isVisit = isVisit
        self.leaving = leaving
        self.joins = joins
    }

    /// - Returns: the earlier of the two.
    mutating func limitValidation(to moment: Instant) -> Instant {
        let earlier = min(validationEnd ?? moment, moment)
        validationEnd = earlier
        return earlier
    }

    /// Signing in takes its time, and the command has it once.
    /// - Returns: the deadline that it is worth.
    mutating func grant(_ time: Duration, until moment: Instant) -> Instant {
        if !hasBeenGranted {
            hasBeenGranted = true
            validationEnd = validationEnd.map { $0 + time }
        }
        return min(validationEnd ?? moment, moment)
    }

    /// - Parameter wasSeen: the network. An observation from the beginning of a scan of all channels may be old by its
    ///   end, and is worth another scan.
    mutating func scanned(everywhere: Bool, isComplete: Bool, wasSeen: Bool) {
        guard isComplete else {
            failedScans += 1
            return
        }
        if everywhere { scannedEverywhere = true }
        scannedKnownPlaces = !everywhere || !wasSeen
    }
}

// A commanded switch, from its acceptance to its one outcome.
extension FailoverPolicy {
    private static let maximumFailedScans = 3
    private static let maximumJoins = 4

    mutating func begin(
        _ network: NetworkID, id: UInt64, confirmWithin: Duration?, joinOnce isVisit: Bool, at now: Instant,
        _ actions: inout [PolicyAction]
    ) {
        guard command == nil else {
            end(id, .failed(.rejected), &actions)
            return
        }
        actions.append(.switchProgress(id: id, .accepted))
        let isUnderWay = attempt?.network == network || successor?.network == network
        // A join under way was not commanded: the command replaces it, or takes it over.
        if !isUnderWay { giveUpSuccessor(&actions) }
        guard current != network else {
            choose(network, isVisit: isVisit, at: now)
            end(id, .committed, &actions)
            return
        }
        let cameFrom = current ?? (isUnderWay ? nil : attempt?.network)
        command = Command(
            id: id, to: network, cameFrom: cameFrom, since: now, confirmWithin: confirmWithin, isVisit: isVisit,
            leaving: visit, joins: isUnderWay ? 1 : 0)
        if isUnderWay {
            happen(.commanded, to: successor == nil ? .inUse : .successor, at: now, &actions)
        } else if self.network(network) == nil {
            abandonCommand(.notFound, at: now, &actions)
        } else {
            pursueCommand(at: now, &actions)
        }
    }

    /// The agent was restarted in the middle of a switch, so the switch has failed: the device belongs back where it
    /// was.
    mutating func undo(
        _ id: UInt64, _ target: NetworkID?, cameFrom: NetworkID?, at now: Instant, _ actions: inout [PolicyAction]
    ) {
        guard command == nil else {
            end(id, .failed(.interrupted), &actions)
            return
        }
        guard let cameFrom, network(cameFrom) != nil, cameFrom != target else {
            end(id, .failed(.interrupted), &actions)
            return
        }
        guard current != cameFrom else {
            end(id, .rolledBack(.interrupted), &actions)
            return
        }
        giveUpSuccessor(&actions)
        command = Command(id: id, .comeBack(.interrupted), to: cameFrom, cameFrom: nil, since: now)
        if case .waitingForAddress(let attempt, _) = phase, attempt.network == cameFrom {
            happen(.rollback(.interrupted), to: .inUse, at: now, &actions)
        } else {
            pursueCommand(at: now, &actions)
        }
    }

    /// When a command is given up that came before the device was ready for it; nil if it is ready. A join under way
    /// for the command has a limit of its own, and a station of its own if it is made beside a link.
    var patienceEnd: Instant? {
        isReady || isJoiningForCommand ? nil : command.map { $0.since + settings.commandPatience }
    }

    /// The device was not ready in time.
    mutating func losePatience(at now: Instant, _ actions: inout [PolicyAction]) {
        abandonCommand(isInterfaceUp ? .supplicantUnavailable : .interfaceDown, at: now, &actions)
    }

    /// Takes the next step of a commanded switch that is not joining yet.
    mutating func pursueCommand(at now: Instant, _ actions: inout [PolicyAction]) {
        guard let command, isReady, !isJoiningForCommand else { return }
        if let bss = observation(of: command.destination, at: now, since: current == nil ? nil : command.since) {
            self.command?.joins += 1
            switch command.mission {
            case .go: join(command.destination, at: bss, purpose: .commanded, cause: .commanded, at: now, &actions)
            case .comeBack(let failure):
                join(command.destination, at: bss, purpose: .rollback(failure), cause: .rollback, at: now, &actions)
            }
            return
        }
        guard canScan else { return }
        // A scan that was cut short says nothing about what is not there.
        guard command.failedScans < Self.maximumFailedScans else {
            abandonCommand(.timeout, at: now, &actions)
            proceed(at: now, &actions)
            return
        }
        let places = scanCache.places(of: command.destination)
        if !places.isEmpty, !command.scannedKnownPlaces {
            orderScan(places, reason: .commanded, at: now, &actions)
        } else if !command.scannedEverywhere {
            orderScan([], reason: .commanded, at: now, &actions)
        } else {
            abandonCommand(refusal(of: command.destination, at: now)?.failure ?? .notFound, at: now, &actions)
            proceed(at: now, &actions)
        }
    }

    private var isJoiningForCommand: Bool {
        // The link in use may go over to another access point of its network meanwhile.
        [attempt, successor?.attempt].contains { attempt in
            switch attempt?.purpose {
            case .commanded, .rollback: true
            case .automatic, .standby, nil: false
            }
        }
    }

    mutating func confirmed(_ id: UInt64, at now: Instant, _ actions: inout [PolicyAction]) {
        guard command?.id == id else { return }
        happen(.confirmed, to: successor == nil ? .inUse : .successor, at: now, &actions)
    }

    mutating func commandedJoinFailed(_ failure: JoinFailure, at now: Instant, _ actions: inout [PolicyAction]) {
        guard let command else { return }
        // One failed handshake may be lost frames. Two are a wrong password.
        if failure == .wrongKey, command.joins < settings.wrongKeyStrikes {
            self.command?.joins += 1
            join(
                command.destination, at: observation(of: command.destination, at: now), purpose: .commanded,
                cause: .retry,
                at: now, &actions)
        } else if failure.isOfTheAccessPoint, failure != .wrongKey, command.joins < Self.maximumJoins,
            let other = observation(of: command.destination, at: now), isOpen(other, of: command.destination, at: now)
        {
            // Another access point of the network may take it.
            self.command?.joins += 1
            join(command.destination, at: other, purpose: .commanded, cause: .retry, at: now, &actions)
        } else if let current, current == command.cameFrom {
            // It was never left.
            endCommand(.rolledBack(failure), &actions)
        } else if let cameFrom = command.cameFrom, network(cameFrom) != nil, isReady {
            join(
                cameFrom, at: observation(of: cameFrom, at: now), purpose: .rollback(failure), cause: .rollback,
                at: now,
                &actions)
        } else {
            endCommand(.failed(failure), &actions)
        }
    }

    mutating func finishCommand(after attempt: Attempt, at now: Instant, _ actions: inout [PolicyAction]) {
        switch attempt.purpose {
        case .commanded:
            choose(attempt.network, isVisit: command?.isVisit ?? false, at: now)
            endCommand(.committed, &actions)
        case .rollback(let failure):
            visit = command?.leaving
            endCommand(.rolledBack(failure), &actions)
        case .automatic, .standby: break
        }
    }

    /// The device belongs there, until it leaves if it is a visit and else from now on, and stays for a while whatever
    /// the signal. With one network only, it was no choice.
    private mutating func choose(_ network: NetworkID, isVisit: Bool, at now: Instant) {
        let choice = Choice(network: network, heldUntil: networks.count > 1 ? now + settings.stayAfterCommand : now)
        if isVisit {
            visit = choice
        } else {
            visit = nil
            self.choice = choice
        }
    }

    /// Ends a commanded switch before anything was joined for it: the link was never left, if there was one.
    mutating func abandonCommand(_ failure: JoinFailure, at now: Instant, _ actions: inout [PolicyAction]) {
        guard let command else { return }
        switch command.mission {
        case .go:
            let isWhereItWas = current != nil && current == command.cameFrom
            endCommand(isWhereItWas ? .rolledBack(failure) : .failed(failure), &actions)
        case .comeBack(let reason): endCommand(.failed(reason), &actions)
        }
    }

    mutating func endCommand(_ outcome: SwitchProgress, _ actions: inout [PolicyAction]) {
        guard let command else { return }
        self.command = nil
        end(command.id, outcome, &actions)
    }

    private mutating func end(_ id: UInt64, _ outcome: SwitchProgress, _ actions: inout [PolicyAction]) {
        actions.append(.store(.switchEnded(id: id, isCommitted: outcome == .committed)))
        actions.append(.switchProgress(id: id, outcome))
    }
}
