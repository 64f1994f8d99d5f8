import AgentModel
import Linux

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
    /// Nil until the name has been resolved.
    private var addresses: [IPAddress]?
    private var captiveInterfaces: Set<String> = []
    private var onDemandInterfaces: Set<String> = []
    private(set) var isLooking = false
    private var isStale = false
    private var resolution: Task<Void, Never>?
    private var retry: LoopTimer?
    private var nextResolution: LoopTimer?

    /// - Parameter routes: may serve others too.
    public init(of destination: Destination, routes: RouteMonitor) {
        self.destination = destination
        self.routes = routes
        addresses = destination.fixedAddresses
    }

    /// For a program that needs nothing else of links and routes. No privileges are needed.
    public convenience init(of destination: Destination) async throws(NetlinkError) {
        self.init(of: destination, routes: try await RouteMonitor { _ in })
    }

    isolated deinit { stop() }

    /// As it was found last, from any thread and at once; none before the first look.
    public nonisolated var path: NetworkPath { board.path ?? .none }

    /// The flags of `path`.
    public nonisolated var flags: ReachabilityFlags { path.flags }

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

    /// Nothing changes any more until `start()`; what was found last stays readable.
    public func stop() {
        following = nil
        resolution?.cancel()
        (resolution, retry, nextResolution) = (nil, nil, nil)
    }

    /// Whether the user has to sign in before packets get beyond the network at an interface, which the kernel does not
    /// know. It stays so until it is said otherwise.
    public func setCaptive(_ isCaptive: Bool, on interface: String) {
        let isNews =
            isCaptive
            ? captiveInterfaces.insert(interface).inserted : captiveInterfaces.remove(interface) != nil
        if isNews { look() }
    }

    /// Whether a program on the device makes the connection of an interface when it is wanted, which the kernel does
    /// not know. It stays so until it is said otherwise.
    public func setOnDemand(_ isOnDemand: Bool, on interface: String) {
        let isNews =
            isOnDemand
            ? onDemandInterfaces.insert(interface).inserted : onDemandInterfaces.remove(interface) != nil
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
        for address in addresses ?? [] {
            do throws(NetlinkError) {
                best = Self.better(best, path(to: address, by: try await routes.routeLookup(to: address)))
            } catch {
                return nil
            }
            if best.isReachable { break }
        }
        return best
    }

    private func path(to address: IPAddress, by route: RouteLookup?) -> NetworkPath {
        let link = route.flatMap { routes.links[$0.index] }
        let uplink = link.flatMap { routes.uplink(over: $0.index) }
        let interfaces = [uplink?.interface, uplink?.carrier?.interface].compactMap { $0 }
        let flags = ReachabilityFlags(
            route: route, link: link, carrier: uplink?.carrier?.kind,
            isHopSilent: route.map { routes.isSilent($0.gateway ?? address, on: $0.index) } ?? false,
            isCaptive: !captiveInterfaces.isDisjoint(with: interfaces),
            isOnDemand: !onDemandInterfaces.isDisjoint(with: interfaces),
            isWithoutConnection: link.map(routes.isWithoutConnection) ?? false)
        return NetworkPath(flags: flags, uplink: flags.contains(.reachable) ? uplink : nil)
    }

    private static func better(_ left: NetworkPath, _ right: NetworkPath) -> NetworkPath {
        right.flags.rank > left.flags.rank ? right : left
    }

    // MARK: The name

    private func resolve(after delay: Duration) {
        guard destination.fixedAddresses == nil else { return }
        nextResolution = LoopTimer(after: delay) { [weak self] in self?.resolve() }
    }

    private func resolve() {
        guard destination.fixedAddresses == nil, case .host(let name, let find) = destination else { return }
        nextResolution = nil
        resolution?.cancel()
        resolution = Task { [weak self] in
            let found = await find(name)
            guard !Task.isCancelled else { return }
            self?.take(found)
        }
    }

    private func take(_ found: [IPAddress]) {
        addresses = Array(found.prefix(8))
        if found.isEmpty { resolve(after: .seconds(30)) }
        look()
    }
}
