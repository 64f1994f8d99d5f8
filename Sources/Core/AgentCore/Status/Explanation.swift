import AgentModel
import AppProtocol
import Failover

// Policy decisions as codes of the app protocol.

extension PolicyDecision.Cause {
    var code: ReasonCode {
        switch self {
        case .start: ReasonCode(rawValue: "start")
        case .linkFound: ReasonCode(rawValue: "linkFound")
        case .linkLost: ReasonCode(rawValue: "linkLost")
        case .weak: ReasonCode(rawValue: "weak")
        case .critical: ReasonCode(rawValue: "critical")
        case .fading: ReasonCode(rawValue: "fading")
        case .congested: ReasonCode(rawValue: "jammed")
        case .steered: ReasonCode(rawValue: "steered")
        case .steeredTooOften: ReasonCode(rawValue: "steeredTooOften")
        case .preferred: ReasonCode(rawValue: "preferred")
        case .standby: ReasonCode(rawValue: "standby")
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
}

extension PolicyDecision.Verdict {
    var code: ReasonCode {
        switch self {
        case .chosen: ReasonCode(rawValue: "chosen")
        case .current: ReasonCode(rawValue: "current")
        case .outranked: ReasonCode(rawValue: "outranked")
        case .notSeen: ReasonCode(rawValue: "notSeen")
        case .refused(let failure): ReasonCode(rawValue: "refused:\(failure.rawValue)")
        case .belowFloor: ReasonCode(rawValue: "belowFloor")
        case .withinMargin: ReasonCode(rawValue: "withinMargin")
        case .blocked(let failure, _): ReasonCode(rawValue: "blocked:\(failure.rawValue)")
        case .unusable(let failure, _): ReasonCode(rawValue: "unusable:\(failure.rawValue)")
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
