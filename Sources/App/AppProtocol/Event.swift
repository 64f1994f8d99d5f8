/// Something that happened on the device.
public struct Event: Sendable, Equatable {
    /// Counts events from 1 within one run of the agent.
    public let seq: Int
    public let time: Timestamp
    public let body: Body

    public init(seq: Int, time: Timestamp, body: Body) {
        self.seq = seq
        self.time = time
        self.body = body
    }

    /// Kept in its place is only where it is: the cases differ much in size, and many events are kept.
    public indirect enum Body: Sendable, Equatable {
        case networkChanged(NetworkStatus)
        case signal(SignalReading)
        case scanFinished(ScanFinished)
        case backupsChanged(BackupList)
        case switchProgress(SwitchStatus)
        case decision(Decision)
        case targetChanged(TargetStatus)
        case portalRequest(PortalRequest)
        case portalEnded(PortalEnded)
        /// Events are missing before the next one. Its `seq` is that of the last one missed.
        case gap(Gap)
    }
}

extension Event.Body {
    /// The `event` of the line.
    public var name: String {
        switch self {
        case .networkChanged: "network.changed"
        case .signal: "signal"
        case .scanFinished: "scan.finished"
        case .backupsChanged: "backups.changed"
        case .switchProgress: "switch.progress"
        case .decision: "decision"
        case .targetChanged: "target.changed"
        case .portalRequest: "portal.request"
        case .portalEnded: "portal.ended"
        case .gap: "gap"
        }
    }
}

/// Which events a subscriber did not get, so that it reads the state anew instead of trusting what it has.
public struct Gap: Sendable, Equatable, Codable {
    public let reason: Reason
    /// How many are missing in this run of the agent. How many the run before had after the last one known, nobody knows.
    public let missed: Int

    public init(reason: Reason, missed: Int) {
        self.reason = reason
        self.missed = missed
    }

    public enum Reason: String, Sendable, CaseIterable, Codable {
        /// The device no longer keeps them: the subscriber asked too late or reads too slowly.
        case expired
        /// The agent was restarted since; what happened before is not known.
        case restarted
    }
}

/// Where the events shall begin: the body of `events.subscribe`.
public struct EventSubscription: Sendable, Equatable {
    /// The `seq` of the last event already known, at least 0, or nil for only what is new.
    public let since: Int?
    /// The `stream` that `since` belongs to.
    public let stream: String?

    public init(since: Int? = nil, stream: String? = nil) {
        self.since = since
        self.stream = stream
    }
}

/// The answer to `events.subscribe`.
public struct Subscribed: Sendable, Equatable, Codable {
    /// The newest event's `seq` at that moment, 0 before the first.
    public let seq: Int
    /// Names this run of the agent: sequence numbers of different streams do not compare.
    public let stream: String

    public init(seq: Int, stream: String) {
        self.seq = seq
        self.stream = stream
    }
}
