import AgentModel
import AppProtocol
import FailoverPolicy

// The policy's decisions in the words of the app protocol.

extension JoinFailure {
    /// What happened, for a person.
    var sentence: String {
        switch self {
        case .wrongKey: "the password was not accepted"
        case .accessPointFull: "the access point takes no more devices"
        case .notFound: "not in range"
        case .rejected: "the access point refused"
        case .timeout: "no answer in time"
        case .linkLost: "the link broke before it was ready"
        case .noAddress: "no address and route in time"
        case .captive: "somebody has to log in to it first"
        case .noInternet: "it leads nowhere"
        case .unconfirmed: "the app did not confirm it in time"
        case .interrupted: "the device was restarted in the middle"
        case .supplicantUnavailable: "wpa_supplicant is not running"
        case .interfaceDown: "the interface is down"
        }
    }
}

extension PolicyDecision.Cause {
    var code: ReasonCode {
        switch self {
        case .start: ReasonCode(rawValue: "start")
        case .linkFound: ReasonCode(rawValue: "linkFound")
        case .linkLost: ReasonCode(rawValue: "linkLost")
        case .weak: ReasonCode(rawValue: "weak")
        case .critical: ReasonCode(rawValue: "critical")
        case .fading: ReasonCode(rawValue: "fading")
        case .preferred: ReasonCode(rawValue: "preferred")
        case .otherUplink: ReasonCode(rawValue: "otherUplink")
        case .commanded: ReasonCode(rawValue: "commanded")
        case .rollback: ReasonCode(rawValue: "rollback")
        case .retry: ReasonCode(rawValue: "retry")
        case .lastResort: ReasonCode(rawValue: "lastResort")
        case .noCandidate: ReasonCode(rawValue: "noCandidate")
        case .interfaceDown: ReasonCode(.interfaceDown)
        case .supplicantUnavailable: ReasonCode(.supplicantUnavailable)
        case .failure(let failure): ReasonCode(failure)
        }
    }

    /// Why, as the end of a sentence.
    fileprivate func explanation(signal: Int?) -> String {
        let level = signal.map { " at \($0) dBm" } ?? ""
        return switch self {
        case .start: "nothing was joined yet"
        case .linkFound: "the link was there already"
        case .linkLost: "the link was lost"
        case .weak: "the link was weak\(level)"
        case .fading: "the link was fading fast\(level)"
        case .preferred: "the network that the device belongs in is back"
        case .otherUplink: "another uplink carries the traffic"
        case .critical: "the link was about to break\(level)"
        case .commanded: "as commanded"
        case .rollback: "back from a switch that failed"
        case .retry: "once more"
        case .lastResort: "blocked, but nothing else is in range"
        case .noCandidate: "nothing better is in range"
        case .interfaceDown: "the interface went down"
        case .supplicantUnavailable: "wpa_supplicant is not running"
        case .failure(let failure): failure.sentence
        }
    }
}

extension PolicyDecision.Verdict {
    var code: ReasonCode {
        switch self {
        case .chosen: ReasonCode(rawValue: "chosen")
        case .current: ReasonCode(rawValue: "current")
        case .outranked: ReasonCode(rawValue: "outranked")
        case .notSeen: ReasonCode(rawValue: "notSeen")
        case .belowFloor: ReasonCode(rawValue: "belowFloor")
        case .withinMargin: ReasonCode(rawValue: "withinMargin")
        case .blocked(let failure, _): ReasonCode(rawValue: "blocked:\(failure.rawValue)")
        case .unusable(let failure, _): ReasonCode(rawValue: "unusable:\(failure.rawValue)")
        }
    }
}

extension PolicyDecision {
    /// One sentence for a person.
    var text: String {
        let from = from?.description ?? "nothing"
        let to = to?.description ?? "nothing"
        let why = cause.explanation(signal: signal)
        return switch kind {
        case .join where self.from == self.to && self.to != nil:
            "moving to \(toBSSID.map { "the access point \($0)" } ?? "another access point") of \(to): \(why)"
        case .join: "joining \(to): \(why)"
        case .online: cause == .linkFound ? "online on \(to): \(why)" : "online on \(to)"
        case .lost: cause == .linkLost ? "\(from) is lost" : "\(from) is lost: \(why)"
        case .failed: "\(from) could not be joined: \(why)"
        case .blocked: "\(from) is left alone for a while: \(why)"
        case .search: "nothing to join is in range, the search goes on"
        case .unusable: "\(from) is of no use: \(why)"
        case .usable: "\(to) is of use again"
        case .stay: "staying on \(from)\(signal.map { " at \($0) dBm" } ?? ""): \(why)"
        }
    }
}

extension Decision {
    init(_ decision: PolicyDecision, seq: Int, time: Timestamp, name: (SSID) -> NetworkName) {
        self.init(
            seq: seq, time: time, monotonicMs: decision.at.milliseconds, kind: Kind(rawValue: decision.kind.rawValue),
            from: decision.from.map(name), to: decision.to.map(name), reason: decision.cause.code, text: decision.text,
            candidates: decision.considered.map {
                Candidate(
                    ssid: $0.ssid, bssid: $0.bss?.bssid, signal: $0.bss?.signal, frequency: $0.bss?.frequency,
                    verdict: $0.verdict.code)
            })
    }
}
