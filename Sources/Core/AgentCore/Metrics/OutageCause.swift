import AgentModel
import AppProtocol
import Failover

/// Why the device was not connected.
package enum OutageCause: String, Sendable, CaseIterable {
    /// It had just started.
    case start
    /// It moved by its own choice or its owner's.
    case move
    /// The access point went, refused or did not answer.
    case accessPoint = "access_point"
    /// The password, or what stands in its place, was not accepted.
    case key
    /// No address came.
    case address
    /// The network leads nowhere, or wants a user to sign in.
    case internet
    /// The internet is there, and the device's own server is not.
    case ownServer = "own_server"
    /// The radio or its software did not work.
    case radio
}

extension OutageCause {
    /// - Returns: nil for what is no reason why a network is gone.
    init?(_ cause: PolicyDecision.Cause) {
        switch cause {
        case .linkLost: self = .accessPoint
        case .weak, .fading, .critical, .jammed, .steered, .preferred, .commanded, .rollback: self = .move
        case .interfaceDown, .supplicantUnavailable: self = .radio
        case .failure(let failure): self.init(failure)
        case .start, .linkFound, .standby, .retry, .lastResort, .noCandidate, .steeredTooOften: return nil
        }
    }

    private init(_ failure: JoinFailure) {
        self =
            switch failure {
            case .wrongKey, .certificateRefused, .lessSecure, .unsupportedSecurity: .key
            case .noAddress: .address
            case .captive, .noInternet: .internet
            case .unconfirmed: .move
            case .interrupted: .start
            case .supplicantUnavailable, .interfaceDown: .radio
            case .accessPointFull, .notFound, .rejected, .timeout, .linkLost: .accessPoint
            }
    }

    /// What a status says by itself of why the device is not connected.
    init?(_ status: NetworkStatus) {
        if status.radio != nil {
            self = .radio
        } else if status.state == .online, let level = status.connectivity?.level {
            self = level < .internet ? .internet : .ownServer
        } else {
            return nil
        }
    }
}
