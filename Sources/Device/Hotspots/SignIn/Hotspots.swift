import AgentModel
import AppProtocol
import NIOCore
import Synchronization

/// Signs in to captive networks through the providers that the host on `socket` runs.
public final class Hotspots: Sendable {
    private let connector: HostConnector
    private let settings: HotspotSettings
    private let driver: NIOLoopBoundBox<HotspotDriver>
    private let snapshot: Snapshot

    /// The status for other threads.
    private final class Snapshot: Sendable {
        let status = Mutex(HotspotStatus())
        let switchedOff = Mutex<Set<String>>([])
    }

    /// - Parameters:
    ///   - socket: the path of the provider host's socket.
    ///   - group: on one of whose event loops everything runs.
    ///   - entries: what `onRemember` was told last, perhaps before a restart.
    ///   - switchedOff: the providers that are not asked.
    ///   - watch: knows when a provider's answers are being read.
    ///   - now: the clock that every limit is measured with.
    ///   - onRemember: is told which provider has signed in where, whenever that is another one than before. On the
    ///     event loop; it must not block.
    ///   - onChange: is told every change, on the event loop. It must not block.
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
        // Not from 1, so that an answer to what the agent asked before it was started anew is none.
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

    /// How it stands, readable from every thread.
    public var status: HotspotStatus { snapshot.status.withLock { $0 } }

    /// A probe found that the network wants a user to sign in. If a provider says that it has signed in, a probe that
    /// began after that and still finds this shows that it has not.
    public func captiveFound(_ network: CaptiveNetwork, name: NetworkName) { receive(.captive(network, name)) }

    /// A probe found that the network lets through. A sign-in at it from before the device lost it goes on.
    public func onlineFound(_ network: CaptiveNetwork, name: NetworkName) { receive(.online(network, name)) }

    /// The network says that what was signed in to ends soon, and can be extended: the provider maintains it now.
    public func sessionEnds(_ network: CaptiveNetwork, name: NetworkName) { receive(.ending(network, name)) }

    /// The network is not in use any more. No provider is asked anything about it; a session at it is kept for a while
    /// (``HotspotSettings/heldFor``), as the device may come back.
    public func networkLeft() { receive(.left) }

    /// The network is about to be left on purpose: the provider that signed in logs off, where there is one. Returns
    /// when it has, or after ``HotspotSettings/logoffLimit``.
    public func logOff() async {
        try? await connector.loop.flatSubmit { [driver] in driver.value.logOff() }.get()
    }

    /// The providers that are not asked anything from now on. What they have opened stays open.
    public var switchedOff: Set<String> {
        get { snapshot.switchedOff.withLock { $0 } }
        set {
            snapshot.switchedOff.withLock { $0 = newValue }
            receive(.switchedOff(newValue))
        }
    }

    /// The names of the providers that the host has, switched off or not.
    /// - Throws: what is wrong with the host.
    public func providers() async throws(ProviderFault) -> [String] {
        let output: ProviderConnection.Output
        do {
            output = try await connector.once(nil, within: settings.filterLimit) { ProviderConnection.listing() }
        } catch {
            throw error as? ProviderFault ?? .ended
        }
        switch output {
        case .listed(let list): return list.names
        case .failed(let fault): throw fault
        case .send, .answered: throw .ended
        }
    }

    /// The user's answer.
    public func answer(_ answer: PortalAnswer) throws(PortalAnswerRefusal) {
        guard let request = status.request, request.id == answer.id else { throw .notAsked }
        try request.check(answer)
        receive(.person(answer))
    }

    /// Asks every provider which of these it may serve, without any use of a network: the strongest
    /// ``ProviderLimits/scannedNetworks`` of them.
    /// - Returns: the providers' names, in order, by access point.
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
                        let output = try? await connector.once(name, within: limit) {
                            ProviderConnection.opening(name, .filterScanList(asked))
                        }
                        guard case .answered(.serves(let bssids))? = output else { return (name, []) }
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

    /// Ends every connection.
    public func shutDown() async {
        try? await connector.loop.submit { [driver] in driver.value.receive(.left) }.get()
    }

    private func receive(_ input: SignIn.Input) {
        connector.loop.execute { [driver] in driver.value.receive(input) }
    }
}

extension PortalRequest {
    /// Whether this can be the answer to it.
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

/// How long providers may take, and how often they are tried.
public struct HotspotSettings: Sendable, Equatable {
    /// Time limits of the single commands, the start of the provider's process included.
    public var filterLimit: Duration = .seconds(1)
    public var evaluateLimit: Duration = .seconds(5)
    public var authenticateLimit: Duration = .seconds(60)
    public var maintainLimit: Duration = .seconds(30)
    /// The device moves on no later than this.
    public var logoffLimit: Duration = .seconds(2)
    /// How much longer than a limit the agent is asked to wait: the next step after it has to be known before.
    public var handover: Duration = .seconds(2)
    /// How many providers are asked at a time.
    public var parallel = 4
    /// How long a user may take to answer, and how often one may be asked in one attempt to sign in.
    public var personLimit: Duration = .seconds(600)
    public var dialogues = 5
    /// How long the agent has to find out whether a provider that says so has signed in.
    public var confirmLimit: Duration = .seconds(15)
    /// How often a sign-in is maintained where the provider does not say, and the shortest that it may say.
    public var maintainInterval: Duration = .seconds(300)
    public var shortestMaintainInterval: Duration = .seconds(10)
    /// The waits after a round in which no provider signed in: doubled each time, from the first to the last. A sign-in
    /// that lasts less long than the first counts as none.
    public var waits = BackOff(first: .seconds(30), last: .seconds(3600))
    /// Of how many networks the provider that signed in is remembered.
    public var rememberedNetworks = 16
    /// Of how many networks that the device has lost, and for how long, the session is kept.
    public var heldSessions = 4
    public var heldFor: Duration = .seconds(24 * 3600)

    public init() {}
}

/// How the sign-in stands.
public struct HotspotStatus: Sendable, Equatable {
    /// For `connectivity`: its state, its provider, and where a user signs in.
    public var portal = Portal()
    /// The question to a user now: to be sent as `portal.request` whenever it becomes another one that is not nil.
    public var request: PortalRequest?
    /// Until when the agent should wait and stay at the network, because a sign-in is under way; nil where none is.
    public var signingInUntil: Instant?
    /// Whether a network that is found to be captive now starts a sign-in. False where a user is asked or did not want
    /// to, after the device has logged off, and in the wait after no provider could.
    public var isTryingWhereCaptive = true
    /// The moment of the next try, after no provider could sign in.
    public var retryAt: Instant?
    /// The last failure, with the provider's name, printable and without secrets.
    public var problem: String?

    public init() {}
}

/// Why a user's answer is not passed on.
public enum PortalAnswerRefusal: Error, Sendable, Equatable {
    /// Nothing is asked, or something else by now.
    case notAsked
    /// No field is called this.
    case unknownField(String)
    /// A field that is required has no value.
    case missingField(String)
    /// The value is longer than ``ProviderLimits/valueLength``, is no text, or is neither true nor false for a
    /// checkbox.
    case invalidValue(String)
}

/// The provider that signed in at a network: all its access points are one.
public struct RememberedProvider: Sendable, Hashable {
    public let ssid: SSID
    public let security: Security
    public let provider: String

    public init(ssid: SSID, security: Security, provider: String) {
        (self.ssid, self.security, self.provider) = (ssid, security, provider)
    }
}

/// The provider that signed in at each network, for those used last.
struct RememberedProviders: Sendable {
    private let limit: Int
    /// The one used last is last.
    private(set) var entries: [RememberedProvider] = []

    init(_ entries: [RememberedProvider] = [], limit: Int) {
        self.limit = limit
        self.entries = Array(entries.suffix(limit))
    }

    var count: Int { entries.count }

    func provider(of network: CaptiveNetwork) -> String? { entries.first { $0.isOf(network) }?.provider }

    mutating func remember(_ provider: String, for network: CaptiveNetwork) {
        forget(network)
        entries.append(RememberedProvider(ssid: network.ssid, security: network.security, provider: provider))
        if entries.count > limit { entries.removeFirst(entries.count - limit) }
    }

    mutating func forget(_ network: CaptiveNetwork) { entries.removeAll { $0.isOf(network) } }
}

extension RememberedProvider {
    fileprivate func isOf(_ network: CaptiveNetwork) -> Bool {
        ssid == network.ssid && security == network.security
    }
}

extension CaptiveNetwork {
    /// Whether it is the same network, perhaps at another access point.
    func isSame(as other: CaptiveNetwork) -> Bool { ssid == other.ssid && security == other.security }
}
