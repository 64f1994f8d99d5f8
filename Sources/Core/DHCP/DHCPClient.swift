import AgentModel

/// A client of DHCP for IPv4 (RFC 2131), as quick as the network allows.
///
/// A value without sockets, clock or randomness of its own: what happens goes in, and what is to be done comes out, to be
/// carried out in this order. All that it receives is outside bytes. Docs/address.md tells what it does, and when.
///
/// ```
///                remembered lease                            answer
///   idle -> rebooting -------------------------------------> bound
///     |         | no answer, NAK, another gateway             ^  | NAK, expiry
///     v         v                                             |  v
///     +--> selecting --offer--> requesting ------answer-------+  selecting
///             ^                     | NAK, no answer          |
///             +------ pausing <-----+        conflict --------+--> pausing
/// ```
public struct DHCPClient {
    public var settings: DHCPSettings
    var random: any RandomNumberGenerator

    var state = State.idle
    /// The device's interface on this link.
    var hardware = HardwareAddress.zero
    /// The device's other interfaces. The kernel answers on any of them for the addresses of all (`arp_ignore`), which
    /// is no conflict.
    var siblings: Set<HardwareAddress> = []
    /// When the device began to look for an address.
    var began = Instant(milliseconds: 0)
    /// The address to ask a server for.
    var hint: IPv4Address?
    /// How many times in a row the device had to begin anew.
    var setbacks = 0
    /// How many addresses in a row were in use.
    var conflicts = 0
    var told: Set<DHCPProblem> = []
    /// Servers whose offers led to nothing on this link: those of others come first.
    var shunned: Set<IPv4Address> = []
    /// Addresses of other hosts on this link.
    var taken: Set<IPv4Address> = []

    /// - Parameter random: unpredictable for others in the network: transactions get their numbers from it.
    public init(settings: DHCPSettings = DHCPSettings(), random: any RandomNumberGenerator) {
        (self.settings, self.random) = (settings, random)
    }

    public enum Event: Sendable {
        /// The device is in a network: associated, and let in.
        /// - Parameters:
        ///   - hardware: the hardware address that it is there with.
        ///   - siblings: those of the device's other interfaces.
        ///   - remembered: the last lease in this network.
        ///   - isDated: whether its times are true. A device without a clock does not know them after a start: then the
        ///     server's word counts, and not the gateway's presence.
        case linkUp(
            hardware: HardwareAddress, siblings: Set<HardwareAddress> = [], remembered: Lease?, isDated: Bool = true)
        /// Another access point of the same network.
        case roamed
        case linkDown
        /// A packet that was received, from its IPv4 header on.
        case packet([UInt8], checksum: ChecksumState = .complete)
        /// A message of ARP that was received, without the link's header.
        case arp([UInt8])
        /// ``deadline`` has come.
        case timer
        /// Ask for more time now.
        case renew
        /// Give the address back. The link stays up, and the client is idle.
        case release
    }

    public enum Effect: Equatable, Sendable {
        /// A packet from its IPv4 header on, to all hosts on the link.
        case broadcast([UInt8])
        /// A message from port 68 to port 67, between addresses that the kernel has a route for.
        case unicast([UInt8], from: IPv4Address, to: IPv4Address)
        case sendARP(ARPMessage, to: HardwareAddress)
        /// The address can be used from now on, until the lease ends. A later one takes the place of an earlier one.
        /// - Parameter isConfirmed: false where the gateway alone has confirmed that this is the network of the lease.
        case use(Lease, isConfirmed: Bool)
        /// The address must not be used any more.
        case drop(Lease, DropReason)
        /// To be given back with the next ``Event/linkUp`` in this network.
        case remember(Lease)
        /// The remembered lease is good for nothing.
        case forget
        /// What an earlier run of the program has left at the interface must not be used in this network.
        case clear
        case report(DHCPProblem)
    }

    public enum DropReason: Sendable, CaseIterable {
        case linkDown
        case nak
        case expired
        case conflict
        case released
    }

    enum State: Hashable, Sendable {
        /// No link, or nothing wanted.
        case idle
        /// Begins anew then.
        case pausing(until: Instant)
        case rebooting(Reboot)
        case selecting(Exchange)
        case requesting(Request)
        /// A server has said yes, and a claim of another host is looked at first.
        case checking(Lease, ConflictDetection, isConfirmed: Bool)
        case bound(Binding)
    }

    /// INIT-REBOOT: the remembered lease is asked for, and the gateway whether this is its network.
    struct Reboot: Hashable, Sendable {
        let lease: Lease
        /// Whether its times are true.
        let isDated: Bool
        var exchange: Exchange
        var gateway: GatewayCheck?
        var conflict: ConflictDetection

        func isOver(at now: Instant) -> Bool { isDated && lease.expiry <= now }
    }

    /// REQUESTING: an offer is asked for.
    struct Request: Hashable, Sendable {
        let offer: Lease
        /// As in the message that was answered with the offer (RFC 2131, 4.4.1).
        let seconds: UInt16
        var exchange: Exchange
        var conflict: ConflictDetection
    }

    /// An address in use.
    struct Binding: Hashable, Sendable {
        var lease: Lease
        var phase: Phase
        var conflict: ConflictDetection
        var gateway: GatewayCheck?

        enum Phase: Hashable, Sendable {
            case quiet
            /// The network may be another one, or the server may think otherwise.
            case confirming(Exchange)
            case renewing(Exchange)
            case rebinding(Exchange)

            /// The question that is open.
            var exchange: Exchange? {
                get {
                    switch self {
                    case .quiet: nil
                    case .confirming(let exchange), .renewing(let exchange), .rebinding(let exchange): exchange
                    }
                }
                set {
                    guard let newValue else { return }
                    switch self {
                    case .quiet: break
                    case .confirming: self = .confirming(newValue)
                    case .renewing: self = .renewing(newValue)
                    case .rebinding: self = .rebinding(newValue)
                    }
                }
            }
        }
    }
}

extension DHCPClient {
    public mutating func handle(_ event: Event, at now: Instant) -> [Effect] {
        var effects: [Effect] = []
        switch event {
        case .linkUp(let hardware, let siblings, let remembered, let isDated):
            effects += leave(.linkDown)
            (self.hardware, self.siblings) = (hardware, siblings)
            effects += begin(with: remembered, isDated: isDated, at: now)
        case .linkDown: effects += leave(.linkDown)
        case .packet(let bytes, let checksum): effects += received(bytes, checksum, at: now)
        case .arp(let bytes): effects += heard(bytes, at: now)
        case .timer: break
        case .roamed: effects += roamed(at: now)
        case .renew:
            if case .bound(var binding) = state, binding.phase == .quiet { effects += renew(&binding, at: now) }
        case .release: effects += release()
        }
        // Whatever happened, what is due is done: no deadline is ever in the past.
        while let deadline, deadline <= now { effects += due(at: now) }
        return effects
    }

    /// When the client is to be woken with ``Event/timer``; nil while it waits for others alone.
    public var deadline: Instant? {
        switch state {
        case .idle: nil
        case .pausing(let end): end
        case .selecting(let exchange): exchange.next
        case .rebooting(let reboot):
            [reboot.exchange.deadline, reboot.gateway?.deadline, reboot.conflict.deadline(isInUse: false)]
                .compactMap { $0 }.min()
        case .requesting(let request):
            [request.exchange.next, request.conflict.deadline(isInUse: false)].compactMap { $0 }.min()
        case .checking(_, let conflict, _): conflict.deadline(isInUse: false)
        case .bound(let binding):
            [binding.deadline, binding.gateway?.deadline, binding.conflict.deadline(isInUse: true)]
                .compactMap { $0 }.min()
        }
    }

    /// The lease in use.
    public var lease: Lease? {
        if case .bound(let binding) = state { binding.lease } else { nil }
    }

    /// Tells about a problem once, and about so many at most.
    mutating func report(_ problem: DHCPProblem) -> [Effect] {
        guard told.count < 32, told.insert(problem.topic).inserted else { return [] }
        return [.report(problem)]
    }
}

extension DHCPClient.Binding {
    /// When the lease needs something.
    var deadline: Instant {
        let own =
            switch phase {
            case .quiet: lease.renewal
            case .confirming(let exchange), .rebinding(let exchange): exchange.deadline
            case .renewing(let exchange): min(exchange.next, lease.rebinding)
            }
        return min(own, lease.expiry)
    }
}
