import AgentModel

/// DHCP client for IPv6 (RFC 8415), optimized for speed. A value like ``DHCPClient``. See Docs/contributor/address.md.
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
    /// Mode that routers announce (RFC 4861, 4.2).
    var mode = Mode.stateless
    var hardware = HardwareAddress.zero
    /// Start of the current exchange.
    var began = Instant(milliseconds: 0)
    /// Addresses to request from a server.
    var hint: [IPAddress] = []
    var setbacks = 0
    var conflicts = 0
    /// Maximum waits for SOLICIT and INFORMATION-REQUEST, as set by servers.
    var longestSolicitWait = DHCPv6Timing.longestWait
    var longestInformationWait = DHCPv6Timing.longestWait
    /// Configuration received without an address.
    var information = NetworkConfiguration()
    private var lastReportedConfiguration = NetworkConfiguration()
    private var reported: Set<DHCPv6Problem> = []

    /// - Parameter random: Must be unpredictable for other hosts: it generates the transaction IDs.
    public init(settings: DHCPSettings = DHCPSettings(), random: any RandomNumberGenerator) {
        (self.settings, self.random) = (settings, random)
    }

    public enum Mode: Sendable, CaseIterable {
        case stateless
        case stateful
    }

    public enum Event: Sendable {
        /// The device has a link-local address, and routers announce a DHCPv6 server. `remembered` is the last lease in
        /// this network.
        case linkUp(hardware: HardwareAddress, wants: Mode, remembered: IPv6Lease?)
        /// Routers announce another mode.
        case wants(Mode)
        case roamed
        case linkDown
        /// Received packet, starting with the IPv6 header.
        case packet([UInt8], checksum: ChecksumState = .complete)
        /// Another host has the address (RFC 4862, 5.4.5).
        case conflict(IPAddress)
        case timer
        case renew
        case release
    }

    public enum Effect: Equatable, Sendable {
        /// Message for all servers and relays on the link.
        case send([UInt8])
        /// Use this lease. It replaces an earlier one.
        case use(IPv6Lease)
        case drop(IPv6Lease, DropReason)
        /// The configuration from servers has changed.
        case configure(NetworkConfiguration)
        case report(DHCPv6Problem)
    }

    public enum DropReason: Sendable, CaseIterable {
        case linkDown
        /// The server refuses the addresses.
        case takenBack
        case expired
        case conflict
        case released
    }

    enum State: Hashable, Sendable {
        case idle
        case pausing(until: Instant)
        case soliciting(Exchange)
        case requesting(IPv6Lease, Exchange)
        /// Asks for a remembered lease, which is not used yet.
        case confirming(IPv6Lease, Exchange)
        case bound(Binding)
        case declining(IPv6Lease, IPAddress, Exchange)
        case informing(Exchange)
        case informed(until: Instant)
    }

    struct Binding: Hashable, Sendable {
        var lease: IPv6Lease
        var phase: Phase

        enum Phase: Hashable, Sendable {
            case quiet
            /// Pending CONFIRM, RENEW or REBIND, or REQUEST if the server has forgotten the lease.
            case asking(DHCPv6Message.Kind, Exchange)
        }

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
        while let deadline, deadline <= now { effects += due(at: now) }
        if configuration != lastReportedConfiguration {
            lastReportedConfiguration = configuration
            effects.append(.configure(configuration))
        }
        return effects
    }

    /// Time for the next ``Event/timer``; nil if only other events matter.
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

    public var lease: IPv6Lease? {
        if case .bound(let binding) = state { binding.lease } else { nil }
    }

    /// Last configuration from a server. It stays valid during a new request.
    public var configuration: NetworkConfiguration { lease?.configuration ?? information }

    mutating func report(_ problem: DHCPv6Problem) -> [Effect] {
        guard reported.count < 32, reported.insert(problem).inserted else { return [] }
        return [.report(problem)]
    }

    mutating func forgetProblems() { reported = [] }
}
