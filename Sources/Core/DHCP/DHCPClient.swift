import AgentModel

/// DHCP client for IPv4 (RFC 2131), optimized for speed.
///
/// The client is a value without sockets or a clock, and the caller supplies the random numbers. The client takes
/// events and returns effects in the order of execution. All input is untrusted. See Docs/contributor/address.md.
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
    var hardware = HardwareAddress.zero
    /// Hardware addresses of the device's other interfaces. The kernel answers ARP on any of them for all addresses
    /// (`arp_ignore`), which is not a conflict.
    var siblings: Set<HardwareAddress> = []
    /// Start of the search for an address.
    var began = Instant(milliseconds: 0)
    /// Address to request from a server.
    var hint: IPv4Address?
    /// Number of restarts in a row.
    var setbacks = 0
    /// Number of address conflicts in a row.
    var conflicts = 0
    var reported: Set<DHCPProblem> = []
    /// Servers whose offers failed on this link. Offers of other servers are preferred.
    var shunned: Set<IPv4Address> = []
    /// Addresses that other hosts on this link have.
    var conflicting: Set<IPv4Address> = []

    /// - Parameter random: Must be unpredictable for other hosts: it generates the transaction IDs.
    public init(settings: DHCPSettings = DHCPSettings(), random: any RandomNumberGenerator) {
        (self.settings, self.random) = (settings, random)
    }

    public enum Event: Sendable {
        /// The device is associated and authorized.
        /// - Parameters:
        ///   - hardware: Hardware address on this link.
        ///   - siblings: Hardware addresses of the device's other interfaces.
        ///   - remembered: Last lease in this network.
        ///   - isDated: Whether the end of `remembered` is known. After a restart it is unknown, because the clock may
        ///     be wrong. Then only the server can confirm the lease.
        case linkUp(
            hardware: HardwareAddress, siblings: Set<HardwareAddress> = [], remembered: Lease?, isDated: Bool = true)
        case roamed
        /// Nothing gets through. The address stays in use until a server refuses it or gives another one.
        case doubted
        case linkDown
        /// Received packet, starting with the IPv4 header.
        case packet([UInt8], checksum: ChecksumState = .complete)
        /// Received ARP message without the link header.
        case arp([UInt8])
        case timer
        case renew
        /// Release the address. The link stays up.
        case release
    }

    public enum Effect: Equatable, Sendable {
        /// Packet for all hosts on the link, starting with the IPv4 header.
        case broadcast([UInt8])
        /// Message from port 68 to port 67, between addresses with a route.
        case unicast([UInt8], from: IPv4Address, to: IPv4Address)
        case sendARP(ARPMessage, to: HardwareAddress)
        /// Use this lease until it ends. It replaces an earlier one.
        /// - Parameter isConfirmed: False if only the gateway has confirmed the network.
        case use(Lease, isConfirmed: Bool)
        case drop(Lease, DropReason)
        /// Store the lease for the next ``Event/linkUp`` in this network.
        case remember(Lease)
        case forget
        /// Remove addresses that an earlier run left on the interface.
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
        case idle
        case pausing(until: Instant)
        case rebooting(Reboot)
        case selecting(Exchange)
        case requesting(Request)
        /// A server has confirmed the lease, but a claim of another host is still being checked.
        case checking(Lease, ConflictDetection, isConfirmed: Bool)
        case bound(Binding)
    }

    /// INIT-REBOOT: asks the server for the remembered lease, and checks the gateway.
    struct Reboot: Hashable, Sendable {
        let lease: Lease
        let isDated: Bool
        var exchange: Exchange
        var gateway: GatewayCheck?
        var conflict: ConflictDetection

        func isOver(at now: Instant) -> Bool { isDated && lease.expiry <= now }
    }

    /// REQUESTING: asks for an offered lease.
    struct Request: Hashable, Sendable {
        let offer: Lease
        /// The `secs` field of the message that the offer answered (RFC 2131, 4.4.1).
        let seconds: UInt16
        var exchange: Exchange
        var conflict: ConflictDetection
    }

    struct Binding: Hashable, Sendable {
        var lease: Lease
        var phase: Phase
        var conflict: ConflictDetection
        var gateway: GatewayCheck?
        var doubt: Doubt?

        /// Why the client searches for another address if no server confirms this one.
        enum Doubt: Hashable, Sendable {
            /// The access point may be in another subnet. The doubt ends when the gateway answers.
            case roamed
            /// Nothing gets through.
            case carriesNothing

            /// Number of requests for this address before the search for another one.
            var requests: Int { self == .roamed ? DHCPTiming.rebootCount : DHCPTiming.confirmCount }
        }

        enum Phase: Hashable, Sendable {
            case quiet
            /// Checks if the lease is still valid, for example after roaming.
            case confirming(Exchange)
            /// Searches for another address.
            case discovering(Exchange)
            case requesting(Request)
            case renewing(Exchange)
            case rebinding(Exchange)

            var exchange: Exchange? {
                get {
                    switch self {
                    case .quiet: nil
                    case .confirming(let exchange), .discovering(let exchange), .renewing(let exchange),
                        .rebinding(let exchange):
                        exchange
                    case .requesting(let request): request.exchange
                    }
                }
                set {
                    guard let newValue else { return }
                    switch self {
                    case .quiet: break
                    case .confirming: self = .confirming(newValue)
                    case .discovering: self = .discovering(newValue)
                    case .requesting(var request):
                        request.exchange = newValue
                        self = .requesting(request)
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
        case .doubted:
            (began, reported) = (now, [])
            effects += confirm(because: .carriesNothing, at: now)
        case .renew:
            if case .bound(var binding) = state, binding.phase == .quiet { effects += renew(&binding, at: now) }
        case .release: effects += release()
        }
        // Ensures that no deadline is in the past.
        while let deadline, deadline <= now { effects += due(at: now) }
        return effects
    }

    /// Time for the next ``Event/timer``; nil if only other events matter.
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

    public var lease: Lease? {
        if case .bound(let binding) = state { binding.lease } else { nil }
    }

    /// Reports each problem once, and at most 32 problems.
    mutating func report(_ problem: DHCPProblem) -> [Effect] {
        guard reported.count < 32, reported.insert(problem.topic).inserted else { return [] }
        return [.report(problem)]
    }
}

extension DHCPClient.Binding {
    var deadline: Instant {
        let own =
            switch phase {
            case .quiet: lease.renewal
            case .confirming(let exchange), .discovering(let exchange), .rebinding(let exchange): exchange.deadline
            case .requesting(let request): request.exchange.deadline
            case .renewing(let exchange): min(exchange.next, lease.rebinding)
            }
        return min(own, lease.expiry)
    }
}
