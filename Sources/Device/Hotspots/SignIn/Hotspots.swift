import AgentModel
import AppProtocol
import NIOCore
import Synchronization

/// Lets the host's providers evaluate networks, and signs in through them.
public final class Hotspots: Sendable {
    private let connector: HostConnector
    private let settings: HotspotSettings
    private let driver: NIOLoopBoundBox<HotspotDriver>
    private let snapshot: Snapshot

    private final class Snapshot: Sendable {
        let status = Mutex(HotspotStatus())
        let switchedOff = Mutex<Set<String>>([])
    }

    /// - Parameters:
    ///   - socket: path of the provider host's socket.
    ///   - group: all work runs on one of its event loops.
    ///   - entries: last value of `onRemember`, including values from before a restart.
    ///   - onRemember: called on the event loop when another provider has signed in to a network. It must not block.
    ///   - onChange: called on the event loop for each change. It must not block.
    public init(
        socket: String, on group: any EventLoopGroup, settings: HotspotSettings = HotspotSettings(),
        remembering entries: [RememberedProvider] = [], switchedOff: Set<String> = [],
        watchedBy watch: any OutsideWatch = NoOutsideWatch(), now: @escaping @Sendable () -> Instant,
        onRemember: @escaping @Sendable ([RememberedProvider]) -> Void = { _ in },
        onChange: @escaping @Sendable (HotspotStatus) -> Void
    ) {
        let snapshot = Snapshot()
        let connector = HostConnector(socket: socket, loop: group.next(), watch: watch)
        self.snapshot = snapshot
        self.settings = settings
        self.connector = connector
        // The first number is random, so that answers to questions from before a restart are refused.
        var signIn = SignIn(
            settings: settings, remembering: entries, firstRequest: Int.random(in: 1...(1 << 30)))
        signIn.switchedOff = switchedOff
        snapshot.switchedOff.withLock { $0 = switchedOff }
        driver = NIOLoopBoundBox.makeBoxSendingValue(
            HotspotDriver(signIn, connector, now: now, remembered: onRemember) { status in
                let isNew = snapshot.status.withLock { current in
                    defer { current = status }
                    return current != status
                }
                if isNew { onChange(status) }
            }, eventLoop: connector.loop)
    }

    /// State of the hotspots, readable from any thread.
    public var status: HotspotStatus { snapshot.status.withLock { $0 } }

    /// Reports a captive network. This refutes a claimed sign-in, so the check must have begun after the claim.
    public func captiveFound(_ network: JoinedNetwork, name: NetworkName) { receive(.captive(network, name)) }

    /// Reports internet access. Resumes an earlier sign-in at this network, or lets providers evaluate it.
    public func onlineFound(_ network: JoinedNetwork, name: NetworkName) { receive(.online(network, name)) }

    /// Reports a network without a portal and without internet access. Lets providers evaluate it.
    public func offlineFound(_ network: JoinedNetwork, name: NetworkName) { receive(.offline(network, name)) }

    /// Starts maintenance, because the session ends soon and can be extended.
    public func sessionEnds(_ network: JoinedNetwork, name: NetworkName) { receive(.ending(network, name)) }

    /// Reports that the network is no longer used. Keeps its session for ``HotspotSettings/heldFor``.
    public func networkLeft() { receive(.left) }

    /// Logs off before the device leaves the network on purpose. Returns when the log-off is done, or after
    /// ``HotspotSettings/logoffLimit``.
    public func logOff() async {
        try? await connector.loop.flatSubmit { [driver] in driver.value.logOff() }.get()
    }

    /// Disabled providers. Networks that they have opened stay open.
    public var switchedOff: Set<String> {
        get { snapshot.switchedOff.withLock { $0 } }
        set {
            snapshot.switchedOff.withLock { $0 = newValue }
            receive(.switchedOff(newValue))
        }
    }

    /// Returns all providers, including disabled ones.
    public func providers() async throws(ProviderFault) -> [String] {
        let effect: ProviderConnection.Effect
        do {
            effect = try await connector.once(nil, within: settings.filterLimit) { ProviderConnection.listing() }
        } catch {
            throw error as? ProviderFault ?? .ended
        }
        switch effect {
        case .listed(let list): return list.names
        case .failed(let fault): throw fault
        case .send, .answer: throw .ended
        }
    }

    public func answer(_ answer: PortalAnswer) throws(PortalAnswerRefusal) {
        guard let request = status.request, request.id == answer.id else { throw .notAsked }
        try request.check(answer)
        receive(.person(answer))
    }

    /// Asks every provider which of the strongest ``ProviderLimits/scannedNetworks`` networks it may serve. Providers
    /// answer without network access.
    /// - Returns: sorted provider names by access point.
    public func filter(_ networks: [ScannedHotspot]) async -> [BSSID: [String]] {
        let asked = Array(
            networks.sorted { $0.signal > $1.signal }.prefix(ProviderLimits.scannedNetworks))
        let limit = settings.filterLimit
        guard !asked.isEmpty,
            case .listed(let list)? = try? await connector.once(nil, within: limit, { ProviderConnection.listing() })
        else { return [:] }
        let known = Set(asked.map(\.bssid))
        var claims: [BSSID: [String]] = [:]
        let off = switchedOff
        let providers = list.names.filter { !off.contains($0) }
        for start in stride(from: 0, to: providers.count, by: max(settings.parallel, 1)) {
            let names = providers[start..<min(start + max(settings.parallel, 1), providers.count)]
            await withTaskGroup(of: (String, [BSSID]).self) { [connector] group in
                for name in names {
                    group.addTask {
                        let effect = try? await connector.once(name, within: limit) {
                            ProviderConnection.opening(name, .filterScanList(asked))
                        }
                        guard case .answer(.serves(let bssids))? = effect else { return (name, []) }
                        return (name, bssids)
                    }
                }
                for await (name, bssids) in group {
                    for bssid in Set(bssids).intersection(known) { claims[bssid, default: []].append(name) }
                }
            }
        }
        return claims.mapValues { $0.sorted() }
    }

    public func shutDown() async {
        try? await connector.loop.submit { [driver] in driver.value.receive(.left) }.get()
    }

    private func receive(_ event: SignIn.Event) {
        connector.loop.execute { [driver] in driver.value.receive(event) }
    }
}

extension PortalRequest {
    func check(_ answer: PortalAnswer) throws(PortalAnswerRefusal) {
        guard let values = answer.values else { return }
        for (name, value) in values {
            guard let field = fields.first(where: { $0.name == name }) else { throw .unknownField(name.shortened) }
            guard value.count <= ProviderLimits.valueLength, let text = value.text,
                field.kind != .checkbox || text == "true" || text == "false"
            else { throw .invalidValue(name) }
        }
        for field in fields where field.isRequired {
            guard let value = values[field.name], value.count > 0,
                field.kind != .checkbox || value.text == "true"
            else { throw .missingField(field.name) }
        }
    }
}

/// Time limits and retries of providers.
public struct HotspotSettings: Sendable, Equatable {
    /// Time limits of single requests, including the start of the provider's process.
    public var filterLimit: Duration = .seconds(1)
    public var evaluateLimit: Duration = .seconds(5)
    public var authenticateLimit: Duration = .seconds(60)
    public var maintainLimit: Duration = .seconds(30)
    /// Maximum time of a log-off. After it, the device leaves the network.
    public var logoffLimit: Duration = .seconds(2)
    /// Time to start the next step, added to the limits above while the agent stays at the network.
    public var handover: Duration = .seconds(2)
    /// Number of providers asked in parallel.
    public var parallel = 4
    /// Time for the user's answer, and maximum number of questions in one sign-in.
    public var personLimit: Duration = .seconds(600)
    public var dialogues = 5
    /// Time limit for the agent's check of a claimed sign-in.
    public var confirmLimit: Duration = .seconds(15)
    /// Default and shortest interval of maintenance.
    public var maintainInterval: Duration = .seconds(300)
    public var shortestMaintainInterval: Duration = .seconds(10)
    /// Waits after failed rounds, doubled each time. A sign-in shorter than the first wait counts as failed.
    public var waits = BackOff(first: .seconds(30), last: .seconds(3600))
    /// Number of networks whose provider is remembered.
    public var rememberedNetworks = 16
    /// Number of lost networks whose session is kept, and the time for which a session is kept.
    public var heldSessions = 4
    public var heldFor: Duration = .seconds(24 * 3600)

    public init() {}
}

public struct HotspotStatus: Sendable, Equatable {
    /// State, provider and sign-in page for `connectivity`.
    public var portal = Portal()
    /// Current question to the user. Send it as `portal.request` when it changes.
    public var request: PortalRequest?
    /// Time until which the agent should stay at the network for a running sign-in; nil without one.
    public var signingInUntil: Instant?
    /// True if a captive network starts a sign-in now. False during a question to the user, after a refusal or log-off,
    /// and during a wait.
    public var isTryingWhereCaptive = true
    public var retryAt: Instant?
    /// The last failure with the provider's name, in printable text without secrets.
    public var problem: String?

    public init() {}
}

public enum PortalAnswerRefusal: Error, Sendable, Equatable {
    case notAsked
    case unknownField(String)
    /// A required field has no value.
    case missingField(String)
    /// The value is longer than ``ProviderLimits/valueLength``, not UTF-8, or not a Boolean for a checkbox.
    case invalidValue(String)
}

/// The provider that signed in to a network, for all its access points.
public struct RememberedProvider: Sendable, Hashable {
    public let ssid: SSID
    public let security: Security
    public let provider: String

    public init(ssid: SSID, security: Security, provider: String) {
        (self.ssid, self.security, self.provider) = (ssid, security, provider)
    }
}

struct RememberedProviders: Sendable {
    private let limit: Int
    /// Entries in the order of their last use, the latest one last.
    private(set) var entries: [RememberedProvider] = []

    init(_ entries: [RememberedProvider] = [], limit: Int) {
        self.limit = limit
        self.entries = Array(entries.suffix(limit))
    }

    var count: Int { entries.count }

    func provider(of network: JoinedNetwork) -> String? { entries.first { $0.isOf(network) }?.provider }

    mutating func remember(_ provider: String, for network: JoinedNetwork) {
        forget(network)
        entries.append(RememberedProvider(ssid: network.ssid, security: network.security, provider: provider))
        if entries.count > limit { entries.removeFirst(entries.count - limit) }
    }

    mutating func forget(_ network: JoinedNetwork) { entries.removeAll { $0.isOf(network) } }
}

extension RememberedProvider {
    fileprivate func isOf(_ network: JoinedNetwork) -> Bool {
        ssid == network.ssid && security == network.security
    }
}

extension JoinedNetwork {
    /// Compares the networks, not their access points.
    func isSame(as other: JoinedNetwork) -> Bool { ssid == other.ssid && security == other.security }
}
