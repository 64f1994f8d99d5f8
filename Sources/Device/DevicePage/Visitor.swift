import AgentModel
import AppProtocol
import AppServer

enum PageContext: Sendable, Hashable {
    /// The visitor is on the setup access point and needs no key: its password is enough.
    case accessPoint(address: IPAddress, port: Int)
    /// The visitor is in the network, uses TLS and has one of the device's keys.
    case network

    /// URL of the page that a user can type; nil if the browser already has it.
    var url: String? {
        guard case .accessPoint(let address, let port) = self else { return nil }
        return "http://\(address)" + (port == 80 ? "" : ":\(port)")
    }

    /// Whether the `Host` header names this page, and not another name that the name server resolves to the device.
    func isOwn(host: String?) -> Bool {
        guard let host else { return false }
        switch self {
        case .accessPoint(let address, let port):
            return host == "\(address):\(port)" || port == 80 && host == "\(address)"
        // Accepts any name. The certificate protects against other hosts.
        case .network: return !host.isEmpty
        }
    }

    func isOwn(origin: String, host: String) -> Bool {
        switch self {
        case .accessPoint: origin.lowercased() == "http://\(host)"
        case .network: origin.lowercased() == "https://\(host)"
        }
    }
}

struct Visitor: Sendable, Equatable {
    let place: PageContext
    let language: Language
    /// Origin and role of requests to the device.
    let peer: Peer
    /// Session of the user; nil if not signed in.
    let session: String?
    /// Token of the next form.
    let token: String

    func may(_ role: Role) -> Bool { peer.role >= role }

    var isSignedIn: Bool { session != nil }
}

/// Answers of the device from which a page is built.
struct Facts: Sendable {
    var scan: ScanResults?
    var isScanning = false
    var network: NetworkStatus?
    var backups: BackupList?
    var history: History?
    var diagnosis: Diagnosis?
    var attempt: SwitchStatus?
    var signal: [SignalTrace.Sample] = []
}

enum View: Sendable, Equatable {
    case networks(chosen: NetworkChoice?, Notice?)
    case attempt(SwitchAttempt)
    case signIn(SignInNotice?)
    case status
    case history
    case diagnosis(isRun: Bool)
    case error(Int, Phrase, detail: String?)

    var questions: [Request.Body] {
        switch self {
        case .networks: [.getScan, .getBackups, .getNetwork]
        // After a failed attempt, the page shows the networks again.
        case .attempt(let attempt): [.getSwitch(SwitchQuery(switchId: attempt.switchID)), .getNetwork, .getScan]
        case .status: [.getNetwork]
        case .history: [.getHistory(HistoryQuery(limit: 50)), .getNetwork]
        case .diagnosis(let isRun): isRun ? [.getDiagnosis, .getNetwork] : [.getNetwork]
        case .signIn, .error: []
        }
    }
}

enum Notice: Sendable, Equatable {
    /// The last attempt failed.
    case failed(SwitchAttempt, ReasonCode?)
    /// The form has an invalid entry. `typed` is a name that cannot be a network's.
    case wrong(Phrase, typed: String? = nil)
}

enum SignInNotice: Sendable, Equatable {
    case wrong, invitation, ended
}

/// A network in a form: its SSID in hexadecimal digits and its security.
struct NetworkChoice: Sendable, Hashable {
    let ssid: SSID
    /// Security of the network; nil for a typed name.
    let security: Security?

    var formValue: String { "\(ssid.hex).\(security?.rawValue ?? "")" }

    init(ssid: SSID, security: Security?) { (self.ssid, self.security) = (ssid, security) }

    /// - Returns: nil for values that the device's forms never contain, such as unsupported networks.
    init?(formValue: String) {
        let parts = formValue.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let bytes = Hex.bytes(parts[0]), let ssid = try? SSID(bytes: bytes),
            let security = Security(rawValue: String(parts[1])), security.isJoinable
        else { return nil }
        self.init(ssid: ssid, security: security)
    }
}

extension Security {
    /// Least number of characters of a password.
    var minimumPasswordLength: Int {
        self == .wpa3 ? Passphrase.saeLength.lowerBound : Passphrase.allowedLength.lowerBound
    }

    /// True for open networks and those with a password.
    var isJoinable: Bool { usesPassphrase || isOpenToAll }
}

struct SwitchAttempt: Sendable, Equatable {
    let switchID: String
    /// Network of the attempt; nil for a stored one.
    let network: NetworkChoice?
    let name: String
    let began: Instant
    /// Result of the switch; nil while it runs.
    var outcome: SwitchStatus?
    var ended: Instant?
    /// Whether a person has seen the success and pressed the button.
    var isSeen = false

    var isOver: Bool { outcome != nil }

    /// Age at which a failure is no longer shown.
    static let lifetime = Duration.seconds(3600)
}
