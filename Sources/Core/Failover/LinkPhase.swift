import AgentModel

extension FailoverPolicy {
    /// The state of a link.
    public enum Phase: Sendable, Hashable {
        case offline
        case joining(Attempt)
        case waitingForAddress(Attempt, AccessPoint)
        /// The link has an address; internet access, and the app's confirmation of a commanded switch, are open.
        case validating(Attempt, AccessPoint)
        case online(Link)

        /// The network that is being joined or is in use.
        public var network: NetworkID? { attempt?.network ?? link?.network }

        /// Epoch that marks its events.
        public var epoch: UInt64? { attempt?.epoch ?? link?.epoch }

        /// The attempt under way. Setting it does nothing in a phase without one.
        var attempt: Attempt? {
            get {
                switch self {
                case .joining(let attempt), .waitingForAddress(let attempt, _), .validating(let attempt, _): attempt
                case .offline, .online: nil
                }
            }
            set {
                guard let newValue else { return }
                switch self {
                case .joining: self = .joining(newValue)
                case .waitingForAddress(_, let accessPoint): self = .waitingForAddress(newValue, accessPoint)
                case .validating(_, let accessPoint): self = .validating(newValue, accessPoint)
                case .offline, .online: break
                }
            }
        }

        /// The link in use. Setting it does nothing in a phase without one.
        var link: Link? {
            get { if case .online(let link) = self { link } else { nil } }
            set { if let newValue, case .online = self { self = .online(newValue) } }
        }

        /// Deadline of the attempt, or for a lost address to come back.
        var deadline: Instant? { attempt?.deadline ?? link?.addressDeadline }

        /// Probes of a link that carries traffic.
        var validation: LinkValidation? {
            get { if case .validating(let attempt, _) = self { attempt.validation } else { link?.validation } }
            set {
                guard let newValue else { return }
                if case .validating = self { attempt?.validation = newValue } else { link?.validation = newValue }
            }
        }

        /// Whether a working link was left for the preferred network just now. This one needs internet access at once,
        /// or the other one was better.
        func isOnTrial(at now: Instant) -> Bool {
            link.map { $0.cause == .preferred && now - $0.since < Self.trial } ?? false
        }

        private static let trial = Duration.seconds(20)

        public internal(set) var accessPoint: AccessPoint? {
            get {
                switch self {
                case .offline, .joining: nil
                case .waitingForAddress(_, let accessPoint), .validating(_, let accessPoint): accessPoint
                case .online(let link): link.accessPoint
                }
            }
            set {
                guard let newValue else { return }
                switch self {
                case .offline, .joining: break
                case .waitingForAddress(let attempt, _): self = .waitingForAddress(attempt, newValue)
                case .validating(let attempt, _): self = .validating(attempt, newValue)
                case .online: link?.accessPoint = newValue
                }
            }
        }
    }

    /// One try to join one network.
    public struct Attempt: Sendable, Hashable {
        public let network: NetworkID
        /// The chosen access point, if any.
        public let bssid: BSSID?
        public let epoch: UInt64
        var purpose: Purpose
        /// Why it is made.
        var cause: PolicyDecision.Cause
        /// When it was ordered; nil where the link was found.
        var began: Instant?
        /// How long the address may take; nil for what the settings say.
        var addressLimit: Duration?
        /// Time that the address always gets, see `SwitchStatistics.addressPatience`.
        var addressPatience = Duration.zero
        var deadline: Instant
        /// Time from which another network may replace it; nil for never.
        var replaceableFrom: Instant?
        /// Time from which the address is late; nil before association.
        private(set) var lateFrom: Instant?
        /// The networks that were in range when it began, and those whose links or attempts were left for it.
        var rivals: Set<NetworkID> = []
        var validation = LinkValidation()
        /// A probe has reached its destination over the link.
        var isValidated = false
        /// Whether it has waited for a postponed probe.
        var wasPostponed = false
        /// The app has confirmed it already.
        var isConfirmed = false
        /// A link that worked is given up for it, without a command.
        var leavesALivingLink = false
        /// No scan has shown that the network is there.
        var isUnseen = false

        /// - Parameter limit: longest wait, unless the network is known to need longer.
        mutating func awaitAddress(upTo limit: Duration, _ context: LinkMachine.Context) {
            let (settings, now) = (context.settings, context.now)
            deadline = now + max(limit, addressPatience)
            lateFrom = now + (addressLimit ?? settings.addressLimit / 2)
            if !context.isSuspect, replaceableFrom != nil { replaceableFrom = lateFrom }
        }
    }

    enum Purpose: Sendable, Hashable {
        case automatic
        /// To stand by beside the link in use.
        case standby
        case commanded
        /// Back to where a commanded switch started that failed with this.
        case rollback(JoinFailure)

        /// Whether a link is validated before it is used.
        func isValidatedFirst(isBeside: Bool) -> Bool {
            switch self {
            case .commanded: true
            case .automatic, .standby: isBeside
            case .rollback: false
            }
        }
    }

    public struct Link: Sendable, Hashable {
        public let network: NetworkID
        public internal(set) var accessPoint: AccessPoint
        public let since: Instant
        public let epoch: UInt64
        /// Why the device came here.
        let cause: PolicyDecision.Cause
        /// When a lost address must be back; nil if none is lost.
        var addressDeadline: Instant?
        var validation = LinkValidation()
        /// Why it has no internet access, if a probe has shown that.
        public internal(set) var uselessness: JoinFailure?
    }
}
