import AgentModel
import Linux

/// Joins and leaves networks through an interface's running wpa_supplicant, and reports the results. Leaves decisions
/// to the caller. Networks exist only in wpa_supplicant's memory. Only `join` selects a network; after success, the old
/// network is removed.
@AgentLoop
public final class Supplicant {
    let connection: ControlConnection
    let country: String?
    /// Time limits. A change applies from the next command, attempt or check.
    public var timing: Timing { didSet { connection.timing = timing.ofConnection } }
    let onEvent: @AgentLoop @Sendable (SupplicantEvent) -> Void

    /// True if the last reported availability is `available`.
    var isAvailable = false
    var supervision: LoopTimer?
    /// Capabilities of driver and supplicant from `GET_CAPABILITY key_mgmt`.
    var keyManagement: Set<String> = []
    /// True if wpa_supplicant performs SAE for firmware that does the rest of a join ("external authentication").
    var isSAEForFirmware = false
    /// Capabilities from `GET_CAPABILITY pairwise`.
    var ciphers: Set<String> = []

    let sequences = AsyncMutex()
    var attempt: JoinAttempt?
    /// Access point of the current link.
    var link: BSSID?
    /// Last joined network: its number in wpa_supplicant and its settings.
    var settled: (network: Int, block: NetworkBlock)?
    /// True if wpa_supplicant joins without a scan.
    var joinsUnseen = false
    /// Numbers of networks with private keys in blobs.
    var keyed: Set<Int> = []
    var easyConnect = EasyConnectReception()

    public struct Timing: Sendable {
        /// Time limit for the answer to a command.
        public var requestLimit: Duration = .seconds(2)
        /// Time limit for the outcome of a join, from its acceptance.
        public var joinLimit: Duration = .seconds(20)
        /// Time limit for roaming, after which the network is joined again. The kernel gives up on a silent access
        /// point after 0.6 s.
        public var roamLimit: Duration = .seconds(2)
        /// Time limit for a fast transition over the distribution system, after which it is tried over the air. The
        /// link stays up meanwhile.
        public var distributionLimit: Duration = .milliseconds(300)
        /// Wait between connection attempts, doubled each time. The first is short: bind(2) creates the socket's file
        /// just before it accepts connections.
        public var retry = BackOff(first: .milliseconds(2), last: .seconds(5))
        /// Interval of checks for lost events. wpa_supplicant holds back all programs' events if one program stops
        /// reading, such as a suspended wpa_cli. The kernel reports link losses as well.
        public var supervision: Duration = .seconds(30)
        /// Interval of these checks during a join. It also applies if the agent cannot watch wpa_supplicant's process.
        public var closeSupervision: Duration = .milliseconds(500)

        public init() {}

        fileprivate var ofConnection: ControlConnection.Timing {
            ControlConnection.Timing(requestLimit: requestLimit, retry: retry)
        }
    }

    /// - Parameters:
    ///   - controlSocket: control socket of the interface, for example `/run/wpa_supplicant/wlan0`.
    ///   - replyDirectory: folder of this side's socket file, accessible to wpa_supplicant; nil for `/tmp`, which fails
    ///     in services with a private `/tmp`.
    ///   - country: two-letter country of the regulatory domain to set; nil leaves it unchanged.
    ///   - onEvent: called on the loop, never from within a call to this object.
    public init(
        controlSocket: String, replyDirectory: String?, timing: Timing = Timing(),
        country: String? = nil, onEvent: @escaping @AgentLoop @Sendable (SupplicantEvent) -> Void
    ) {
        connection = ControlConnection(
            path: controlSocket, replyDirectory: replyDirectory, timing: timing.ofConnection)
        self.timing = timing
        self.country = country
        self.onEvent = onEvent
    }

    isolated deinit { stop() }

    /// Connects, and reconnects after each loss. Keeps an existing link, and removes all other networks.
    public func start() { connect() }

    /// Disconnects from wpa_supplicant without events. The link stays up.
    public func stop() {
        isAvailable = false
        supersede()
        connection.stop()
        supervision = nil
        link = nil
    }

    public func status() async throws(SupplicantError) -> SupplicantStatus {
        try await readyChannel().status()
    }

    /// Terminates wpa_supplicant. The service manager restarts it.
    public func restart() async throws(SupplicantError) { try await readyChannel().ask(ControlCommand("TERMINATE")) }

    /// Sets the regulatory domain again, because a restarted driver may have lost it.
    public func setCountry() async {
        guard let country, let channel = try? readyChannel() else { return }
        try? await channel.askLeniently(ControlCommand("SET country \(country)"))
    }

    /// Returns the channel for commands.
    /// - Throws: `unavailable` while wpa_supplicant does not answer.
    func readyChannel() throws(SupplicantError) -> ControlChannel {
        // A replaced channel accepts commands before its setup. These wait in order.
        guard let channel = connection.channel, connection.isSettled || isAvailable else { throw .unavailable }
        return channel
    }
}

/// Reasons why a request failed. Descriptions contain no secrets.
public enum SupplicantError: Error, Equatable, Sendable {
    case unavailable
    case system(SystemError)
    /// wpa_supplicant did not answer in time. The connection is replaced.
    case timedOut(command: String)
    case refused(command: String, reply: String)
    /// The answer does not match the command. The connection is replaced.
    case malformedReply(command: String)
    /// The driver or this wpa_supplicant cannot join the network. The text names the missing feature.
    case unsupported(String)
    case interfaceDown
    /// A later `join` or `leave` has replaced this one.
    case superseded

    /// Join failure to report if the request was not accepted.
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
        case .unavailable: "wpa_supplicant does not answer: check that it runs for this interface and has a socket"
        case .system(let error): "\(error)"
        case .timedOut(let command): "wpa_supplicant did not answer \(command) in time"
        case .refused(let command, let reply): "wpa_supplicant refused \(command): \(reply)"
        case .malformedReply(let command): "malformed answer from wpa_supplicant to \(command)"
        case .unsupported(let what): "the Wi-Fi driver or this wpa_supplicant does not support \(what)"
        case .interfaceDown: "the Wi-Fi interface is down: set it up, or lift the radio kill switch"
        case .superseded: "replaced by a later request"
        }
    }
}
