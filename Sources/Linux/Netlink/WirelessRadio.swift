import AgentModel
import CNetlink
import Linux

/// The radio of one wireless interface, through nl80211. The interface is identified by name and may come and go. While
/// it is missing, requests fail with `NetlinkError.Reason.interfaceMissing`; without nl80211, with `familyMissing`.
@AgentLoop
public final class WirelessRadio {
    public nonisolated let interface: String
    /// Last known index of the interface; nil while it does not exist.
    public private(set) var interfaceIndex: Int?

    let socket: NetlinkSocket
    /// nl80211 family; nil while the kernel lacks it.
    private var family: GenericNetlinkFamily?
    private let lookUp: Lookup
    private var isLooking = false
    private var nextLook: LoopTimer?
    /// Back-off between searches for nl80211.
    private let pauses: BackOff
    private var looks = 0
    var association = Association.unknown
    var scans = ScanTracker()
    /// Continuation of our own scan; gets true if it was aborted.
    var scanWaiter: ((Result<Bool, NetlinkError>) -> Void)?
    var scanDeadline: LoopTimer?
    var thresholdForm = ThresholdForm.one
    var knownPhy: Phy?
    private let report: @AgentLoop @Sendable (RadioEvent) -> Void

    typealias Lookup = @AgentLoop (NetlinkSocket) async throws(NetlinkError) -> GenericNetlinkFamily

    /// Last known state of the link.
    enum Association {
        case unknown
        case none
        case bssid(BSSID)
    }

    /// - Parameter onEvent: called on the loop for each event after the initialiser has returned.
    /// - Throws: if no netlink socket is available. A missing interface or nl80211 is not an error: it may appear
    ///   later.
    public convenience init(
        interface: String, onEvent: @escaping @AgentLoop @Sendable (RadioEvent) -> Void
    ) async throws(NetlinkError) {
        try await self.init(interface: interface, socket: NetlinkSocket(.generic), onEvent: onEvent)
    }

    /// - Parameter pause: time before the second search for nl80211. It doubles each time, up to 60 s.
    init(
        interface: String, socket: NetlinkSocket, pause: Duration = .seconds(1),
        lookUp: @escaping Lookup = { try await $0.family(named: NL80211_GENL_NAME) },
        onEvent: @escaping @AgentLoop @Sendable (RadioEvent) -> Void
    ) async throws(NetlinkError) {
        self.interface = interface
        self.socket = socket
        pauses = BackOff(first: pause, last: .seconds(60))
        self.lookUp = lookUp
        report = onEvent
        socket.onNotification = { [weak self] in self?.handle($0) }
        socket.onOverrun = { [weak self] in self?.resynchronise() }
        do throws(NetlinkError) {
            try await find()
            interfaceIndex = socket.index(of: interface)
        } catch  where error.isFamilyMissing {
            lookLater()
        }
    }

    // MARK: nl80211

    /// True if the kernel has nl80211.
    public var isSupported: Bool { family != nil }

    /// Searches for nl80211 if it was missing, and for the interface by name: nl80211 does not report renamed
    /// interfaces.
    public func look() {
        guard family == nil else { return follow(index: socket.index(of: interface)) }
        guard !isLooking else { return }
        isLooking = true
        Task {
            do throws(NetlinkError) {
                try await find()
                follow(index: socket.index(of: interface))
                report(.supported)
            } catch {
                lookLater()
            }
            isLooking = false
        }
    }

    private func find() async throws(NetlinkError) {
        let found = try await lookUp(socket)
        for group in [
            NL80211_MULTICAST_GROUP_CONFIG, NL80211_MULTICAST_GROUP_SCAN, NL80211_MULTICAST_GROUP_REG,
            NL80211_MULTICAST_GROUP_MLME,
        ] {
            try socket.join(group: group, of: found)
        }
        family = found
    }

    private func lookLater() {
        let pause = pauses.wait(after: looks)
        looks += 1
        nextLook = LoopTimer(after: pause, leeway: pause / 10) { [weak self] in self?.look() }
    }

    func nl80211(attempting attempted: String) throws(NetlinkError) -> GenericNetlinkFamily {
        guard let family else {
            throw NetlinkError(attempted: attempted, reason: .familyMissing(NL80211_GENL_NAME))
        }
        return family
    }

    func request(_ command: nl80211_commands, attempting attempted: String) throws(NetlinkError) -> NetlinkRequest {
        let family = try nl80211(attempting: attempted)
        // Looks the interface up each time, because nl80211 does not report renamed interfaces.
        follow(index: socket.index(of: interface))
        guard let interfaceIndex else {
            throw NetlinkError(attempted: attempted, reason: .interfaceMissing(interface))
        }
        var request = NetlinkRequest(nl80211: command, family: family)
        request.attributes.put(NL80211_ATTR_IFINDEX, UInt32(interfaceIndex))
        return request
    }

    // MARK: Events

    private func handle(_ message: NetlinkMessage) {
        guard message.type == family?.id else { return }
        let attributes = message.nl80211Attributes
        let index = attributes[NL80211_ATTR_IFINDEX]?.count(as: UInt32.self)
        switch message.command.map({ nl80211_commands(UInt32($0)) }) {
        case NL80211_CMD_NEW_INTERFACE where attributes[NL80211_ATTR_IFNAME]?.string == interface: follow(index: index)
        case NL80211_CMD_DEL_INTERFACE where index == interfaceIndex: follow(index: nil)
        default:
            guard let event = RadioEvent(message) else { return }
            if case .regulatoryChanged = event {
                knownPhy = nil
            } else if index == nil || index != interfaceIndex {
                return
            }
            record(event)
            report(event)
        }
    }

    /// Updates the stored state before an event is reported.
    private func record(_ event: RadioEvent) {
        switch event {
        case .scanStarted: scans.started()
        case .scanFinished(let aborted, _):
            if let aborted = scans.ended(aborted: aborted) { endScan(.success(aborted)) }
        case .connected(let bssid): association = .bssid(bssid)
        case .disconnected: association = .none
        default: break
        }
    }

    private func follow(index: Int?) {
        guard index != interfaceIndex else { return }
        if interfaceIndex != nil {
            interfaceIndex = nil
            association = .none
            knownPhy = nil
            thresholdForm = .one
            endScan(.failure(NetlinkError(attempted: "scan on \(interface)", reason: .interfaceMissing(interface))))
            report(.interfaceRemoved)
        }
        if let index {
            interfaceIndex = index
            association = .unknown
            report(.interfaceAdded)
        }
    }

    private func resynchronise() {
        association = .unknown
        knownPhy = nil
        // The report of our scan's end may be lost. Waiting for it would delay the caller.
        endScan(.success(true))
        if isSupported { follow(index: socket.index(of: interface)) }
        report(.resynchronise)
    }
}

extension NetlinkRequest {
    init(nl80211 command: nl80211_commands, family: GenericNetlinkFamily) {
        self.init(family: family.id, command: UInt8(truncatingIfNeeded: command.rawValue))
    }
}

extension WirelessRadio {
    public func interfaces() async throws(NetlinkError) -> [WirelessInterface] {
        let attempted = "list the wireless interfaces"
        let request = NetlinkRequest(nl80211: NL80211_CMD_GET_INTERFACE, family: try nl80211(attempting: attempted))
        return try await socket.dump(request, attempting: attempted) { WirelessInterface($0) }
    }

    public func phy() async throws(NetlinkError) -> Phy {
        let attempted = "read the capabilities of the radio of \(interface)"
        var request = try request(NL80211_CMD_GET_WIPHY, attempting: attempted)
        request.attributes.putFlag(NL80211_ATTR_SPLIT_WIPHY_DUMP)
        guard let phy = try await Phy(socket.dump(request, attempting: attempted) { $0 }) else {
            throw NetlinkError(attempted: attempted, reason: .malformed("no radio in it"))
        }
        return phy
    }

    /// Adds a station interface to the radio, initially down. The driver chooses its address.
    /// - Parameter name: at most 15 bytes.
    /// - Throws: `refused` if the name is in use or the radio has no room.
    public func addStation(_ name: String) async throws(NetlinkError) {
        try await addInterface(
            name, NL80211_IFTYPE_STATION, attempting: "add the interface \(name) to the radio of \(interface)")
    }

    /// Adds an access point interface to the radio, initially down. The driver chooses its address.
    /// - Parameter name: at most 15 bytes.
    /// - Throws: `refused` if the name is in use or the radio has no room.
    public func addAccessPoint(_ name: String) async throws(NetlinkError) {
        try await addInterface(
            name, NL80211_IFTYPE_AP, attempting: "add the access point \(name) to the radio of \(interface)")
    }

    private func addInterface(
        _ name: String, _ type: nl80211_iftype, attempting attempted: String
    ) async throws(NetlinkError) {
        var request = try request(NL80211_CMD_NEW_INTERFACE, attempting: attempted)
        request.attributes.put(Int(NL80211_ATTR_IFNAME.rawValue), string: name)
        request.attributes.put(NL80211_ATTR_IFTYPE, type.rawValue)
        try await socket.perform(request, attempting: attempted)
    }

    /// Removes an interface, even if it is in use.
    public func removeInterface(_ index: Int) async throws(NetlinkError) {
        let attempted = "remove the interface \(index)"
        var request = NetlinkRequest(
            nl80211: NL80211_CMD_DEL_INTERFACE, family: try nl80211(attempting: attempted))
        request.attributes.put(NL80211_ATTR_IFINDEX, UInt32(clamping: index))
        try await socket.perform(request, attempting: attempted)
    }

    /// Reads the regulatory domain: two letters, "00" for the world domain.
    public func regulatoryDomain() async throws(NetlinkError) -> String {
        let attempted = "read the regulatory domain"
        let request = NetlinkRequest(nl80211: NL80211_CMD_GET_REG, family: try nl80211(attempting: attempted))
        let country = try await socket.reply(to: request, attempting: attempted) { message in
            message.nl80211Attributes[NL80211_ATTR_REG_ALPHA2]?.string
        }
        guard let country else { throw NetlinkError(attempted: attempted, reason: .malformed("no country in it")) }
        return country
    }
}
