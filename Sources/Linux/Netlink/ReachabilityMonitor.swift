import AgentModel
import Linux
import Synchronization

/// Monitors the path to a destination, like Apple's `SCNetworkReachability`. Uses only the kernel's tables and sends no
/// packets. Does not test if the destination answers.
///
///     let monitor = try await ReachabilityMonitor(of: .internet)
///     await monitor.start()
///     for await path in monitor.changes {
///         print(path.isReachable ? "online by \(path.uplink?.interface ?? "nothing")" : "offline")
///     }
@AgentLoop
public final class ReachabilityMonitor {
    public nonisolated let destination: Destination

    private let routes: RouteMonitor
    private nonisolated let board = CurrentPath()
    /// Subscription to the routes; nil while stopped.
    private var following: RouteFollowing?
    private nonisolated let hints: Mutex<PathHints>
    private(set) var isLooking = false
    private var isStale = false
    private var resolution: Task<Void, Never>?
    private var retry: LoopTimer?
    private var nextResolution: LoopTimer?

    /// - Parameter routes: monitor of the kernel's tables; several reachability monitors may share it.
    public init(of destination: Destination, routes: RouteMonitor) {
        self.destination = destination
        self.routes = routes
        hints = Mutex(PathHints(addresses: destination.fixedAddresses))
    }

    /// Creates a monitor with its own `RouteMonitor`. Needs no privileges.
    public convenience init(of destination: Destination) async throws(NetlinkError) {
        self.init(of: destination, routes: try await RouteMonitor { _ in })
    }

    isolated deinit { stop() }

    /// Current path, available on any thread. While stopped, asks the kernel, which takes about 1 ms. Uses the last
    /// resolved addresses; `currentPath()` resolves the name first.
    public nonisolated var path: NetworkPath { board.path ?? readPath() ?? board.last ?? NetworkPath.none }

    public nonisolated var flags: ReachabilityFlags { path.flags }

    /// Resolves the name and returns the current path, even while stopped.
    public func currentPath() async -> NetworkPath {
        if let name = destination.name {
            let found = Destination.usable(await name.addresses(name.text))
            hints.withLock { $0.addresses = found }
        }
        return await findPath() ?? path
    }

    /// Sequence of paths: the current one, then each change. Continues after `stop()`, repeats the path after
    /// `start()`, and ends with the monitor. Each caller gets a new sequence.
    public nonisolated var changes: NetworkPathChanges { board.changes() }

    /// Starts monitoring. Has no effect if already started.
    public func start() {
        guard following == nil else { return }
        following = routes.follow { [weak self] in self?.changed($0) }
        board.beginRun()
        resolve()
        look()
    }

    /// Stops monitoring. From then on, `path` and `flags` ask the kernel.
    public func stop() {
        following = nil
        board.endRun()
        resolution?.cancel()
        (resolution, retry, nextResolution) = (nil, nil, nil)
    }

    /// Sets whether an interface requires sign-in. The kernel does not know this.
    public func setCaptive(_ isCaptive: Bool, on interface: String) {
        let isNews = hints.withLock { hints in
            isCaptive
                ? hints.captiveInterfaces.insert(interface).inserted
                : hints.captiveInterfaces.remove(interface) != nil
        }
        if isNews { look() }
    }

    /// Sets whether a program connects the interface on demand. The kernel does not know this.
    public func setOnDemand(_ isOnDemand: Bool, on interface: String) {
        let isNews = hints.withLock { hints in
            isOnDemand
                ? hints.onDemandInterfaces.insert(interface).inserted
                : hints.onDemandInterfaces.remove(interface) != nil
        }
        if isNews { look() }
    }

    private func changed(_ subject: RouteSubject) {
        look()
        // Waits 200 ms, because a join or leave causes several changes in a row.
        guard subject != .neighbours, nextResolution == nil else { return }
        resolve(after: .milliseconds(200))
    }

    // MARK: The path

    /// Searches for a path now, or after the running search.
    private func look() {
        guard following != nil else { return }
        isStale = true
        guard !isLooking else { return }
        isLooking = true
        Task {
            while isStale, let following {
                isStale = false
                let path = await findPath()
                guard self.following === following else { continue }
                if let path { board.show(path) } else { lookLater() }
            }
            isLooking = false
        }
    }

    /// Searches again later, because the kernel lacks resources.
    private func lookLater() {
        retry = LoopTimer(after: .seconds(1)) { [weak self] in self?.look() }
    }

    /// - Returns: nil if the kernel fails.
    private func findPath() async -> NetworkPath? {
        var best = NetworkPath.none
        for address in hints.withLock({ $0.addresses }) ?? [] {
            do throws(NetlinkError) {
                let route = try await routes.routeLookup(to: address)
                best = best.orBetter(
                    NetworkPath(to: address, by: route, in: routes.table, hints.withLock { $0 }))
            } catch {
                return nil
            }
            if best.isReachable { break }
        }
        return best
    }

    /// Reads the path on the current thread.
    /// - Returns: nil if the kernel fails.
    private nonisolated func readPath() -> NetworkPath? {
        let known = hints.withLock { $0 }
        var best = NetworkPath.none
        do throws(NetlinkError) {
            var reading = try RouteReading()
            let table = try reading.table(disconnected: routes.disconnected.withLock { $0 })
            for address in known.addresses ?? [] where !best.isReachable {
                best = best.orBetter(NetworkPath(to: address, by: try reading.route(to: address), in: table, known))
            }
        } catch {
            return nil
        }
        return best
    }

    // MARK: The name

    private func resolve(after delay: Duration) {
        guard destination.name != nil else { return }
        nextResolution = LoopTimer(after: delay) { [weak self] in self?.resolve() }
    }

    private func resolve() {
        guard let name = destination.name else { return }
        nextResolution = nil
        resolution?.cancel()
        resolution = Task { [weak self] in
            let found = await name.addresses(name.text)
            guard !Task.isCancelled else { return }
            self?.apply(found)
        }
    }

    private func apply(_ found: [IPAddress]) {
        let usable = Destination.usable(found)
        hints.withLock { $0.addresses = usable }
        if usable.isEmpty { resolve(after: .seconds(30)) }
        look()
    }
}
