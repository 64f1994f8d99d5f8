import AppServer
import Dispatch
import Glibc
import Logging
import NIOPosix

/// The agent as a service: the device's side and the app's side, from start to the signal that ends them.
public enum AgentService {
    /// Runs until SIGTERM or SIGINT. The link stays up afterwards.
    public static func run(_ settings: AgentSettings, log: Logger) async throws {
        forbidCoreDumps()
        // On a board systemd has made them; at the bench nobody has.
        mkdir(settings.socketFolder, 0o755)
        mkdir(settings.stateDirectory, 0o700)
        let hub = EventHub()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let agent = try await DeviceAgent.prepare(settings: settings, hub: hub, on: group, log: log)
        let server = AppServer(
            unix: settings.unixListener, lan: settings.lanListener(for: agent.identity.key), service: agent, hub: hub,
            limits: settings.serverLimits
        ) { notice in log.log(level: notice.level, "\(notice)") }
        // First, because it fails where another agent is at work, whose supplicant is not to be touched.
        try await server.start(inNetwork: false)
        await agent.begin { server.addressesChanged(to: $0) }
        log.notice("altnet \(Version.current) keeps \(settings.interface) online, answers at \(settings.socketPath)")
        let door = Task { await NetworkDoor(server: server, log: log).open() }
        let signal = await terminationSignal()
        log.notice("ending on \(signal == SIGINT ? "SIGINT" : "SIGTERM"); the link stays up")
        door.cancel()
        await server.stop()
        await agent.stop()
        try? await group.shutdownGracefully()
    }

    /// Passwords are in this process's memory.
    private static func forbidCoreDumps() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }

    private static func terminationSignal() async -> Int32 {
        let signals = AsyncStream<Int32> { continuation in
            let sources = [SIGTERM, SIGINT].map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number)
                source.setEventHandler { continuation.yield(number) }
                source.activate()
                return SignalSource(source)
            }
            continuation.onTermination = { _ in for source in sources { source.cancel() } }
        }
        for await signal in signals { return signal }
        return SIGTERM
    }
}

/// A dispatch source may be cancelled from anywhere.
private struct SignalSource: @unchecked Sendable {
    private let source: any DispatchSourceSignal

    init(_ source: any DispatchSourceSignal) { self.source = source }

    func cancel() { source.cancel() }
}
