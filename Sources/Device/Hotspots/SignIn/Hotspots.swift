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
    }

    /// - Parameters:
    ///   - socket: the path of the provider host's socket.
    ///   - group: on one of whose event loops everything runs.
    ///   - watch: knows when a provider's answers are being read.
    ///   - now: the clock that every limit is measured with.
    ///   - onChange: is told every change, on the event loop. It must not block.
    public init(
        socket: String, on group: any EventLoopGroup, settings: HotspotSettings = HotspotSettings(),
        watchedBy watch: any OutsideWatch = NoOutsideWatch(), now: @escaping @Sendable () -> Instant,
        onChange: @escaping @Sendable (HotspotStatus) -> Void
    ) {
        let snapshot = Snapshot()
        let connector = HostConnector(socket: socket, loop: group.next(), watch: watch)
        self.snapshot = snapshot
        self.settings = settings
        self.connector = connector
        // Not from 1, so that an answer to what the agent asked before it was started anew is none.
        let signIn = SignIn(settings: settings, firstRequest: Int.random(in: 1...(1 << 30)))
        driver = NIOLoopBoundBox.makeBoxSendingValue(
            HotspotDriver(signIn, connector, now: now) { status in
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

    /// A probe found that the network lets through.
    public func onlineFound() { receive(.online) }

    /// The network says that what was signed in to ends soon, and can be extended: the provider maintains it now.
    public func sessionEnds(_ network: CaptiveNetwork, name: NetworkName) { receive(.ending(network, name)) }

    /// The network is not in use any more. No provider is asked anything about it.
    public func networkLeft() { receive(.left) }

    /// The network is about to be left on purpose: the provider that signed in logs off, where there is one. Returns
    /// when it has, or after ``HotspotSettings/logoffLimit``.
    public func logOff() async {
        try? await connector.loop.flatSubmit { [driver] in driver.value.logOff() }.get()
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
        for start in stride(from: 0, to: list.names.count, by: max(settings.parallel, 1)) {
            let names = list.names[start..<min(start + max(settings.parallel, 1), list.names.count)]
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

/// The provider that signed in at each network, for those used last.
struct RememberedProviders: Sendable {
    /// All access points of one network.
    private struct Network: Hashable {
        let ssid: SSID
        let security: Security
    }

    private let limit: Int
    /// The one used last is last.
    private var entries: [(network: Network, provider: String)] = []

    init(limit: Int) { self.limit = limit }

    var count: Int { entries.count }

    func provider(of network: CaptiveNetwork) -> String? {
        entries.first { $0.network == Network(ssid: network.ssid, security: network.security) }?.provider
    }

    mutating func remember(_ provider: String, for network: CaptiveNetwork) {
        forget(network)
        entries.append((Network(ssid: network.ssid, security: network.security), provider))
        if entries.count > limit { entries.removeFirst(entries.count - limit) }
    }

    mutating func forget(_ network: CaptiveNetwork) {
        entries.removeAll { $0.network == Network(ssid: network.ssid, security: network.security) }
    }
}
