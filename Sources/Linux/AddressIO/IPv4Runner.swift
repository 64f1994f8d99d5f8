import AgentModel
import DHCP
import Linux
import Netlink

/// Gives one interface its IPv4 address with a `DHCPClient`, or a `StaticAddressClient` for an address that the owner
/// has set. Performs the client's effects in order and makes no decisions. Needs `CAP_NET_RAW` and `CAP_NET_ADMIN`.
///
/// An agent that restarts while the link is up calls ``linkUp(hardware:siblings:remembered:isDated:)`` at once. The
/// former address stays in use. When the new lease arrives, the runner removes other addresses and routes of the former
/// run.
@AgentLoop
public final class IPv4Runner {
    /// Metric of all routes; lower is preferred. A change applies at once to existing routes.
    public var metric: Int {
        didSet {
            if let lease = client.lease { set(lease) }
            if let address = fixed.address { set(address) }
        }
    }

    private let index: Int
    private let onEvent: (IPv4Event) -> Void
    private var client: DHCPClient
    private var fixed = StaticAddressClient(random: SystemRandomNumberGenerator())
    private var packets: PacketSocket?
    private var messages: PacketSocket?
    private let sender: RoutedSender
    private let setter: AddressSetter
    /// Events that arrived while `handle` was running.
    private var waiting: [Event] = []
    private var isBusy = false
    private var timer: LoopTimer?
    private var deadline: Instant?
    /// Problems already reported for this link, at most 32.
    private var reported: Set<String> = []
    /// True if an earlier run of the program may have left an address at the interface.
    private var mayHaveLeftovers = true
    private var formerAddress: IPAddress?

    private enum Event {
        case dhcp(DHCPClient.Event)
        case fixed(StaticAddressClient.Event)
        case arp([UInt8])
        case timer
    }

    /// - Parameters:
    ///   - index: an Ethernet or Wi-Fi interface.
    ///   - onEvent: called on the loop. Events that it causes are handled after it returns.
    /// - Throws: `SystemError` or `NetlinkError` if a socket cannot be opened.
    public init(
        interface index: Int, metric: Int, settings: DHCPSettings = DHCPSettings(),
        onEvent: @escaping @AgentLoop @Sendable (IPv4Event) -> Void
    ) throws {
        (self.index, self.metric, self.onEvent) = (index, metric, onEvent)
        client = DHCPClient(settings: settings, random: SystemRandomNumberGenerator())
        sender = try RoutedSender(on: index)
        setter = try AddressSetter(on: index)
        packets = try PacketSocket(.dhcp, on: index) { [weak self] in
            self?.handle(.dhcp(.packet($0.bytes, checksum: $0.checksum)))
        }
        messages = try PacketSocket(.arp, on: index) { [weak self] in self?.handle(.arp($0.bytes)) }
        setter.onProblem = { [weak self] in self?.report("\($0)") }
    }

    public var lease: Lease? { client.lease }

    /// Starts DHCP. Call this when the device is associated and authenticated.
    /// - Parameters:
    ///   - siblings: hardware addresses of the device's other interfaces.
    ///   - remembered: the last lease in this network.
    ///   - isDated: whether the expiry of `remembered` is known. After a restart the expiry is unknown, because the
    ///     clock may be wrong. Then only the server can confirm the lease; the gateway's presence does not suffice.
    public func linkUp(
        hardware: HardwareAddress, siblings: Set<HardwareAddress> = [], remembered: Lease? = nil, isDated: Bool = true
    ) {
        reported = []
        formerAddress = remembered?.address.address
        handle(.fixed(.linkDown))
        handle(.dhcp(.linkUp(hardware: hardware, siblings: siblings, remembered: remembered, isDated: isDated)))
    }

    /// Uses the address that the owner has set for this network, without DHCP.
    public func linkUp(hardware: HardwareAddress, siblings: Set<HardwareAddress> = [], fixed: StaticAddress) {
        reported = []
        formerAddress = fixed.address
        handle(.dhcp(.linkDown))
        handle(.fixed(.linkUp(fixed, hardware: hardware, siblings: siblings)))
    }

    /// Checks the address after the device has moved to another access point of the network.
    public func roamed() { check(with: .roamed) }
    /// Checks the address because nothing gets through.
    public func doubted() { check(with: .doubted) }
    private func check(with event: DHCPClient.Event) {
        setter.forgetGateways()
        handle(.dhcp(event))
        handle(.fixed(.roamed))
    }
    /// Removes the address and the routes before it returns, or after `onEvent` returns if called from there.
    public func linkDown() {
        handle(.dhcp(.linkDown))
        handle(.fixed(.linkDown))
        clear()
    }
    public func renew() { handle(.dhcp(.renew)) }
    /// Gives the lease back to the server.
    public func release() { handle(.dhcp(.release)) }

    /// Removes addresses and routes that a killed client has left. Call this before the first link, and only while
    /// the link is down: a link that is up needs its address.
    /// - Parameter remembered: former address, used to find leftovers on kernels before 5.18.
    public func removeLeftovers(remembered: IPv4Address? = nil) async {
        mayHaveLeftovers = false
        do throws(NetlinkError) { try await setter.removeLeftovers(remembered: remembered?.address) } catch {
            report("\(error)")
        }
    }

    // MARK: Events and effects

    private func handle(_ event: Event) {
        waiting.append(event)
        guard !isBusy else { return }
        isBusy = true
        defer { isBusy = false }
        while !waiting.isEmpty {
            let now = Instant.now
            switch waiting.removeFirst() {
            case .dhcp(let event): for effect in client.handle(event, at: now) { perform(effect) }
            case .fixed(let event): for effect in fixed.handle(event, at: now) { perform(effect) }
            // Only one of the two clients is active.
            case .arp(let bytes):
                for effect in client.handle(.arp(bytes), at: now) { perform(effect) }
                for effect in fixed.handle(.arp(bytes), at: now) { perform(effect) }
            case .timer:
                for effect in client.handle(.timer, at: now) { perform(effect) }
                for effect in fixed.handle(.timer, at: now) { perform(effect) }
            }
        }
        wait(until: client.deadline ?? fixed.deadline)
    }

    private func wait(until next: Instant?) {
        guard next != deadline || timer == nil else { return }
        deadline = next
        timer = next.map { next in
            let delay = next - .now
            // A renewal may be 1 s late.
            let leeway: Duration = delay > .seconds(60) ? .seconds(1) : .milliseconds(1)
            return LoopTimer(after: delay, leeway: leeway) { [weak self] in
                self?.timer = nil
                self?.handle(.timer)
            }
        }
    }

    private func perform(_ effect: DHCPClient.Effect) {
        switch effect {
        case .broadcast(let packet):
            attempt { () throws(SystemError) in try packets?.send(packet, to: .broadcast) }
        case .clear: clear()
        case .unicast(let payload, let source, let destination):
            let datagram = UDPDatagram(source: source, destination: destination, payload: payload)
            attempt { () throws(SystemError) in try sender.send(datagram.packet, to: destination) }
        case .sendARP(let message, let hardware): send(message, to: hardware)
        case .use(let lease, let isConfirmed):
            set(lease)
            messages?.listen(about: lease.address)
            clear()
            onEvent(.inUse(lease, isConfirmed: isConfirmed))
        case .drop(let lease, let reason):
            setter.remove()
            messages?.listen(about: nil)
            onEvent(.dropped(lease, reason))
        case .remember(let lease): onEvent(.remember(lease))
        case .forget: onEvent(.forget)
        case .report(let problem): onEvent(.problem("\(problem)"))
        }
    }

    private func perform(_ effect: StaticAddressClient.Effect) {
        switch effect {
        case .sendARP(let message, let hardware): send(message, to: hardware)
        case .use(let address):
            set(address)
            messages?.listen(about: IPv4Address(bytes: address.address.bytes))
            clear()
            onEvent(.inUseStatic(address))
        case .drop(let address, let reason):
            setter.remove()
            messages?.listen(about: nil)
            onEvent(.droppedStatic(address, reason))
        case .clear: clear()
        case .foundGateway(let hardware): onEvent(.foundGateway(hardware))
        case .report(let problem): onEvent(.problem("\(problem)"))
        }
    }

    private func send(_ message: ARPMessage, to hardware: HardwareAddress) {
        attempt { () throws(SystemError) in try messages?.send(message.bytes, to: hardware) }
    }

    /// Removes the leftovers of an earlier run once. Addresses in use stay.
    private func clear() {
        guard mayHaveLeftovers else { return }
        mayHaveLeftovers = false
        Task { [weak self, formerAddress] in
            do throws(NetlinkError) { try await self?.setter.removeLeftovers(remembered: formerAddress) } catch {
                self?.report("\(error)")
            }
        }
    }

    private func set(_ address: StaticAddress) {
        setter.set(
            AddressPlan(
                address: address.address, prefixLength: address.prefixLength, on: index, lasting: nil,
                gateway: address.gateway, metric: metric))
    }

    private func set(_ lease: Lease) {
        guard let plan = AddressPlan(lease, on: index, metric: metric, at: .now) else { return }
        setter.set(plan)
    }

    private func attempt(_ action: () throws(SystemError) -> Void) {
        do throws(SystemError) { try action() } catch { report("\(error)") }
    }

    private func report(_ problem: String) {
        guard reported.count < 32, reported.insert(problem).inserted else { return }
        onEvent(.problem(problem))
    }
}

extension AddressPlan {
    fileprivate init?(_ lease: Lease, on index: Int, metric: Int, at now: Instant) {
        guard let address = lease.address.address else { return nil }
        self.init(
            address: address, prefixLength: lease.prefixLength, on: index, lasting: lease.expiry - now,
            gateway: lease.gateway?.address,
            destinations: lease.routes.compactMap { route in
                route.destination.network.address.map {
                    Destination(
                        network: $0, prefixLength: route.destination.prefixLength, gateway: route.gateway?.address)
                }
            },
            metric: metric, mtu: lease.mtu)
    }
}
