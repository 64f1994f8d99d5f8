import AgentModel
import Linux

/// The running wpa_supplicant of one interface: joins and leaves networks, and tells what became of it.
///
/// It is driven through its control socket and decides nothing by itself. Networks exist in its memory only, one of them
/// is ever selected, by `join`, and the old one goes when its successor has settled.
@AgentLoop
public final class Supplicant {
    let controlSocket: String
    let replyDirectory: String?
    let country: String?
    /// What is changed counts from the next command, attempt or look on.
    public var timing: Timing
    let onEvent: @AgentLoop @Sendable (SupplicantEvent) -> Void

    var isStarted = false
    /// The conversation under way, and whether wpa_supplicant has been told yet to send its events and to leave all
    /// decisions to us.
    var channel: ControlChannel?
    var isGreeted = false
    /// Whether the last of `available` and `unavailable` that was told is the former.
    var isAvailable = false
    var process: (id: Int32, watch: ProcessWatch)?
    var fileWatch: SocketFileWatch?
    var retry: LoopTimer?
    /// Attempts to connect in a row that have failed.
    var failures = 0
    var supervision: LoopTimer?
    /// What driver and supplicant can do, as `GET_CAPABILITY key_mgmt` names it.
    var keyManagement: Set<String> = []
    /// And as `GET_CAPABILITY pairwise` does.
    var ciphers: Set<String> = []

    let sequences = AsyncMutex()
    var attempt: JoinAttempt?
    /// The access point of the link that is up.
    var link: BSSID?
    /// wpa_supplicant's number of the network that was joined last.
    var settledNetwork: Int?

    /// How long to wait for what.
    public struct Timing: Sendable {
        /// For the answer to one command.
        public var requestLimit: Duration = .seconds(2)
        /// For the outcome of a join, counted from its acceptance.
        public var joinLimit: Duration = .seconds(20)
        /// Between attempts to connect: the first, doubling up to the last. The first is short: the kernel tells of a socket's
        /// file a moment before anybody can connect to it (bind(2) makes the file first).
        public var retry = BackOff(first: .milliseconds(2), last: .seconds(5))
        /// Between looks at whether events were lost. wpa_supplicant holds back everybody's events once another program
        /// that asked for them has stopped to read, such as a suspended wpa_cli. Of a link that is lost the kernel tells as well.
        public var supervision: Duration = .seconds(30)
        /// The same during a join, and where the kernel does not tell of the death of wpa_supplicant's process.
        public var closeSupervision: Duration = .milliseconds(500)

        public init() {}
    }

    /// - Parameters:
    ///   - controlSocket: the control socket of the interface, for example `/run/wpa_supplicant/wlan0`.
    ///   - replyDirectory: where this side's socket file goes, a directory in which wpa_supplicant can reach it; nil for
    ///     `/tmp`, which a service with a private one must not use.
    ///   - country: whose rules of radio wpa_supplicant has the kernel go by, two characters; nil to leave that alone.
    ///   - onEvent: called on the loop, never from within a call to this object.
    public init(
        controlSocket: String, replyDirectory: String? = nil, timing: Timing = Timing(),
        country: String? = nil, onEvent: @escaping @AgentLoop @Sendable (SupplicantEvent) -> Void
    ) {
        self.controlSocket = controlSocket
        self.replyDirectory = replyDirectory
        self.timing = timing
        self.country = country
        self.onEvent = onEvent
    }

    isolated deinit { stop() }

    /// Connects, and connects again whenever wpa_supplicant was away. A link that is up is left as it is; anything else
    /// that wpa_supplicant was doing, it is told to forget.
    public func start() {
        guard !isStarted else { return }
        isStarted = true
        fileWatch = SocketFileWatch(path: controlSocket) { [weak self] in self?.socketFileChanged() }
        connect()
    }

    /// Lets go of wpa_supplicant. The link stays up, and no more events come.
    public func stop() {
        isStarted = false
        isAvailable = false
        supersede()
        disconnect()
        fileWatch?.close()
        fileWatch = nil
        retry = nil
        failures = 0
        link = nil
    }

    /// What wpa_supplicant is doing now: at the start, to adopt the link of an earlier process.
    public func status() async throws(SupplicantError) -> SupplicantStatus {
        try await readyChannel().status()
    }

    /// The channel for commands, while wpa_supplicant answers.
    func readyChannel() throws(SupplicantError) -> ControlChannel {
        // A conversation that was only made anew takes questions before it is greeted: they wait their turn.
        guard let channel, isGreeted || isAvailable else { throw .unavailable }
        return channel
    }
}
