/// The answer to one request.
public struct Response: Sendable, Equatable {
    /// The request's id, or nil where the line was so broken that it had none.
    public let id: String?
    public let result: Result<Body, ProtocolError>

    public init(id: String?, result: Result<Body, ProtocolError>) {
        self.id = id
        self.result = result
    }

    /// What a request that succeeded brings back.
    public enum Body: Sendable, Equatable {
        case capabilities(Capabilities)
        case network(NetworkStatus)
        /// To `backups.get` and `backups.update`.
        case backups(BackupList)
        /// To `network.switch`, with the phase `accepted`, and to `switch.get` and `switch.confirm`.
        case switchStatus(SwitchStatus)
        case scanStarted(ScanStarted)
        case scan(ScanResults)
        case history(History)
        case subscribed(Subscribed)
        case key(SealingKey)
        case diagnosis(Diagnosis)
        /// To `portal.get` and `portal.answer`.
        case portal(PortalStatus)
    }
}
