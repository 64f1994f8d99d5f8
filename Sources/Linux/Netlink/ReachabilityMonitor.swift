import AgentModel
import Linux
import Synchronization

/// Knows what there is between the device and a destination, as `SCNetworkReachability` does on Apple's systems: from
/// what the kernel has in its tables, without a packet sent. Whether the other side answers is another question.
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
    private nonisolated let board = PathBoard()
    /// Nil while it does not run.
    private var following: RouteFollowing?
    private nonisolated let hints: Mutex<PathHints>
    private(set) var isLooking = false
    private var isStale = false
    private var resolution: Task<Void, Never>?
    private var retry: LoopTimer?
    private var nextResolution: LoopTimer?

    /// - Parameter routes: may serve others too.
    public init(of destination: Destination, routes: RouteMonitor) {
        self.destination = destination
        self.routes = routes
        hints = Mutex(PathHints(addresses: destination.fixedAddresses))
    }

    /// For a program that needs nothing else of links and routes. No privileges are needed.
    public convenience init(of destination: Destination) async throws(NetlinkError) {
        self.init(of: destination, routes: try await RouteMonitor { _ in })
    }

    isolated deinit { stop() }

    /// The path at this moment, from any thread and at any time. While the monitor runs it is the one that it follows;
    /// before `start()` and after `stop()` the kernel is asked, which takes about a millisecond.
    ///
    /// Names are not resolved here: the addresses found last count, and `currentPath()` resolves the name first.
    public nonisolated var path: NetworkPath { board.path ?? readPath() ?? board.last ?? NetworkPath.none }

    /// The flags of `path`.
    public nonisolated var flags: ReachabilityFlags { path.flags }

    /// Returns the path at this moment, whether the monitor runs or not. Resolves a name first.
    public func currentPath() async -> NetworkPath {
        if let name = destination.name {
            let found = Destination.usable(await name.addresses(name.text))
            hints.withLock { $0.addresses = found }
        }
        return await findPath() ?? path
    }

    /// The path that there is, as soon as there is one, and then each change. It goes on when the monitor is stopped
    /// and started again, which tells the path anew, and ends with the monitor. Each caller gets a sequence of its own.
    public nonisolated var changes: NetworkPathChanges { board.changes() }

    /// Starts to look, and to follow what changes. Nothing happens if it has been started before.
    public func start() {
        guard following == nil else { return }
        following = routes.follow { [weak self] in self?.changed($0) }
        board.beginRun()
        resolve()
        look()
    }

    /// Follows nothing any more until `start()`. `path` and `flags` then ask the kernel.
    public func stop() {
        following = nil
        board.endRun()
        resolution?.cancel()
        (resolution, retry, nextResolution) = (nil, nil, nil)
    }

    /// Whether the user has to sign in before packets get beyond the network at an interface, which the kernel does not
    /// know. It stays so until it is said otherwise.
    public func setCaptive(_ isCaptive: Bool, on interface: String) {
        let isNews = hints.withLock { hints in
            isCaptive
                ? hints.captiveInterfaces.insert(interface).inserted
                : hints.captiveInterfaces.remove(interface) != nil
        }
        if isNews { look() }
    }

    /// Whether a program on the device makes the connection of an interface when it is wanted, which the kernel does
    /// not know. It stays so until it is said otherwise.
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
        // Several changes come together when a network is joined or left.
        guard subject != .neighbours, nextResolution == nil else { return }
        resolve(after: .milliseconds(200))
    }

    // MARK: The path

    /// Looks now, or again when the look under way has ended.
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

    /// The kernel is short of something. Ask again later.
    private func lookLater() {
        retry = LoopTimer(after: .seconds(1)) { [weak self] in self?.look() }
    }

    /// - Returns: nil where the kernel does not say.
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

    /// Reads on the thread at hand.
    /// - Returns: nil where the kernel does not say.
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
            self?.take(found)
        }
    }

    private func take(_ found: [IPAddress]) {
        let usable = Destination.usable(found)
        hints.withLock { $0.addresses = usable }
        if usable.isEmpty { resolve(after: .seconds(30)) }
        look()
    }
}
