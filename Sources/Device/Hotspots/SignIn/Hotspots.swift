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

    /// The status for whoever asks from another thread.
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

    /// A probe found that the network wants somebody to sign in. Where a provider says that it has signed in, a probe that
    /// began after that and still finds this shows that it has not.
    public func captiveFound(_ network: CaptiveNetwork, name: NetworkName) { receive(.captive(network, name)) }

    /// A probe found that the network lets through.
    public func onlineFound() { receive(.online) }

    /// The network says that what was signed in to ends soon, and can be extended: the provider maintains it now.
    public func sessionEnds(_ network: CaptiveNetwork, name: NetworkName) { receive(.ending(network, name)) }

    /// The network is not in use any more. No provider is asked anything about it.
    public func networkLeft() { receive(.left) }

    /// The network is about to be left on purpose: the provider that signed in logs off, where there is one. Returns when
    /// it has, or after ``HotspotSettings/logoffLimit``.
    public func logOff() async {
        try? await connector.loop.flatSubmit { [driver] in driver.value.logOff() }.get()
    }

    /// What the person answered.
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
            case .listed(let list)? = try? await connector.once(nil, within: limit, { Conversation.listing() })
        else { return [:] }
        let known = Set(asked.map(\.bssid))
        var claims: [BSSID: [String]] = [:]
        for start in stride(from: 0, to: list.names.count, by: max(settings.parallel, 1)) {
            let names = list.names[start..<min(start + max(settings.parallel, 1), list.names.count)]
            await withTaskGroup(of: (String, [BSSID]).self) { [connector] group in
                for name in names {
                    group.addTask {
                        let output = try? await connector.once(name, within: limit) {
                            Conversation.opening(name, .filterScanList(asked))
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

    /// Ends every conversation.
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
