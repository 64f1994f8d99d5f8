import AgentModel
import DHCP
import Linux
import Netlink

/// Manages IPv6 at one interface. The kernel forms addresses from router advertisements. The runner solicits routers,
/// collects their options, and runs a `DHCPv6Client` if they ask for it. It sets the owner's static address, and
/// removes the addresses and routes of former networks. Needs `CAP_NET_RAW` and `CAP_NET_ADMIN`.
@AgentLoop
public final class IPv6Runner {
    private let index: Int
    private let metric: Int
    private let isOfSibling: (IPAddress) -> Bool
    private let onEvent: (IPv6Event) -> Void
    private var client: DHCPv6Client
    private var fixed = StaticIPv6Client()
    private var advertisements = RouterAdvertisements()
    private var search = RouterSearch()
    private var random = SystemRandomNumberGenerator()
    private var packets: PacketSocket?
    private var network: AdvertisedNetwork?
    private var timer: LoopTimer?
    private var deadline: Instant?

    private var hardware: HardwareAddress?
    private var isUp = false
    private var linkLocal: IPAddress?
    private var remembered: IPv6Lease?
    /// DHCPv6 mode that the routers ask for; nil before their first advertisement, or if they have no server.
    private var mode: DHCPv6Client.Mode?
    /// True while the DHCPv6 client runs.
    private var isAsking = false
    /// Number of running clean-ups of the former network. Until these end, router messages may come from that network.
    private var cleaning = 0
    private var configuration = NetworkConfiguration()
    /// Problems already reported for this link, at most 32.
    private var reported: Set<String> = []

    /// - Parameters:
    ///   - index: an Ethernet or Wi-Fi interface.
    ///   - metric: metric of a static address's routes. Advertised routes have the kernel's.
    ///   - isOfSibling: whether another interface of the device has an address and may use it.
    ///   - onEvent: called on the loop. It must not call the runner.
    /// - Throws: `SystemError` or `NetlinkError` if a socket cannot be opened.
    public init(
        interface index: Int, metric: Int, settings: DHCPSettings = DHCPSettings(),
        isOfSibling: @escaping @AgentLoop @Sendable (IPAddress) -> Bool = { _ in false },
        onEvent: @escaping @AgentLoop @Sendable (IPv6Event) -> Void
    ) throws {
        (self.index, self.metric, self.isOfSibling, self.onEvent) = (index, metric, isOfSibling, onEvent)
        client = DHCPv6Client(settings: settings, random: SystemRandomNumberGenerator())
        packets = try PacketSocket(.dhcpv6, on: index) { [weak self] in
            self?.handle(.packet($0.bytes, checksum: $0.checksum))
        }
        network = try AdvertisedNetwork(on: index) { [weak self] in self?.handleNews($0) }
        network?.onProblem = { [weak self] in self?.report("\($0)") }
    }

    public var lease: IPv6Lease? { client.lease }

    // MARK: The link

    /// Starts IPv6. Call this when the device is associated and authenticated. Solicits routers at once, or after the
    /// clean-up of another network.
    /// - Parameters:
    ///   - isAnother: true if the network may differ from the former one. The addresses and routes of the former
    ///     network are then removed. Pass true for the first link, because a killed agent may have left some.
    ///   - remembered: the last DHCPv6 lease in this network.
    public func linkUp(hardware: HardwareAddress, isAnother: Bool, remembered: IPv6Lease? = nil) {
        reported = []
        let isNew = isAnother || self.hardware != hardware || cleaning > 0
        (self.hardware, self.remembered) = (hardware, remembered)
        guard isNew else {
            isUp = true
            handle(.roamed)
            handleStatic(.roamed)
            return lookForRouters()
        }
        // The static address stays in the same network.
        if isAnother { use(nil) }
        leave { [weak self] in
            self?.isUp = true
            // The clean-up may have removed the address, if an earlier run left it with another prefix length.
            self?.setAddresses()
            self?.lookForRouters()
        }
    }

    /// Uses a static address beside other addresses. Call this after ``linkUp(hardware:isAnother:remembered:)``, and
    /// when the owner changes the address.
    /// - Parameter address: IPv6 address; nil: none.
    public func use(_ address: StaticAddress?) { handleStatic(.use(address)) }

    /// Removes the static address.
    /// - Parameter leavingNetwork: true to remove other addresses and routes of the network at once.
    public func linkDown(leavingNetwork: Bool) {
        isUp = false
        search.end()
        use(nil)
        if leavingNetwork { leave {} } else { wait() }
    }

    public func renew() { handle(.renew) }

    /// Returns the DHCPv6 addresses to the server. Call this before ``linkDown(leavingNetwork:)``.
    public func release() {
        handle(.release)
        isAsking = false
    }

    private func leave(then done: @escaping () -> Void) {
        isUp = false
        search.end()
        handle(.linkDown)
        (mode, isAsking) = (nil, false)
        advertisements.removeAll()
        cleaning += 1
        reportConfiguration()
        network?.removeAdvertised { [weak self] in
            guard let self else { return }
            cleaning -= 1
            // Continue after the last clean-up only: the link has changed since an earlier one began.
            if cleaning == 0 { done() }
        }
    }

    private func lookForRouters() {
        search.begin(at: .now)
        due()
    }

    // MARK: News

    private func handleNews(_ news: AdvertisedNetwork.News) {
        switch news {
        case .linkLocal(let address):
            linkLocal = address
            begin()
        case .conflict(let address):
            if address.isLinkLocal { report("the link-local address \(address) is in use by another host") }
            handle(.conflict(address))
            handleStatic(isOfSibling(address) ? .claimedBySibling(address) : .failed(.conflict(address)))
        case .disabled: handleStatic(.failed(.disabled))
        case .overrun: if isUp { lookForRouters() }
        // While the link is down, these events may belong to another network.
        case .advertisement where isUp:
            search.end()
            wait()
        case .option(let option, let router) where isUp:
            for flaw in advertisements.receive(option, from: router, at: .now) { report("\(flaw)") }
            reportConfiguration()
            wait()
        case .flags(let flags) where isUp:
            mode = flags.isManaged ? .stateful : flags.hasOther ? .stateless : nil
            begin()
        case .advertisement, .option, .flags: break
        }
    }

    private func begin() {
        guard isUp, let mode, let hardware, linkLocal != nil else { return }
        guard !isAsking else { return handle(.wants(mode)) }
        isAsking = true
        handle(.linkUp(hardware: hardware, wants: mode, remembered: remembered))
    }

    // MARK: Events and effects

    private func handle(_ event: DHCPv6Client.Event) {
        for effect in client.handle(event, at: .now) { perform(effect) }
        wait()
    }

    private func perform(_ effect: DHCPv6Client.Effect) {
        switch effect {
        case .send(let message):
            guard let linkLocal, let servers = IPv6Group.dhcpServers.address else { return }
            let datagram = IPv6Datagram(source: linkLocal, destination: servers, payload: message)
            send(datagram.packet, to: .dhcpServers)
        case .use(let lease):
            setAddresses()
            onEvent(.lease(lease))
        case .drop(_, let reason):
            setAddresses()
            if reason != .linkDown { onEvent(.lease(nil)) }
        case .configure: reportConfiguration()
        case .report(let problem): onEvent(.problem("\(problem)"))
        }
    }

    private func handleStatic(_ event: StaticIPv6Client.Event) {
        for effect in fixed.handle(event, at: .now) {
            switch effect {
            case .set:
                setAddresses()
                reportConfiguration()
            case .report(let problem): onEvent(.problem("\(problem)"))
            }
        }
        wait()
    }

    private func setAddresses() {
        let now = Instant.now
        let leased = (client.lease?.addresses ?? []).map { address in
            IPv6AddressPlan(address.address, preferred: address.preferredUntil - now, valid: address.validUntil - now)
        }
        let own = fixed.address.map {
            IPv6AddressPlan($0, on: index, metric: metric, detectsDuplicates: fixed.detectsDuplicates)
        }
        network?.set(leased + (own.map { [$0] } ?? []))
    }

    private func send(_ packet: [UInt8], to group: IPv6Group) {
        do throws(SystemError) { try packets?.send(packet, to: group.hardware) } catch { report("\(error)") }
    }

    private func reportConfiguration() {
        let announced = advertisements.configuration.joined(with: client.configuration)
        let all = fixed.address?.configuration.joined(with: announced) ?? announced
        guard all != configuration else { return }
        configuration = all
        onEvent(.configuration(all))
    }

    // MARK: Time

    private func due() {
        if isUp, search.due(at: .now, using: &random), let hardware,
            let packet = RouterSolicitation(from: linkLocal, hardware: hardware).packet
        {
            send(packet, to: .routers)
        }
        if let end = advertisements.deadline, end <= .now {
            advertisements.expire(at: .now)
            reportConfiguration()
        }
        if let end = fixed.deadline, end <= .now { handleStatic(.timer) }
        if let end = client.deadline, end <= .now { handle(.timer) } else { wait() }
    }

    private func wait() {
        let next = [client.deadline, fixed.deadline, advertisements.deadline, search.deadline].compactMap { $0 }.min()
        guard next != deadline || timer == nil else { return }
        deadline = next
        timer = next.map { next in
            let delay = next - .now
            // A renewal may be 1 s late.
            let leeway: Duration = delay > .seconds(60) ? .seconds(1) : .milliseconds(1)
            return LoopTimer(after: delay, leeway: leeway) { [weak self] in
                self?.timer = nil
                self?.due()
            }
        }
    }

    private func report(_ problem: String) {
        guard reported.count < 32, reported.insert(problem).inserted else { return }
        onEvent(.problem(problem))
    }
}
