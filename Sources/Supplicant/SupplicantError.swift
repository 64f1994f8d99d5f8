/// Why a request to wpa_supplicant was not carried out. No message holds a secret.
public enum SupplicantError: Error, Equatable, Sendable {
    /// Nothing answers at the control socket.
    case unavailable
    /// A system call on the control socket failed.
    case system(call: String, errno: Int32)
    /// wpa_supplicant did not answer in time; the connection to it is made anew.
    case timedOut(command: String)
    /// wpa_supplicant answered `FAIL`, or that it does not know the command.
    case refused(command: String, reply: String)
    /// wpa_supplicant answered something that cannot be understood.
    case malformedReply(command: String)
    /// The driver or this build of wpa_supplicant cannot join such a network.
    case unsupported(String)
    /// Another join, a `leave` or `stop` took its place.
    case superseded
}
