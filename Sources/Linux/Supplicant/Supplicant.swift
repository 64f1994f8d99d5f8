import AgentModel
import Linux

/// The running wpa_supplicant of one interface: joins and leaves networks, and tells what became of it.
///
/// It is driven through its control socket and decides nothing by itself. Networks exist in its memory only, one of
/// them is ever selected, by `join`, and the old one goes when its successor has settled.
@AgentLoop
public final class Supplicant {
    let connection: ControlConnection
    let country: String?
    /// A change counts from the next command, attempt or check on.
    public var timing: Timing { didSet { connection.timing = timing.ofConnection } }
    let onEvent: @AgentLoop @Sendable (SupplicantEvent) -> Void

    /// Whether the last of `available` and `unavailable` that was told is the former.
    var isAvailable = false
    var supervision: LoopTimer?
    /// The capabilities of driver and supplicant, as `GET_CAPABILITY key_mgmt` names them.
    var keyManagement: Set<String> = []
    /// Whether wpa_supplicant does SAE for firmware that does all else of a join ("external authentication").
    var isSAEForFirmware = false
    /// And as `GET_CAPABILITY pairwise` does.
    var ciphers: Set<String> = []

    let sequences = AsyncMutex()
    var attempt: JoinAttempt?
    /// The access point of the link that is up.
    var link: BSSID?
    /// The network that was joined last, by wpa_supplicant's number for it and as it was told of it.
    var settled: (network: Int, block: NetworkBlock)?
    /// Whether it was told to join without a scan.
    var joinsUnseen = false
    /// wpa_supplicant's numbers of networks whose private keys it has in blobs.
    var keyed: Set<Int> = []
    var easyConnect = EasyConnectReception()

    /// How long to wait for what.
    public struct Timing: Sendable {
        /// For the answer to one command.
        public var requestLimit: Duration = .seconds(2)
        /// For the outcome of a join, counted from its acceptance.
        public var joinLimit: Duration = .seconds(20)
        /// For a link to go over to another access point, before the network is joined anew. An access point that answers
        /// nothing has given the kernel no answer after 0.6 s.
        public var roamLimit: Duration = .seconds(2)
        /// For the answer that comes through the present access point, before the other one is asked itself. The link is
        /// there meanwhile.
        public var distributionLimit: Duration = .milliseconds(300)
        /// Between attempts to connect: the first, doubling up to the last. The first is short: the kernel tells of a
        /// socket's file a moment before a program can connect to it (bind(2) makes the file first).
        public var retry = BackOff(first: .milliseconds(2), last: .seconds(5))
        /// Between checks whether events were lost. wpa_supplicant holds back all programs' events once another program
        /// that asked for them has stopped to read, such as a suspended wpa_cli. Of a link that is lost the kernel
        /// tells as well.
        public var supervision: Duration = .seconds(30)
        /// The same during a join, and where the kernel does not tell of the death of wpa_supplicant's process.
        public var closeSupervision: Duration = .milliseconds(500)

        public init() {}

        fileprivate var ofConnection: ControlConnection.Timing {
            ControlConnection.Timing(requestLimit: requestLimit, retry: retry)
        }
    }

    /// - Parameters:
    ///   - controlSocket: the control socket of the interface, for example `/run/wpa_supplicant/wlan0`.
    ///   - replyDirectory: where this side's socket file goes, a directory in which wpa_supplicant can reach it; nil
    ///     for `/tmp`, which a service with a private one must not use.
    ///   - country: whose rules of radio wpa_supplicant has the kernel go by, two characters; nil to leave that alone.
    ///   - onEvent: called on the loop, never from within a call to this object.
    public init(
        controlSocket: String, replyDirectory: String? = nil, timing: Timing = Timing(),
        country: String? = nil, onEvent: @escaping @AgentLoop @Sendable (SupplicantEvent) -> Void
    ) {
        connection = ControlConnection(
            path: controlSocket, replyDirectory: replyDirectory, timing: timing.ofConnection)
        self.timing = timing
        self.country = country
        self.onEvent = onEvent
    }

    isolated deinit { stop() }

    /// Connects, and connects again whenever wpa_supplicant was away. A link that is up is left as it is; anything else
    /// that wpa_supplicant was doing, it is told to forget.
    public func start() { connect() }

    /// Lets go of wpa_supplicant. The link stays up, and no more events come.
    public func stop() {
        isAvailable = false
        supersede()
        connection.stop()
        supervision = nil
        link = nil
    }

    /// The state of wpa_supplicant now: at the start, to adopt the link of an earlier process.
    public func status() async throws(SupplicantError) -> SupplicantStatus {
        try await readyChannel().status()
    }

    /// Has wpa_supplicant end: whatever runs it starts it anew.
    public func restart() async throws(SupplicantError) { try await readyChannel().ask(ControlCommand("TERMINATE")) }

    /// Has the kernel go by the rules of the country again, where one is set: a driver may have begun anew.
    public func setCountry() async {
        guard let country, let channel = try? readyChannel() else { return }
        try? await channel.askLeniently(ControlCommand("SET country \(country)"))
    }

    /// The channel for commands, while wpa_supplicant answers.
    func readyChannel() throws(SupplicantError) -> ControlChannel {
        // A channel that was only made anew takes questions before it is greeted: they wait their turn.
        guard let channel = connection.channel, connection.isSettled || isAvailable else { throw .unavailable }
        return channel
    }
}

/// Reports that wpa_supplicant makes on its own, in the order in which it happened.
public enum SupplicantEvent: Sendable, Equatable {
    /// wpa_supplicant answers, its events arrive and it decides nothing by itself any more. Also sent when it came back
    /// after a crash or a restart: whatever it was asked before is forgotten, so ask for the `status` first.
    case available
    /// wpa_supplicant is gone, or does not answer. A join under way ends before this with
    /// `joinFailed(_, .supplicantUnavailable, _)`.
    case unavailable
    /// The link is up: associated and all keys in place. `attempt` is nil where no join of this process made it.
    case connected(attempt: UInt64?, bssid: BSSID)
    /// The access point of the link, or of the join under way, says which weaker ways in are not to be taken any more.
    case transitionDisabled(TransitionDisable)
    /// The access point of the link says that it will end it, in that time (IEEE 802.11-2020, 9.6.13.9).
    case leavingAsked(within: Duration)
    /// The access point of the link wishes that the device moves to another one of the network.
    case moveAsked
    /// The access point of the link names another one of the network, and its channel: it was asked when the link was made.
    case neighbour(BSSID, Frequency)
    /// An established link ended, with the reason code of IEEE 802.11-2020, table 9-49, or 0 where none was given.
    /// `locallyGenerated` tells a link that this station ended (to switch, to leave, or because no beacons came) from
    /// one that the access point ended.
    case disconnected(reason: Int, locallyGenerated: Bool)
    /// The server of an established link has shown a certificate that does not count, when it was asked for it again: the
    /// link will end. The text says why.
    case certificateRefused(String)
    /// What a configurator does, while wpa_supplicant listens for one.
    case easyConnect(EasyConnectEvent)
    /// The join did not lead to a link, and wpa_supplicant does not try any further. `detail` is the line of
    /// wpa_supplicant that says why, safe to print and without secrets.
    case joinFailed(attempt: UInt64, JoinFailure, detail: String)
}

/// Why a request to wpa_supplicant was not carried out. No message holds a secret.
public enum SupplicantError: Error, Equatable, Sendable {
    /// Nothing answers at the control socket.
    case unavailable
    /// A system call on the control socket failed.
    case system(SystemError)
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
        case .system(let error): "\(error)"
        case .timedOut(let command): "wpa_supplicant did not answer \(command) in time"
        case .refused(let command, let reply): "wpa_supplicant refused \(command): \(reply)"
        case .malformedReply(let command): "wpa_supplicant's answer to \(command) makes no sense"
        case .unsupported(let what): "the Wi-Fi driver or this wpa_supplicant cannot do \(what)"
        case .interfaceDown: "the Wi-Fi interface is down: set it up, or lift the radio kill switch"
        case .superseded: "a later request took its place"
        }
    }
}
