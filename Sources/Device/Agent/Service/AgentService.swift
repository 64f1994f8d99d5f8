import AgentModel
import AppServer
import CLinux
import DevicePage
import Glibc
import Linux
import Logging
import NIOPosix
import Synchronization

/// The agent as a service: the device's side and the app's side, from start to the signal that ends them, and what the
/// service manager is told meanwhile.
public enum AgentService {
    /// The signals that the service goes by are kept for it from now on, and none of them ends the process any more. To
    /// be called before anything that takes its time.
    public static func takeSignals() throws(SystemError) -> ProcessSignals {
        try ProcessSignals([SIGTERM, SIGINT, SIGHUP])
    }

    /// Has the kernel spend no memory on speed that the agent has no use for. To be called before there are threads,
    /// whose stacks would have 2 MB each.
    public static func saveMemory() { _ = memory_without_huge_pages() }

    /// Has the heap overwrite what is given back: passwords and keys go through memory of NIO, of BoringSSL and of
    /// Foundation, which do not. To be called on the first thread, before any of them is in memory: where another
    /// thread begins the process anew, it looks ended for a moment.
    ///
    /// glibc keeps small blocks for each thread without that, unless it is told before it starts
    /// (`glibc.malloc.tcache_count=0` in `$GLIBC_TUNABLES`, as `altnet.service` has it): where it was not, the process
    /// begins anew.
    public static func overwriteFreedMemory() {
        let setting = "glibc.malloc.tcache_count=0"
        let tunables = getenv("GLIBC_TUNABLES").map { String(cString: $0) } ?? ""
        if !tunables.split(separator: ":").contains(Substring(setting)) {
            setenv("GLIBC_TUNABLES", tunables.isEmpty ? setting : "\(tunables):\(setting)", 1)
            // It returns only where it fails, and then the agent is better than none.
            execv("/proc/self/exe", CommandLine.unsafeArgv)
        }
        _ = memory_overwrite_freed()
    }

    /// Runs until SIGTERM or SIGINT. The link stays up afterwards. SIGHUP has the settings read anew.
    /// - Parameters:
    ///   - settings: as read from `source` at the start.
    ///   - signals: those of `takeSignals()`; what has come before is seen to first.
    ///   - sink: where the log goes.
    public static func run(
        _ settings: AgentSettings, from source: SettingsSource, _ signals: ProcessSignals, logTo sink: LogSink
    ) async throws {
        forbidCoreDumps()
        // On a board systemd has made them; at the bench they are missing.
        mkdir(settings.socketFolder, 0o755)
        mkdir(settings.stateDirectory, 0o700)
        let log = Logger(label: "altnet") { _ in SinkLogHandler(sink) }
        for note in settings.notes { log.notice("\(note)") }
        let manager = ServiceManager(socket: source.environment["NOTIFY_SOCKET"])
        let (happenings, teller) = AsyncStream.makeStream(of: Happening.self)
        signals.deliver { teller.yield(.signal($0)) }
        defer { signals.end(ignoring: true) }
        let start = Task {
            do {
                teller.yield(.started(try await RunningAgent(settings, manager, log)))
            } catch { teller.yield(.failed(error)) }
        }
        var reload = SettingsReload(running: settings)
        var agent: RunningAgent?
        var isReady = false
        wait: for await happening in happenings {
            switch happening {
            case .started(let running):
                agent = running
                await running.serve(watchdog: watchdogInterval(source.environment))
                isReady = true
                if reload.isPending { await running.device.apply(reload.running) }
            case .failed(let error): throw error
            case .signal(SIGHUP):
                // While it starts no reload is waited for, and READY would say that it has started.
                if isReady { manager?.tell(.reloading(at: .sinceBoot)) }
                await reload.run(source, sink, agent?.device, log)
                if isReady { manager?.tell(.ready) }
            case .signal(let number):
                log.notice("ending on \(number == SIGINT ? "SIGINT" : "SIGTERM"); the link stays up")
                break wait
            }
        }
        manager?.tell(.stopping, .status("ending"))
        start.cancel()
        await agent?.end()
    }

    private enum Happening: Sendable {
        case started(RunningAgent)
        case failed(any Error)
        case signal(Int32)
    }

    /// Passwords are in this process's memory.
    private static func forbidCoreDumps() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    }

    private static func watchdogInterval(_ environment: [String: String]) -> Duration? {
        Watchdog.interval(
            limit: environment["WATCHDOG_USEC"], process: environment["WATCHDOG_PID"], ownProcess: getpid())
    }
}

/// The parts of the running service.
private struct RunningAgent: Sendable {
    let device: DeviceAgent
    private let server: AppServer
    private let group: MultiThreadedEventLoopGroup
    private let manager: ServiceManager?
    private let log: Logger
    private let tasks = TaskBag()

    /// Returns once programs of this machine are answered.
    init(_ settings: AgentSettings, _ manager: ServiceManager?, _ log: Logger) async throws {
        (self.manager, self.log) = (manager, log)
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let hub = EventHub()
        device = try await DeviceAgent.prepare(settings: settings, hub: hub, on: group, log: log)
        let page = DevicePage(
            device, deviceId: device.identity.id, keys: device.keys, localName: Self.localName,
            port: settings.hasWebInterface ? settings.lanPort : nil)
        server = AppServer(
            unix: settings.unixListener, lan: settings.lanListener(for: device.identity, device.keys, page: page),
            service: device, hub: hub, names: device.names, limits: settings.serverLimits, on: group.next()
        ) { notice in log.log(level: notice.level, "\(notice)") }
        if settings.hasWebInterface { tasks.add(Task { await page.follow(hub) }) }
        server.serve(device.keys)
        // First, because it fails where another agent is at work, whose supplicant is not to be touched.
        try await server.start(inNetwork: false)
        let accessPointPage = AccessPointPage(page, on: group.next()) { [device] in
            Task { await device.browserAsked() }
        }
        await device.open(accessPointPage)
        await device.begin { [server] in
            server.addressesChanged(to: $0)
        } onServiceStatus: { status in
            manager?.tell(.status(status))
        }
        let metrics = MetricsPublisher(settings.metrics, on: group.next(), log: log) { [device] in
            await device.metrics()
        }
        tasks.add(
            Task {
                await metrics.run()
                await metrics.end()
            })
        log.notice("altnet \(Version.current) keeps \(settings.interface) online, answers at \(settings.socketPath)")
    }

    /// By which the responder of the board answers for it (RFC 6762, 3), where it has one.
    private static var localName: String? {
        var name = [CChar](repeating: 0, count: 65)
        guard gethostname(&name, name.count - 1) == 0 else { return nil }
        let label = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            .prefix { $0 != "." }
        return label.isEmpty || label == "localhost" ? nil : "\(label).local"
    }

    /// From now on the service is there for all users.
    func serve(watchdog interval: Duration?) async {
        manager?.tell(.ready, .status(await device.serviceStatus))
        tasks.add(Task { await ListenerRetry(server: server, log: log).open() })
        if let manager, let interval {
            let stations: [Watchdog.Station] = [
                .agentLoop, .eventLoops(of: group, name: "the event loop of the connections"),
            ]
            let watchdog = Watchdog(stations: stations, interval: interval, log: log)
            tasks.add(Task { await watchdog.run { manager.tell(.alive) } })
        }
    }

    /// The link stays up.
    func end() async {
        tasks.cancel()
        await server.stop()
        await device.stop()
        try? await group.shutdownGracefully()
    }
}

/// Tasks that end together.
private final class TaskBag: Sendable {
    private let tasks = Mutex<[Task<Void, Never>]>([])

    func add(_ task: Task<Void, Never>) { tasks.withLock { $0.append(task) } }

    func cancel() { for task in tasks.withLock({ $0 }) { task.cancel() } }
}
