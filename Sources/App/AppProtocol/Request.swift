import AgentModel

/// One question or command from the app to the device.
public struct Request: Sendable, Equatable {
    /// Chosen by the app, 1 to 64 bytes; the answer carries it back.
    public let id: String
    public let content: Content

    public init(id: String, content: Content) {
        self.id = id
        self.content = content
    }

    public enum Content: Sendable, Equatable {
        /// What the device itself answers.
        case device(Body)
        /// What the connection answers: from then on it also carries events.
        case subscribe(EventSubscription)
    }

    /// What the device is asked.
    public enum Body: Sendable, Equatable {
        case getCapabilities
        case getNetwork
        case getBackups
        case updateBackups(BackupsUpdate)
        case switchNetwork(SwitchRequest)
        case getSwitch(SwitchQuery)
        case confirmSwitch(SwitchQuery)
        case startScan(ScanRequest)
        case getScan
        case getHistory(HistoryQuery)
        case agreeKey
        case getDiagnosis
        case getPortal
        case answerPortal(PortalAnswer)
    }

    public var type: MessageType { content.type }
}

extension Request.Content {
    var type: MessageType {
        switch self {
        case .subscribe: .subscribe
        case .device(let body): body.type
        }
    }
}

extension Request.Body {
    public var type: MessageType {
        switch self {
        case .getCapabilities: .getCapabilities
        case .getNetwork: .getNetwork
        case .getBackups: .getBackups
        case .updateBackups: .updateBackups
        case .switchNetwork: .switchNetwork
        case .getSwitch: .getSwitch
        case .confirmSwitch: .confirmSwitch
        case .startScan: .startScan
        case .getScan: .getScan
        case .getHistory: .getHistory
        case .agreeKey: .agreeKey
        case .getDiagnosis: .getDiagnosis
        case .getPortal: .getPortal
        case .answerPortal: .answerPortal
        }
    }
}
