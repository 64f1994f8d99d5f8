import AgentModel
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Intervals of the checks on an idle connection.
public struct KeepAlive: Sendable, Hashable {
    /// Idle time until the kernel's first probe (tcp(7), `TCP_KEEPIDLE`).
    public var idle = Duration.seconds(4)
    /// Time between probes (`TCP_KEEPINTVL`).
    public var interval = Duration.seconds(1)
    /// Unanswered probes until the connection is closed (`TCP_KEEPCNT`).
    public var count = 2
    /// Interval and time limit of application pings (`http`, `mqtt`), which show that the server program still runs.
    public var application = Duration.seconds(30)
    public var applicationLimit = Duration.seconds(5)

    public init() {}

    /// - Parameter idle: whole seconds, 1 to 32767 (tcp(7)).
    public init(idle: Duration) { self.idle = idle }

    /// Time from the last data or acknowledgement until a dead path is detected.
    public var detection: Duration { idle + interval * count }
    /// Age up to which data or an acknowledgement counts as an answer, at most 10 s.
    public var freshness: Duration { min(idle + interval, Self.longestFreshness) }

    /// Returns how long an application ping waits for the kernel's own probes; nil if none is under way. Data stops
    /// them, and a dead path would be noticed seconds later.
    func pause(afterSilence silence: Duration) -> Duration? {
        // The kernel's timers may be an eighth late.
        let end = detection + detection / 8
        return (idle..<end).contains(silence) ? end - silence : nil
    }

    /// Returns these settings with longer intervals between checks. The time limit of an answer stays. Requests come at
    /// least every minute: servers close connections without any after 60 to 75 s, and a new one costs more.
    /// - Parameter factor: 1 or more.
    func stretched(by factor: Int) -> KeepAlive {
        var stretched = self
        stretched.idle = idle * max(1, factor)
        stretched.application = min(application * max(1, factor), max(application, .seconds(60)))
        return stretched
    }

    private static let longestFreshness = Duration.seconds(10)
}

#if os(Linux)
    extension Channel {
        /// Makes the kernel detect a dead peer, both idle and with unacknowledged data (tcp(7)). Call this on the event
        /// loop.
        func keepAlive(_ settings: KeepAlive) throws {
            guard let options = syncOptions else { return }
            try options.setOption(.socketOption(.so_keepalive), value: 1)
            try options.setOption(.tcp(TCP_KEEPIDLE), value: settings.idle.wholeSeconds)
            try options.setOption(.tcp(TCP_KEEPINTVL), value: settings.interval.wholeSeconds)
            try options.setOption(.tcp(TCP_KEEPCNT), value: settings.count)
            try options.setOption(.tcp(TCP_USER_TIMEOUT), value: Int(settings.detection.milliseconds))
        }

        /// Returns the time since the last data or acknowledgement; nil if the kernel does not report it.
        func silence() -> EventLoopFuture<Duration?> {
            guard let socket = self as? any SocketOptionProvider else { return eventLoop.makeSucceededFuture(nil) }
            return socket.getTCPInfo()
                .map { .milliseconds(Int64(min($0.tcpi_last_ack_recv, $0.tcpi_last_data_recv))) }
                .recover { _ in nil }
        }
    }

    extension ChannelOption where Self == ChannelOptions.Types.SocketOption {
        fileprivate static func tcp(_ option: CInt) -> Self {
            Self(level: .tcp, name: NIOBSDSocket.Option(rawValue: option))
        }
    }

    extension Duration {
        /// Number of whole seconds, clamped to the range of tcp(7).
        fileprivate var wholeSeconds: Int { Int(min(max(components.seconds, 1), 32_767)) }
    }
#endif
