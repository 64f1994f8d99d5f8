import AgentModel

/// The network that a command has chosen.
struct Choice: Hashable, Sendable {
    let network: NetworkID
    /// Time before which a weak signal does not make the device leave.
    let heldUntil: Instant
}

/// A commanded switch: the device scans first, joins only what it sees, and returns on failure.
struct Command: Sendable, Hashable {
    let id: UInt64
    var mission = Mission.go
    /// The network to join now.
    let destination: NetworkID
    let cameFrom: NetworkID?
    /// Time of the command. A living link is left only for access points seen since.
    let since: Instant
    /// Time for the app to confirm over the new network; nil if it need not.
    var confirmWithin: Duration?
    /// The device only visits the network.
    var isVisit = false
    /// The visit that the command ends. It goes on after a rollback.
    var leaving: Choice?
    var joins = 0
    private(set) var scannedKnownPlaces = false
    private(set) var scannedEverywhere = false
    private(set) var failedScans = 0
    /// Latest end of validation and confirmation.
    private(set) var validationEnd: Instant?
    private(set) var hasBeenGranted = false

    enum Mission: Sendable, Hashable {
        case go
        /// The switch has failed, and the device is on its way back.
        case comeBack(JoinFailure)
    }

    /// - Returns: the earliest limit so far.
    mutating func limitValidation(to moment: Instant) -> Instant {
        let earlier = min(validationEnd ?? moment, moment)
        validationEnd = earlier
        return earlier
    }

    /// Extends the limit once, for a sign-in or a postponed probe.
    /// - Returns: the new deadline.
    mutating func grant(_ time: Duration, until moment: Instant) -> Instant {
        if !hasBeenGranted {
            hasBeenGranted = true
            validationEnd = validationEnd.map { $0 + time }
        }
        return min(validationEnd ?? moment, moment)
    }

    /// - Parameter wasSeen: whether the scan saw the network. A scan of all channels may have seen it too long ago, so
    ///   its channels are scanned again.
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

    mutating func begin(_ network: NetworkID, id: UInt64, confirmWithin: Duration?, joinOnce isVisit: Bool) {
        guard command == nil else {
            end(id, .failed(.rejected))
            return
        }
        actions.append(.switchProgress(id: id, .accepted))
        let isUnderWay = attempt?.network == network || successor?.network == network
        // A join under way was not commanded: the command replaces it, or takes it over.
        if !isUnderWay { giveUpSuccessor() }
        guard current != network else {
            choose(network, isVisit: isVisit)
            end(id, .committed)
            return
        }
        let cameFrom = current ?? (isUnderWay ? nil : attempt?.network)
        command = Command(
            id: id, destination: network, cameFrom: cameFrom, since: now, confirmWithin: confirmWithin,
            isVisit: isVisit,
            leaving: visit, joins: isUnderWay ? 1 : 0)
        if isUnderWay {
            happen(.commanded, to: successor == nil ? .inUse : .successor)
        } else if self.network(network) == nil {
            abandonCommand(.notFound)
        } else {
            pursueCommand()
        }
    }

    /// Rolls back a switch that a restart of the agent interrupted.
    mutating func undo(_ id: UInt64, _ target: NetworkID?, cameFrom: NetworkID?) {
        guard command == nil else {
            end(id, .failed(.interrupted))
            return
        }
        guard let cameFrom, network(cameFrom) != nil, cameFrom != target else {
            end(id, .failed(.interrupted))
            return
        }
        guard current != cameFrom else {
            end(id, .rolledBack(.interrupted))
            return
        }
        giveUpSuccessor()
        command = Command(
            id: id, mission: .comeBack(.interrupted), destination: cameFrom, cameFrom: nil, since: now)
        if case .waitingForAddress(let attempt, _) = phase, attempt.network == cameFrom {
            happen(.rollback(.interrupted), to: .inUse)
        } else {
            pursueCommand()
        }
    }

    /// When a command is given up because the device is not ready; nil if it is. A join for the command has its own
    /// limit, and its own station if it is made beside a link.
    var patienceEnd: Instant? {
        isReady || isJoiningForCommand ? nil : command.map { $0.since + settings.commandPatience }
    }

    /// Gives up a command because the device was not ready in time.
    mutating func losePatience() {
        abandonCommand(isInterfaceUp ? .supplicantUnavailable : .interfaceDown)
    }

    /// Takes the next step of a commanded switch that is not joining yet.
    mutating func pursueCommand() {
        guard let command, isReady, !isJoiningForCommand else { return }
        if let bss = observation(of: command.destination, since: current == nil ? nil : command.since) {
            self.command?.joins += 1
            switch command.mission {
            case .go: join(command.destination, at: bss, purpose: .commanded, cause: .commanded)
            case .comeBack(let failure):
                join(command.destination, at: bss, purpose: .rollback(failure), cause: .rollback)
            }
            return
        }
        guard canScan else { return }
        // An incomplete scan does not prove absence.
        guard command.failedScans < Self.maximumFailedScans else {
            abandonCommand(.timeout)
            proceed()
            return
        }
        let places = scanCache.places(of: command.destination)
        if !places.isEmpty, !command.scannedKnownPlaces {
            orderScan(places, for: .command, as: .commanded)
        } else if !command.scannedEverywhere {
            orderScan([], for: .command, as: .commanded)
        } else {
            abandonCommand(refusal(of: command.destination, at: now)?.failure ?? .notFound)
            proceed()
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

    mutating func confirmed(_ id: UInt64) {
        guard command?.id == id else { return }
        happen(.confirmed, to: successor == nil ? .inUse : .successor)
    }

    mutating func commandedJoinFailed(_ failure: JoinFailure) {
        guard let command else { return }
        // One failed handshake may be lost frames. Two are a wrong password.
        if failure == .wrongKey, command.joins < settings.wrongKeyStrikes {
            self.command?.joins += 1
            join(command.destination, at: observation(of: command.destination), purpose: .commanded, cause: .retry)
        } else if failure.isOfTheAccessPoint, failure != .wrongKey, command.joins < Self.maximumJoins,
            let other = observation(of: command.destination), isOpen(other, of: command.destination, at: now)
        {
            // Another access point of the network may take it.
            self.command?.joins += 1
            join(command.destination, at: other, purpose: .commanded, cause: .retry)
        } else if let current, current == command.cameFrom {
            // The device never left.
            endCommand(.rolledBack(failure))
        } else if let cameFrom = command.cameFrom, network(cameFrom) != nil, isReady {
            join(cameFrom, at: observation(of: cameFrom), purpose: .rollback(failure), cause: .rollback)
        } else {
            endCommand(.failed(failure))
        }
    }

    mutating func finishCommand(after attempt: Attempt) {
        switch attempt.purpose {
        case .commanded:
            choose(attempt.network, isVisit: command?.isVisit ?? false)
            endCommand(.committed)
        case .rollback(let failure):
            visit = command?.leaving
            endCommand(.rolledBack(failure))
        case .automatic, .standby: break
        }
    }

    /// Makes a network the one that the device belongs in: for a visit until the device leaves, otherwise permanently.
    /// For a while a weak signal does not matter, unless it is the only network.
    private mutating func choose(_ network: NetworkID, isVisit: Bool) {
        let choice = Choice(network: network, heldUntil: networks.count > 1 ? now + settings.stayAfterCommand : now)
        if isVisit {
            visit = choice
        } else {
            visit = nil
            self.choice = choice
        }
    }

    /// Ends a commanded switch before its first join. A link in use was never left.
    mutating func abandonCommand(_ failure: JoinFailure) {
        guard let command else { return }
        switch command.mission {
        case .go:
            let isWhereItWas = current != nil && current == command.cameFrom
            endCommand(isWhereItWas ? .rolledBack(failure) : .failed(failure))
        case .comeBack(let reason): endCommand(.failed(reason))
        }
    }

    mutating func endCommand(_ outcome: SwitchProgress) {
        guard let command else { return }
        self.command = nil
        end(command.id, outcome)
    }

    private mutating func end(_ id: UInt64, _ outcome: SwitchProgress) {
        actions.append(.store(.switchEnded(id: id, isCommitted: outcome == .committed)))
        actions.append(.switchProgress(id: id, outcome))
    }
}
