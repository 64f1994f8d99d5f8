import AgentCore
import AgentModel
import AppProtocol
import Connectivity
import Failover
import Hotspots
import KeyFile
import Linux
import Logging
import NIOCore
import Netlink

// Connectivity checks.
extension DeviceAgent {
    /// - Throws: `TrustError` if a target uses TLS and the authorities cannot be loaded.
    static func makeTargetStore(
        _ settings: AgentSettings, _ state: StoredState, on group: any EventLoopGroup, log: Logger
    ) throws(TrustError) -> TargetStore {
        var own: [Target]?
        if let stored = state.targets {
            do throws(TargetError) {
                own = try Target.all(stored.joined(separator: " "))
            } catch {
                log.warning("ignoring the targets set by an app: \(error)")
            }
        }
        let targets = own ?? settings.connectivity.targets
        let authorities = settings.connectivity.authorities
        let keepAlive = settings.connectivity.keepAlive
        return TargetStore(
            settings.connectivity, own: own,
            trust: targets.contains(where: \.isTLS) ? try .ofDevice(authorities: authorities) : nil
        ) { target, trust, report in
            TargetConnection(
                target, trust: trust, keepAlive: keepAlive, on: group, now: { .now },
                onChange: { _ in report(.changed) }, onDoubt: { _ in report(.doubted) })
        }
    }

    static func connectivityMonitor(
        _ settings: AgentSettings, _ state: StoredState, _ targetStore: TargetStore, through wifi: InterfaceNetwork,
        routes: RouteMonitor, on group: any EventLoopGroup, watchedBy outside: NetworkReadings
    ) -> ConnectivityMonitor {
        var validateOnline: (@Sendable (InterfaceNetwork, Duration) async -> ValidationCheck)?
        if let source = settings.connectivity.source {
            let validator = OnlineValidator(source: source)
            validateOnline = { network, limit in
                await outside.reading(.probe) { await validator.look(through: network, within: limit) }
                    ?? ValidationCheck(finding: .failed(.unexpectedAnswer), cost: 0)
            }
        }
        let authorities = settings.connectivity.authorities
        let api = CaptivePortalAPI(client: WebClient(trusting: authorities.map { .file($0) } ?? .system))
        let watch = ConnectivityMonitor(
            required: targetStore.required,
            dependencies: ConnectivityMonitor.Dependencies(
                validateOnline: validateOnline,
                findPortal: { network, limit in await network.announcements(within: limit).captivePortalAPI },
                askPortal: { url, network, limit in
                    await outside.reading(.captiveAPI) { await api.look(url, through: network, within: limit) }
                        ?? CaptiveCheck(result: .failure(.leftAlone), cost: 0)
                },
                askGateway: { network, limit in
                    guard let interface = network.interface ?? routes.wayOut else { return false }
                    return await routes.gatewaysAnswer(on: interface, within: limit)
                },
                wifi: wifi, unbound: InterfaceNetwork(interface: nil, on: group, watchedBy: outside.marks)),
            budget: settings.connectivity.budget)
        let hotspots = settings.connectivity.providersSocket.map { socket in
            Hotspots(
                socket: socket, on: group, remembering: state.signIns.map(RememberedProvider.init),
                switchedOff: Set(state.providersOff), watchedBy: outside.marks, now: { .now },
                onRemember: { [weak watch] entries in Task { @AgentLoop in watch?.callbacks.remember(entries) } },
                onChange: { [weak watch] _ in Task { @AgentLoop in watch?.signInMayHaveChanged() } })
        }
        watch.watch(targetStore.watched, signingInBy: hotspots)
        return watch
    }

    func beginConnectivityMonitor() {
        reach.callbacks = ConnectivityMonitor.Callbacks(
            policy: { [weak self] in self?.handle(.found($0)) }, publish: { [weak self] in self?.hub.publish($0) },
            changed: { [weak self] in self?.handle(.connectivityChanged) },
            problem: { [log] in if let problem = $0 { log.warning("sign-in failed: \(problem)") } },
            remember: { [weak self] in self?.remember($0) }, joinedNetwork: { [weak self] in self?.joinedNetwork },
            network: { [weak self] in self?[$0].network })
        uplinks.onVerdicts = { [weak self] verdicts in
            self?.handle(.uplinksJudged(verdicts))
            self?.reach.handle(.uplinksJudged)
        }
        reachability.start()
        reachabilityChanges = Task { [weak self, changes = reachability.changes] in
            for await path in changes { self?.reach.handle(.flags(path.flags)) }
        }
    }

    private var joinedNetwork: (JoinedNetwork, NetworkName)? {
        let policy = core.policy
        guard let network = policy.phase.network.flatMap({ core.registry[$0] }) else { return nil }
        let bssid = policy.phase.accessPoint?.bssid
        let observation = policy.phase.network.flatMap { policy.lastObservation(of: $0) }
        let probe = settings.connectivity.source.map { source in
            let expected: JoinedNetwork.Probe.Expected =
                switch source.expected {
                case .status(let status): .status(status)
                case .body(let body): .body(body)
                }
            return JoinedNetwork.Probe(url: source.address.description, expected: expected)
        }
        return (
            JoinedNetwork(
                ssid: network.ssid, bssid: bssid, security: observation?.security ?? .unknown,
                interface: station.interface, nameServers: station.addresses?.configuration.nameServers ?? [],
                signal: observation?.signal, portal: reach.verdict?.portal, probe: probe,
                api: reach.portalState.map(JoinedNetwork.API.init)),
            NetworkName(ssid: network.ssid, hash: network.hash(localKey: identity.localKey))
        )
    }
}

extension ConnectivityMonitor {
    /// Reports that the sign-in may have changed. Reads the current status, so the order of calls does not matter.
    fileprivate func signInMayHaveChanged() {
        guard let status = hotspots?.status else { return }
        signInChanged(to: status)
    }
}

extension JoinedNetwork.API {
    init(_ state: CaptiveState) {
        self.init(
            userPortal: state.userPortal, venueInfo: state.venueInfo,
            canExtendSession: state.canExtendSession, secondsRemaining: state.secondsRemaining,
            bytesRemaining: state.bytesRemaining)
    }
}

extension RouteMonitor {
    /// Interface through which packets leave the device; for a tunnel, the interface that carries it.
    fileprivate var wayOut: String? { uplink.map { $0.carrier?.interface ?? $0.interface } }

    /// Returns true if one of the interface's gateways answers, or if it has none. Asks up to three at the same time.
    func gatewaysAnswer(on interface: String, within limit: Duration) async -> Bool {
        guard let index = link(named: interface)?.index else { return false }
        let gateways = defaultRoutes.filter { $0.index == index }
            .compactMap { $0.gateway.flatMap { IPAddress(bytes: $0) } }.prefix(3)
        guard !gateways.isEmpty else { return true }
        // A task group would wait for the slowest gateway.
        let (answers, teller) = AsyncStream.makeStream(of: Bool.self)
        for gateway in gateways {
            Task { teller.yield(await probe(gateway: gateway, on: interface, within: limit)) }
        }
        return await answers.prefix(gateways.count).contains(true)
    }
}
