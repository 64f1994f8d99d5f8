/// What a request asks: the `type` of its line.
public enum MessageType: String, Sendable, CaseIterable {
    case getCapabilities = "capabilities.get"
    case getNetwork = "network.get"
    case getBackups = "backups.get"
    case updateBackups = "backups.update"
    case switchNetwork = "network.switch"
    case getSwitch = "switch.get"
    case confirmSwitch = "switch.confirm"
    case startScan = "scan.start"
    case getScan = "scan.get"
    case subscribe = "events.subscribe"
    case getHistory = "history.get"
    case agreeKey = "key.agree"
    case getDiagnosis = "diagnosis.get"
    case getPortal = "portal.get"
    case answerPortal = "portal.answer"
}

extension MessageType {
    /// Whether it makes the device do something, and does not only ask or listen.
    public var isCommand: Bool {
        switch self {
        case .updateBackups, .switchNetwork, .confirmSwitch, .startScan, .answerPortal: true
        case .getCapabilities, .getNetwork, .getBackups, .getSwitch, .getScan, .subscribe, .getHistory, .agreeKey,
            .getDiagnosis, .getPortal:
            false
        }
    }
}
