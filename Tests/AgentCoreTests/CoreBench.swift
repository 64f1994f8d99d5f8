import AgentModel
import AppProtocol
import Failover
import KeyFile

@testable import AgentCore

/// A core with a disk, a clock that only the test moves, and stations whose addresses the test sets.
struct CoreBench {
    static let key = Secret(text: "0123456789abcdef")
    static let access: [String: BSSID] = [
        "Home": BSSID("02:00:00:00:01:00")!, "Backup": BSSID("02:00:00:00:02:00")!,
        "Cafe": BSSID("02:00:00:00:03:00")!,
    ]

    var core: AgentCore
    /// The state that survives a power cut.
    var disk: StoredState
    var now = Instant(milliseconds: 1_000_000)
    /// The clock of the day when `now` was 0, in milliseconds since 1970.
    var epoch: Int64 = 1_767_225_600_000
    var surroundings = KernelSnapshot()
    /// Changes that were ordered and neither stored nor refused yet.
    var changes: [CommitID: StateChange] = [:]
    /// The scans that were ordered and have not ended.
    var scans: [ScanOwner] = []
    /// The last join that was ordered, by station.
    var joins: [StationID: (attempt: UInt64, request: JoinRequest)] = [:]
    /// How the links of these joins go over from others.
    var roams: [JoinRequest.Roam?] = []
    /// What is waited for, and when the signal of a link began to be watched.
    var timers: [AgentTimer: Instant] = [:]
    var watchBegan = Instant(milliseconds: 0)
    /// What stations were asked to get addresses with, and how many joins led to another network than the last one.
    var requests: [AddressRequest] = []
    var joinsToOthers = 0
    var notices: [String] = []
    var warnings: [String] = []
    var errors: [String] = []
    /// The statuses that apps were told.
    var statuses: [NetworkStatus] = []
    /// The last scan: its names, and whether every access point is asked.
    var scanned: (ssids: [SSID], asksEverybody: Bool)?
    /// The networks that providers were asked about, question by question.
    var claimed: [[BSS]] = []
    /// The question what wpa_supplicant does that was asked last.
    var question: UInt64 = 0
    /// The number of the last order about the setup access point.
    var setupAccessPointOrder: UInt64 = 0
    /// The uplinks whose link was gone when the checks changed last.
    var lostUplinks: [UplinkCandidate] = []
    /// The epoch that was probed last.
    var probed: UInt64 = 0

    let home: StoredNetwork
    let backup: StoredNetwork

    init(
        spare: StationID? = nil, keepsStandby: Bool = false, validates: Bool = true, hasProviders: Bool = false,
        country: String? = nil,
        assignsAddresses: Bool = true, setupAccessPoint: SetupAccessPoint.Settings? = nil, disk: StoredState? = nil,
        listensForConfigurator: Bool = false
    ) throws {
        home = try Self.network("Home")
        backup = try Self.network("Backup")
        self.disk = disk ?? StoredState(home: home, backups: [backup])
        var policy = PolicySettings()
        policy.keepsStandby = keepsStandby
        policy.validation = validates ? PolicySettings.Validation() : nil
        core = AgentCore(
            settings: AgentCore.Settings(
                policy: policy, hasProviders: hasProviders, country: country, assignsAddresses: assignsAddresses,
                setupAccessPoint: setupAccessPoint, setupAccessPointName: try SSID("altnet-0001"),
                listensForConfigurator: listensForConfigurator),
            state: self.disk,
            station: "wlan0",
            spare: spare, localKey: Self.key)
        surroundings.stations["wlan0"] = KernelSnapshot.Station(index: 1)
        if let spare { surroundings.stations[spare] = KernelSnapshot.Station(index: 2) }
    }

    static func network(_ name: String) throws -> StoredNetwork {
        StoredNetwork(
            ssid: try SSID(name),
            credential: .passphrase(Secret(text: "password-\(name)"), psk: Secret([UInt8](repeating: 7, count: 32))),
            security: .wpa2)
    }

    func bss(_ name: String, signal: Int = -50) -> BSS {
        BSS(
            bssid: Self.access[name]!, ssid: try? SSID(name),
            frequency: Frequency(megahertz: name == "Home" ? 2412 : 2437), signal: signal, lastSeen: now,
            security: .wpa2)
    }

    // MARK: Events

    /// Hands the core an event.
    /// - Returns: the names of its effects, in order, without what every event brings.
    @discardableResult
    mutating func handle(_ event: AgentEvent) -> [String] {
        now = now + .milliseconds(1)
        if case .timer(let timer) = event { timers[timer] = nil }
        let clock = ClockReading(
            instant: now, time: Timestamp(millisecondsSince1970: epoch + now.milliseconds))
        let effects = core.handle(event, kernel: surroundings, at: clock)
        for effect in effects {
            switch effect {
            case .commit(let id, let change): changes[id] = change
            case .scan(_, let owner, let ssids, _, let asksEverybody):
                scans.append(owner)
                scanned = (ssids, asksEverybody)
            case .claim(let networks): claimed.append(networks)
            case .wait(let timer, let moment, _): timers[timer] = moment
            case .watchSignal(_, _?): watchBegan = now
            case .seekAddress(_, let request): requests.append(request)
            case .log(.notice, let text): notices.append(text)
            case .log(.warning, let text): warnings.append(text)
            case .log(.error, let text): errors.append(text)
            case .publish(.networkChanged(let status)): statuses.append(status)
            case .join(let station, let request, let attempt, let isAnother, _):
                joins[station] = (attempt, request)
                roams.append(request.roam)
                joinsToOthers += isAnother ? 1 : 0
            case .askSupplicant(_, .whatIsThere(let number)): question = number
            case .askSetupAccessPointRadio(let number, _), .openSetupAccessPoint(let number, _):
                setupAccessPointOrder = number
            case .probe(let epoch, _), .probeSuccessor(let epoch, _, _): probed = epoch
            case .checkUplinks(_, let lost): lostUplinks = lost
            default: break
            }
        }
        return effects.compactMap(\.name)
    }

    /// The disk takes a change.
    @discardableResult
    mutating func store(_ id: CommitID) throws -> [String] {
        try changes.removeValue(forKey: id)?.apply(to: &disk)
        return handle(.committed(id, disk))
    }

    @discardableResult
    mutating func refuse(_ id: CommitID) -> [String] {
        changes[id] = nil
        return handle(.refusedCommit(id, ProtocolError(.storageFailed, "the disk is full")))
    }

    /// The oldest scan that was ordered ends.
    @discardableResult
    mutating func endScan(_ end: ScanEnd) -> [String] {
        scans.isEmpty ? [] : handle(.scanEnded(scans.removeFirst(), end))
    }

    /// DHCP gives a station an address and a route.
    @discardableResult
    mutating func lease(_ station: StationID, _ third: UInt8) -> [String] {
        let index = surroundings.stations[station]?.index ?? 0
        let address = InterfaceAddress(family: .ipv4, bytes: [10, 0, third, 17], prefixLength: 24, index: index)
        surroundings.stations[station]?.addresses = [address]
        surroundings.stations[station]?.routes = [
            DefaultRoute(family: .ipv4, gateway: [10, 0, third, 1], index: index, metric: 0)
        ]
        return handle(.route(.addressAdded(address)))
    }

    /// The link of the station's last join is made.
    @discardableResult
    mutating func connect(_ station: StationID) -> [String] {
        guard let (attempt, request) = joins[station] else { return [] }
        return handle(.supplicant(station, .connected(attempt: attempt, bssid: Self.access[request.ssid.description]!)))
    }

    /// Starts, with the station in use in Home and online.
    /// - Parameter protection: that of the link.
    mutating func start(
        in name: String = "Home", with protection: LinkProtection = [], isProven: Bool = true
    ) throws {
        handle(.begin(inUse: "wlan0"))
        handle(.nameLimit("wlan0", 4))
        handle(.atWork)
        lease("wlan0", 1)
        handle(.supplicant("wlan0", .available))
        handle(
            .linkAnswer(
                "wlan0", .whatIsThere(1),
                .linked(
                    LinkFacts(
                        ssid: try SSID(name), bssid: Self.access[name]!, frequency: bss(name).frequency,
                        protection: protection))))
        if isProven { handle(.found(.probed(epoch: core.policy.linkEpoch, .online))) }
    }

    /// The spare station is ready to make the next link beside the one in use.
    mutating func readySpare() {
        handle(.supplicant("wlan1", .available))
        handle(.handoverFound(core.handover.reviews, .makeBeforeBreak))
    }

    func command(
        _ name: String, id: String = "s-1", confirmWithin: Int? = nil, joinOnce: Bool = false,
        besideUplink: Bool = false
    )
        throws -> AgentRequest
    {
        .switchNetwork(
            .stored(try Self.network(name).hash(localKey: Self.key)), confirmWithin: confirmWithin, joinOnce: joinOnce,
            besideUplink: besideUplink, switchID: id)
    }

    var network: String { core.policy.phase.network.flatMap { core.registry[$0] }?.ssid.description ?? "none" }
}

extension AgentEvent {
    static func linkChanged(_ station: StationID, isUp: Bool) -> AgentEvent {
        .route(
            .linkChanged(
                NetworkInterface(index: 1, name: station.interface, isUp: isUp, hasCarrier: isUp, kind: .wifi)))
    }
}

extension Effect {
    /// Nil for what every event brings: the record, the log, the policy's timer, the status.
    var name: String? {
        switch self {
        case .record, .log, .lookForTraffic, .readConnectivity, .publish(.networkChanged), .service,
            .wait(.policy, _, _), .watchSignal, .watchBeacons,
            .beaconsDuringScan, .claim, .addressesChanged, .wait(_, nil, _), .wait(.statistics, _, _),
            .wait(.signal, _, _), .wait(.setupAccessPoint, _, _), .rememberSetupAccessPoint, .wait(.recovery, _, _),
            .wait(.radioCheck, _, _), .wait(.store, _, _):
            nil
        case .join(let station, let request, _, _, _): "join \(station) \(request.ssid)"
        case .leave(let station, _): "leave \(station)"
        case .seekAddress(let station, _): "seek address \(station)"
        case .confirmAddress(let station): "confirm address \(station)"
        case .setStaticIPv6(let station, let address): "static IPv6 \(station) \(address?.text ?? "none")"
        case .dropAddress(let station): "drop address \(station)"
        case .bringUp(let station): "bring up \(station)"
        case .use(let station): "use \(station)"
        case .askSupplicant(let station, .whatIsThere): "ask \(station)"
        case .askSupplicant(let station, .protection): "ask protection \(station)"
        case .askKernel(let station, _): "ask kernel \(station)"
        case .reviewHandover: "review handover"
        case .addInterface(_, let new, let station): "add \(new) beside \(station)"
        case .measure(let station, _): "measure \(station)"
        case .startSupplicants: "start supplicants"
        case .readRules(let station): "read rules \(station)"
        case .askNameLimit(let station): "ask name limit \(station)"
        case .scan(_, .policy(let order), _, let frequencies, _):
            "scan \(frequencies.isEmpty ? "all" : "known") \(order.reason)"
        case .scan(_, .app, _, _, _): "scan for app"
        case .scan(_, .silence, _, _, _): "scan for silence"
        case .scan(_, .minimumSecurity, _, _, _): "scan for floor"
        case .abortScan: "abort scan"
        case .readScan: "read scan"
        case .beaconsAnswered(let isThere): "access point \(isThere ? "is there" : "is silent")"
        case .signOff: "sign off"
        case .follow(.none, _, _): "follow none"
        case .follow(.wifi, _, _): "follow wifi"
        case .follow(.other(let uplink), _, _): "follow \(uplink)"
        case .standsBy(let station, let isStandingBy): "\(station) \(isStandingBy ? "stands by" : "is awake")"
        case .leaveSuccessorProbe: "leave successor probe"
        case .checkUplinks(let uplinks, _): (["check uplinks"] + uplinks.map(\.interface)).joined(separator: " ")
        case .prefer(let uplink): "prefer \(uplink?.interface ?? "none")"
        case .probe: "probe"
        case .probeSuccessor(_, let station, _): "probe \(station)"
        case .checkRadio(let station): "check radio \(station)"
        case .disconnect(let station): "disconnect \(station)"
        case .recover(let station, let step): "\(step.rawValue) \(station)"
        case .listenForConfigurator(let station, let isWanted): "listen \(station) \(isWanted)"
        case .restoreRadio(let station): "restore radio \(station)"
        case .rememberRecovery: "remember recovery"
        case .askSetupAccessPointRadio(let number, _): "ask setup AP radio \(number)"
        case .openSetupAccessPoint(let number, let order):
            "open setup AP \(number) on \(order.frequency.megahertz) \(order.mode.rawValue)"
        case .closeSetupAccessPoint(let number): "close setup AP \(number)"
        case .setCaptive(let isCaptive, let interface): "captive \(isCaptive) \(interface)"
        case .answer(let id, .failure(let error)): "answer \(id.rawValue) \(error.code)"
        case .answer(let id, .success(.switchStatus(let status))): "answer \(id.rawValue) \(status.phase)"
        case .answer(let id, .success): "answer \(id.rawValue)"
        case .publish(.switchProgress(let status)): "publish \(status.phase)"
        case .publish(.decision): nil
        case .publish(let event): "publish \(event.name)"
        case .commit(let id, let change):
            switch change.kind {
            case .learnt: "commit \(id.rawValue) learnt"
            case .outcome: "commit \(id.rawValue) outcome"
            case .accepted: "commit \(id.rawValue) pending switch"
            case .backups: "commit \(id.rawValue) backups"
            case .staged: "commit \(id.rawValue) staged"
            case .stagedEnded(_, let phase): "commit \(id.rawValue) \(phase)"
            case .named: "commit \(id.rawValue) name"
            }
        case .checkStore: "check store"
        case .explain(let part, _): "explain \(part)"
        case .wait(let timer, _, _): "wait \(timer)"
        }
    }
}
