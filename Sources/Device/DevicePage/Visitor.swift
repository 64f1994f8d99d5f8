import AgentModel
import AppProtocol
import AppServer

/// Where a page is shown.
enum Place: Sendable, Hashable {
    /// On the device's own access point, without a key: its password is the proof that the device is at hand.
    case accessPoint(address: IPAddress, port: Int)
    /// In the network that the device is in, through TLS, behind one of the device's keys.
    case network

    /// The page's address as a person types it; nil where the browser has it already.
    var url: String? {
        guard case .accessPoint(let address, let port) = self else { return nil }
        return "http://\(address)" + (port == 80 ? "" : ":\(port)")
    }

    /// Whether a request with this `Host` header is for this page, and not for a page elsewhere that the device's answers
    /// to questions for names have led here.
    func isOwn(host: String?) -> Bool {
        guard let host else { return false }
        switch self {
        case .accessPoint(let address, let port):
            return host == "\(address):\(port)" || port == 80 && host == "\(address)"
        // The name under which the device is reached is the network's affair. A page of another host that leads here by
        // its name is stopped by the certificate.
        case .network: return !host.isEmpty
        }
    }

    /// The `Origin` header of a form on this page.
    func isOwn(origin: String, host: String) -> Bool {
        switch self {
        case .accessPoint: origin.lowercased() == "http://\(host)"
        case .network: origin.lowercased() == "https://\(host)"
        }
    }
}

/// The person that a page is made for.
struct Visitor: Sendable, Equatable {
    let place: Place
    let language: Language
    /// What requests to the device are made as.
    let peer: Peer
    /// The session, where the person is signed in.
    let session: String?
    /// What the next form has to bring with it.
    let token: String

    func may(_ role: Role) -> Bool { peer.role >= role }

    var isSignedIn: Bool { session != nil }
}

/// What is known of the device when a page is made.
struct Facts: Sendable {
    var scan: ScanResults?
    /// Whether newer results come.
    var isScanning = false
    var network: NetworkStatus?
    var backups: BackupList?
    var history: History?
    var diagnosis: Diagnosis?
    var attempt: SwitchStatus?
    var signal: [SignalTrace.Sample] = []
}

/// A page, and what it says beside what is known of the device.
enum View: Sendable, Equatable {
    /// The networks in range, to choose one of.
    case networks(chosen: NetworkChoice?, Notice?)
    /// An attempt and its result.
    case attempt(Attempt)
    /// The same for a program that keeps a page up to date.
    case live(Attempt)
    case signIn(SignInNotice?)
    case status
    case history
    case diagnosis(isRun: Bool)
    case error(Int, Phrase, detail: String?)

    /// What has to be asked of the device for it, before it can be made.
    var questions: [Request.Body] {
        switch self {
        case .networks: [.getScan, .getBackups, .getNetwork]
        // Where it failed, the networks are shown again.
        case .attempt(let attempt): [.getSwitch(SwitchQuery(switchId: attempt.switchID)), .getNetwork, .getScan]
        case .live(let attempt): [.getSwitch(SwitchQuery(switchId: attempt.switchID))]
        case .status: [.getNetwork]
        case .history: [.getHistory(HistoryQuery(limit: 50))]
        case .diagnosis(let isRun): isRun ? [.getDiagnosis] : []
        case .signIn, .error: []
        }
    }
}

enum Notice: Sendable, Equatable {
    /// The last attempt did not lead there.
    case failed(NetworkChoice, ReasonCode?)
    /// What was filled in cannot be right.
    case wrong(Phrase)
}

enum SignInNotice: Sendable, Equatable {
    case wrong, invitation, ended
}

/// A network as a form names it: any bytes, in hexadecimal digits, and what it was seen to offer.
struct NetworkChoice: Sendable, Hashable {
    let ssid: SSID
    /// Nil for one whose name was typed.
    let security: Security?

    var formValue: String { "\(ssid.hex).\(security?.rawValue ?? "")" }

    init(ssid: SSID, security: Security?) { (self.ssid, self.security) = (ssid, security) }

    /// - Returns: nil for what no form of the device's has, such as a network that is never joined.
    init?(formValue: String) {
        let parts = formValue.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let bytes = Hex.bytes(parts[0]), let ssid = try? SSID(bytes: bytes),
            let security = Security(rawValue: String(parts[1])), security.isJoinable
        else { return nil }
        self.init(ssid: ssid, security: security)
    }
}

extension Security {
    /// Whether it takes a password or none, and nothing else.
    var isJoinable: Bool { usesPassphrase || isOpenToAll }
}

/// The last attempt to join a network that was made from a page.
struct Attempt: Sendable, Equatable {
    let switchID: String
    /// Nil where a stored network was named by its hash.
    let network: NetworkChoice?
    let name: String
    /// How it ended; nil while it goes on.
    var outcome: SwitchStatus?

    var isOver: Bool { outcome != nil }
}
