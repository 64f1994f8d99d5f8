import AgentModel
import Glibc

/// Why a request to wpa_supplicant was not carried out. No message holds a secret.
public enum SupplicantError: Error, Equatable, Sendable {
    /// Nothing answers at the control socket.
    case unavailable
    /// A system call on the control socket failed: what was attempted, and its errno.
    case system(attempt: String, errno: Int32)
    /// wpa_supplicant did not answer in time. The connection to it is made anew.
    case timedOut(command: String)
    /// wpa_supplicant answered `FAIL`, or that it does not know the command.
    case refused(command: String, reply: String)
    /// wpa_supplicant answered something that does not fit the command. The connection to it is made anew.
    case malformedReply(command: String)
    /// The driver, or this build of wpa_supplicant, cannot join such a network; the text names what it cannot do.
    case unsupported(String)
    /// The network interface is down.
    case interfaceDown
    /// A later `join` or `leave` took the place of this one.
    case superseded

    /// The kind of failure as which a join counts that was not even accepted.
    public var joinFailure: JoinFailure {
        switch self {
        case .unavailable, .system, .timedOut, .malformedReply: .supplicantUnavailable
        case .refused, .unsupported, .superseded: .rejected
        case .interfaceDown: .interfaceDown
        }
    }
}

extension SupplicantError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unavailable: "wpa_supplicant does not answer: is it running for this interface, with a control socket?"
        case .system(let attempt, let errno): "cannot \(attempt): \(String(cString: strerror(errno)))"
        case .timedOut(let command): "wpa_supplicant did not answer \(command) in time"
        case .refused(let command, let reply): "wpa_supplicant refused \(command): \(reply)"
        case .malformedReply(let command): "wpa_supplicant's answer to \(command) makes no sense"
        case .unsupported(let what): "the Wi-Fi driver or this wpa_supplicant cannot do \(what)"
        case .interfaceDown: "the Wi-Fi interface is down: set it up, or lift the radio kill switch"
        case .superseded: "a later request took its place"
        }
    }
}
