import AgentModel

/// A commanded switch: the device scans first, joins only what it sees, and on failure goes back to where it was.
struct Command: Sendable, Hashable {
    let id: UInt64
    let network: NetworkID
    let cameFrom: NetworkID?
    /// When it was given. A living link is left only for what was seen since.
    let since: Instant
    private(set) var lookedAtKnownPlaces = false
    private(set) var lookedEverywhere = false
    var joins: Int

    init(id: UInt64, network: NetworkID, cameFrom: NetworkID?, since: Instant, joins: Int = 0) {
        self.id = id
        self.network = network
        self.cameFrom = cameFrom
        self.since = since
        self.joins = joins
    }

    private(set) var failedScans = 0

    mutating func looked(everywhere: Bool, isComplete: Bool) {
        guard isComplete else {
            failedScans += 1
            return
        }
        if everywhere { lookedEverywhere = true } else { lookedAtKnownPlaces = true }
    }
}

extension FailoverPolicy {
    private static let maximumFailedScans = 3

    mutating func begin(_ network: NetworkID, id: UInt64, at now: Instant) {
        guard command == nil else {
            actions.append(.switchProgress(id: id, .failed(.rejected)))
            return
        }
        actions.append(.switchProgress(id: id, .accepted))
        guard current != network else {
            actions.append(.switchProgress(id: id, .committed))
            return
        }
        if let attempt, attempt.network == network {
            follow(attempt, id: id, at: now)
            return
        }
        // What was being joined meanwhile was nobody's wish: the command replaces it.
        let cameFrom = current ?? attempt?.network
        command = Command(id: id, network: network, cameFrom: cameFrom, since: now)
        guard self.network(network) != nil else {
            abandonCommand(.notFound)
            return
        }
        lookForCommanded(at: now)
    }

    /// When a command is given up that came before the device was ready for it; nil where it is ready.
    var patienceEnd: Instant? { isReady ? nil : command.map { $0.since + settings.commandPatience } }

    /// The device was not ready in time.
    mutating func losePatience() { abandonCommand(isInterfaceUp ? .supplicantUnavailable : .interfaceDown) }

    /// The network is being joined already: that join becomes the commanded one.
    private mutating func follow(_ attempt: Attempt, id: UInt64, at now: Instant) {
        var attempt = attempt
        attempt.purpose = .commanded
        command = Command(id: id, network: attempt.network, cameFrom: nil, since: now, joins: 1)
        actions.append(.switchProgress(id: id, .joining))
        if case .waitingForAddress(_, let accessPoint) = phase {
            phase = .waitingForAddress(attempt, accessPoint)
            actions.append(.switchProgress(id: id, .waitingForAddress))
        } else {
            phase = .joining(attempt)
        }
    }

    /// Takes the next step of a commanded switch that is not joining yet.
    mutating func lookForCommanded(at now: Instant) {
        guard let command, isReady, !isJoiningForCommand else { return }
        if sight(of: command.network, at: now, since: current == nil ? nil : command.since) != nil {
            self.command?.joins += 1
            join(command.network, purpose: .commanded, cause: .commanded, at: now)
            return
        }
        guard scan == nil else { return }
        // A scan that was cut short says nothing about what is not there.
        guard command.failedScans < Self.maximumFailedScans else {
            abandonCommand(.timeout)
            proceed(at: now)
            return
        }
        let places = air.places(of: command.network)
        if !places.isEmpty, !command.lookedAtKnownPlaces, !command.lookedEverywhere {
            orderScan(places, reason: .commanded, at: now)
        } else if !command.lookedEverywhere {
            orderScan([], reason: .commanded, at: now)
        } else {
            abandonCommand(.notFound)
            proceed(at: now)
        }
    }

    private var isJoiningForCommand: Bool {
        switch attempt?.purpose {
        case .commanded, .rollback: true
        case .automatic, nil: false
        }
    }

    mutating func commandedJoinFailed(_ failure: JoinFailure, at now: Instant) {
        guard let command else { return }
        // One failed handshake may be lost frames. Two are a wrong password.
        if failure == .wrongKey, command.joins < settings.wrongKeyStrikes {
            self.command?.joins += 1
            join(command.network, purpose: .commanded, cause: .retry, at: now)
        } else if let cameFrom = command.cameFrom, network(cameFrom) != nil, isReady {
            join(cameFrom, purpose: .rollback(failure), cause: .rollback, at: now)
        } else {
            endCommand(.failed(failure))
        }
    }

    mutating func finishCommand(after attempt: Attempt, at now: Instant) {
        switch attempt.purpose {
        case .commanded:
            // Where there is one network only, it was no choice.
            if networks.count > 1 { held = (attempt.network, now + settings.stayAfterCommand) }
            endCommand(.committed)
        case .rollback(let failure): endCommand(.rolledBack(failure))
        case .automatic: break
        }
    }

    /// Ends a commanded switch before anything was joined for it: the link was never left, if there was one.
    mutating func abandonCommand(_ failure: JoinFailure) {
        guard let command else { return }
        let isWhereItWas = current != nil && current == command.cameFrom
        endCommand(isWhereItWas ? .rolledBack(failure) : .failed(failure))
    }

    mutating func endCommand(_ phase: SwitchProgress) {
        guard let command else { return }
        self.command = nil
        actions.append(.switchProgress(id: command.id, phase))
    }
}
