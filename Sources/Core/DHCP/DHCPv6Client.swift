import AgentModel

/// A client of DHCP for IPv6 (RFC 8415), as quick as the network allows.
///
/// A value without sockets, clock or randomness of its own, as ``DHCPClient`` is. Docs/address.md tells what it does, and
/// when.
///
/// ```
///        stateful              offer               reply
///   idle ---> soliciting ---------> requesting ---------> bound
///    |  \\        ^  ^ no answer          | refused         | taken back, expired, in use by another
///    |   \\       |  +--- pausing <-------+                 v
///    |    +-> confirming ------ reply ------> bound      soliciting, declining
///    | stateless
///    +------> informing --- reply ---> informed ---> informing
/// ```
public struct DHCPv6Client {
    public var settings: DHCPSettings
    var random: any RandomNumberGenerator

    var state = State.idle
    /// What the routers say that there is (RFC 4861, 4.2).
    var mode = Mode.stateless
    /// The device's interface on this link.
    var hardware = HardwareAddress.zero
    /// When the question at hand was asked first.
    var began = Instant(milliseconds: 0)
    /// Addresses to ask a server for.
    var hint: [IPAddress] = []
    /// How many times in a row the device had to begin anew.
    var setbacks = 0
    /// How many addresses in a row were in use.
    var conflicts = 0
    /// What servers want to be the longest wait for an answer to SOLICIT and INFORMATION-REQUEST.
    var longestSolicitWait = DHCPv6Timing.longestWait
    var longestInformationWait = DHCPv6Timing.longestWait
    /// What a server told without an address.
    var information = NetworkConfiguration()
    private var toldConfiguration = NetworkConfiguration()
    private var told: Set<DHCPv6Problem> = []

    /// - Parameter random: unpredictable for others in the network: transactions get their numbers from it.
    public init(settings: DHCPSettings = DHCPSettings(), random: any RandomNumberGenerator) {
        (self.settings, self.random) = (settings, random)
    }

    /// What servers are asked for.
    public enum Mode: Sendable, CaseIterable {
        /// Name servers and the like alone.
        case stateless
        /// An address and these.
        case stateful
    }

    public enum Event: Sendable {
        /// The device is in a network whose routers say that there is a server, and has a link-local address.
        /// - Parameters:
        ///   - hardware: the hardware address that it is there with.
        ///   - remembered: the last lease in this network.
        case linkUp(hardware: HardwareAddress, wants: Mode, remembered: IPv6Lease?)
        /// The routers say something else now.
        case wants(Mode)
        /// Another access point of the same network.
        case roamed
        case linkDown
        /// A packet that was received, from its IPv6 header on.
        case packet([UInt8], checksum: ChecksumState = .complete)
        /// Another host has the address (RFC 4862, 5.4.5).
        case conflict(IPAddress)
        /// ``deadline`` has come.
        case timer
        /// Ask for more time now.
        case renew
        /// Give the addresses back. The link stays up, and the client is idle.
        case release
    }

    public enum Effect: Equatable, Sendable {
        /// A message to all servers and relays on the link. Who is meant stands in it.
        case send([UInt8])
        /// The addresses can be used from now on. A later lease takes the place of an earlier one.
        case use(IPv6Lease)
        /// The addresses must not be used any more.
        case drop(IPv6Lease, DropReason)
        /// What servers say, whenever it changes.
        case configure(NetworkConfiguration)
        case report(DHCPv6Problem)
    }

    public enum DropReason: Sendable, CaseIterable {
        case linkDown
        /// The server takes them back.
        case takenBack
        case expired
        case conflict
        case released
    }

    enum State: Hashable, Sendable {
        /// No link, or nothing wanted.
        case idle
        /// Begins anew then.
        case pausing(until: Instant)
        case soliciting(Exchange)
        /// An offer is asked for.
        case requesting(IPv6Lease, Exchange)
        /// A remembered lease is asked for, and not used yet.
        case confirming(IPv6Lease, Exchange)
        case bound(Binding)
        /// An address is another host's, which the server is told.
        case declining(IPv6Lease, IPAddress, Exchange)
        case informing(Exchange)
        /// Asks anew then.
        case informed(until: Instant)
    }

    struct Binding: Hashable, Sendable {
        var lease: IPv6Lease
        var phase: Phase

        enum Phase: Hashable, Sendable {
            case quiet
            /// Asked by CONFIRM, RENEW, REBIND, or REQUEST where the server does not know it any more.
            case asking(DHCPv6Message.Kind, Exchange)
        }

        /// When the lease needs something.
        var deadline: Instant {
            switch phase {
            case .quiet: min(lease.renewal, lease.expiry)
            case .asking(.renew, let exchange): min(exchange.next, lease.rebinding, lease.expiry)
            case .asking(_, let exchange): min(exchange.next, lease.expiry)
            }
        }
    }
}

extension DHCPv6Client {
    public mutating func handle(_ event: Event, at now: Instant) -> [Effect] {
        var effects: [Effect] = []
        switch event {
        case .linkUp(let hardware, let mode, let remembered):
            effects += leave(.linkDown)
            (self.hardware, self.mode) = (hardware, mode)
            effects += begin(with: remembered, at: now)
        case .wants(let mode): effects += turn(to: mode, at: now)
        case .linkDown: effects += leave(.linkDown)
        case .packet(let bytes, let checksum): effects += received(bytes, checksum, at: now)
        case .conflict(let address): effects += conflict(address, at: now)
        case .timer: break
        case .roamed: effects += roamed(at: now)
        case .renew:
            switch state {
            case .bound(let binding) where binding.phase == .quiet: effects += renew(binding.lease, at: now)
            case .informed: effects += inform(at: now)
            default: break
            }
        case .release: effects += release(at: now)
        }
        // Whatever happened, what is due is done: no deadline is ever in the past.
        while let deadline, deadline <= now { effects += due(at: now) }
        if configuration != toldConfiguration {
            toldConfiguration = configuration
            effects.append(.configure(configuration))
        }
        return effects
    }

    /// When the client is to be woken with ``Event/timer``; nil while it waits for others alone.
    public var deadline: Instant? {
        switch state {
        case .idle: nil
        case .pausing(let end), .informed(let end): end
        case .soliciting(let exchange), .informing(let exchange), .requesting(_, let exchange),
            .declining(_, _, let exchange):
            exchange.next
        case .confirming(let lease, let exchange): min(exchange.next, lease.expiry)
        case .bound(let binding): binding.deadline
        }
    }

    /// The lease in use.
    public var lease: IPv6Lease? {
        if case .bound(let binding) = state { binding.lease } else { nil }
    }

    /// What servers say. It stays while they are asked anew.
    public var configuration: NetworkConfiguration { lease?.configuration ?? information }

    /// Tells about a problem once, and about so many at most.
    mutating func report(_ problem: DHCPv6Problem) -> [Effect] {
        guard told.count < 32, told.insert(problem).inserted else { return [] }
        return [.report(problem)]
    }

    mutating func forgetProblems() { told = [] }
}
