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
}
