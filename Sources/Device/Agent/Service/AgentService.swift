import AgentModel
import AppServer
import CLinux
import DevicePage
import Glibc
import Linux
import Logging
import NIOPosix
import Synchronization

/// Runs the agent as a service, from start to the final signal, and notifies the service manager.
public enum AgentService {
    /// Catches the service's signals from now on, so that they do not end the process. Call this first.
    public static func catchSignals() throws(SystemError) -> ProcessSignals {
        try ProcessSignals([SIGTERM, SIGINT, SIGHUP])
    }

    /// Disables huge pages, with which each thread's stack would use 2 MB. Call this before threads exist.
    public static func saveMemory() { _ = memory_without_huge_pages() }

    /// Makes the heap overwrite freed memory: NIO, BoringSSL and Foundation do not wipe passwords and keys. Call this
    /// on the first thread before any secret is in memory.
    ///
    /// Restarts the process unless `$GLIBC_TUNABLES` has `glibc.malloc.tcache_count=0`, as in `altnet.service`: glibc
    /// otherwise keeps small blocks for each thread. A restart from another thread would look like the process's end.
    public static func overwriteFreedMemory() {
        let setting = "glibc.malloc.tcache_count=0"
        let tunables = getenv("GLIBC_TUNABLES").map { String(cString: $0) } ?? ""
        if !tunables.split(separator: ":").contains(Substring(setting)) {
            setenv("GLIBC_TUNABLES", tunables.isEmpty ? setting : "\(tunables):\(setting)", 1)
            // `execv` returns only on failure. The agent then continues without the setting.
            execv("/proc/self/exe", CommandLine.unsafeArgv)
        }
        _ = memory_overwrite_freed()
    }

    /// Runs until SIGTERM or SIGINT, and leaves the link up. SIGHUP reloads the settings.
    /// - Parameters:
    ///   - settings: settings from `source` at the start.
    ///   - signals: result of `catchSignals()`. Signals caught before this call are handled first.
    ///   - sink: destination of the log.
    public static func run(
        _ settings: AgentSettings, from source: SettingsSource, _ signals: ProcessSignals, logTo sink: LogSink
    ) async throws {
        forbidCoreDumps()
        // systemd creates these folders on a board. On a development machine they are missing.
        mkdir(settings.socketFolder, 0o755)
        mkdir(settings.stateDirectory, 0o700)
        let log = Logger(label: "altnet") { _ in SinkLogHandler(sink) }
        for warning in settings.warnings { log.warning("\(warning)") }
        for remark in settings.remarks { log.notice("\(remark)") }
        let manager = ServiceManager(socket: source.environment["NOTIFY_SOCKET"])
        let (happenings, teller) = AsyncStream.makeStream(of: Happening.self)
        signals.deliver { teller.yield(.signal($0)) }
        defer { signals.end(ignoring: true) }
        let start = Task {
            do {
                let running = try await RunningAgent(settings, manager, log) { teller.yield(.moved($0)) }
                teller.yield(.started(running))
            } catch { teller.yield(.failed(error)) }
        }
        var reload = SettingsReload(running: settings)
        var agent: RunningAgent?
        var isReady = false
        var moved: RadioMoved?
        wait: for await happening in happenings {
            switch happening {
            case .started(let running):
                agent = running
                await running.serve(watchdog: watchdogInterval(source.environment))
                isReady = true
                if reload.isPending { await running.device.apply(reload.running) }
            case .failed(let error): throw error
            case .moved(let error):
                moved = error
                break wait
            case .signal(SIGHUP):
                // Send nothing during the start: READY would report the start as finished.
                if isReady { manager?.notify(.reloading(at: .sinceBoot)) }
                await reload.run(source, sink, agent?.device, log)
                if isReady { manager?.notify(.ready) }
            case .signal(let number):
                log.notice("stopping on \(number == SIGINT ? "SIGINT" : "SIGTERM"); the link stays up")
                break wait
            }
        }
        manager?.notify(.stopping, .status("ending"))
        start.cancel()
        await agent?.end()
        if let moved { throw moved }
    }

    private enum Happening: Sendable {
        case started(RunningAgent)
        case failed(any Error)
        case moved(RadioMoved)
        case signal(Int32)
    }

    /// Forbids core dumps, because the process's memory contains passwords.
    private static func forbidCoreDumps() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }

    private static func watchdogInterval(_ environment: [String: String]) -> Duration? {
        Watchdog.interval(
            limit: environment["WATCHDOG_USEC"], process: environment["WATCHDOG_PID"], ownProcess: getpid())
    }
}

private struct RunningAgent: Sendable {
    let device: DeviceAgent
    private let server: AppServer
    private let group: MultiThreadedEventLoopGroup
    private let manager: ServiceManager?
    private let log: Logger
    private let tasks = TaskBag()

    /// Starts the agent. Returns when programs of this machine can connect.
    /// - Parameter onRadioMove: called when a radio of the settings has another name than at the start.
    init(
        _ settings: AgentSettings, _ manager: ServiceManager?, _ log: Logger,
        onRadioMove: @escaping @Sendable (RadioMoved) -> Void
    ) async throws {
        (self.manager, self.log) = (manager, log)
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let hub = EventHub()
        device = try await DeviceAgent.prepare(settings: settings, hub: hub, on: group, log: log)
        let page = DevicePage(
            device, deviceId: device.identity.id, keys: device.keys, localName: Self.localName,
            port: settings.hasWebInterface ? settings.lanPort : nil, clock: TaskClock())
        server = AppServer(
            unix: settings.unixListener, lan: settings.lanListener(for: device.identity, device.keys, page: page),
            service: device, hub: hub, names: device.names, limits: settings.serverLimits, clock: TaskClock(),
            on: group.next()
        ) { notice in log.log(level: notice.level, "\(notice)") }
        if settings.hasWebInterface { tasks.add(Task { await page.follow(hub) }) }
        server.serve(device.keys)
        // Start the server first: it fails if another agent is running, whose wpa_supplicant must stay untouched.
        try await server.start(inNetwork: false)
        let accessPointPage = AccessPointPage(page, on: group.next()) { [device] in
            Task { await device.browserAsked() }
        }
        await device.open(accessPointPage)
        await device.begin { [server] in
            server.addressesChanged(to: $0)
        } onRadioMove: {
            onRadioMove($0)
        } onServiceStatus: { status in
            manager?.notify(.status(status))
        }
        let metrics = MetricsPublisher(settings.metrics, on: group.next(), log: log) { [device] in
            await device.metrics()
        }
        tasks.add(
            Task {
                await metrics.run()
                await metrics.end()
            })
        log.notice("altnet \(Version.current) started for \(settings.interface), listening at \(settings.socketPath)")
    }

    /// The board's name in multicast DNS (RFC 6762, 3), such as `pump.local`; nil without a host name.
    private static var localName: String? {
        var name = [CChar](repeating: 0, count: 65)
        guard gethostname(&name, name.count - 1) == 0 else { return nil }
        let label = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            .prefix { $0 != "." }
        return label.isEmpty || label == "localhost" ? nil : "\(label).local"
    }

    /// Opens the service for the network and reports it as ready.
    func serve(watchdog interval: Duration?) async {
        manager?.notify(.ready, .status(await device.serviceStatus))
        tasks.add(Task { await ListenerRetry(server: server, log: log).open() })
        if let manager, let interval {
            let stations: [Watchdog.Check] = [
                .agentLoop, .eventLoops(of: group, name: "the event loop of the connections"),
            ]
            let watchdog = Watchdog(stations: stations, interval: interval, clock: TaskClock(), log: log)
            tasks.add(Task { await watchdog.run { manager.notify(.alive) } })
        }
    }

    func end() async {
        tasks.cancel()
        await server.stop()
        await device.stop()
        try? await group.shutdownGracefully()
    }
}

private final class TaskBag: Sendable {
    private let tasks = Mutex<[Task<Void, Never>]>([])

    func add(_ task: Task<Void, Never>) { tasks.withLock { $0.append(task) } }

    func cancel() { for task in tasks.withLock({ $0 }) { task.cancel() } }
}
