import AgentModel
import AppProtocol
import Failover

package enum OutageCause: String, Sendable, CaseIterable {
    case start
    /// A switch by the device or the user.
    case move
    /// The access point disappeared, refused or did not answer.
    case accessPoint = "access_point"
    /// The password or certificate was not accepted.
    case key
    case address
    /// The network has no internet access, or requires a sign-in.
    case internet
    /// There is internet access, but the device's own server does not answer.
    case ownServer = "own_server"
    case radio
}

extension OutageCause {
    /// - Returns: nil for a cause that does not end a connection.
    init?(_ cause: PolicyDecision.Cause) {
        switch cause {
        case .linkLost: self = .accessPoint
        case .weak, .fading, .critical, .congested, .steered, .preferred, .commanded, .rollback: self = .move
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

    /// Derives the cause from the status alone.
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
