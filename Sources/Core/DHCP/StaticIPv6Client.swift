import AgentModel

/// Keeps a static IPv6 address in use. The kernel detects duplicates (RFC 4862, 5.4). A value like
/// ``StaticAddressClient``.
///
/// ```
///   idle -> used <--the pause ends or the device roams-- pausing
///             +------the kernel cannot use the address------^
/// ```
public struct StaticIPv6Client {
    private var state = State.idle
    /// False after the claim of another interface of the device: the address is set without duplicate detection.
    public private(set) var detectsDuplicates = true
    private var failures = 0
    private var reported: Set<StaticIPv6Problem> = []

    public init() {}

    public enum Event: Hashable, Sendable {
        /// The device is associated and authorized in a network with this address. Nil: the link is down, or the
        /// network has no static IPv6 address.
        case use(StaticAddress?)
        case roamed
        case failed(StaticIPv6Problem)
        /// The kernel has found a duplicate, and another interface of the device has the address: both interfaces are
        /// in the same network.
        case claimedBySibling(IPAddress)
        case timer
    }

    public enum Effect: Hashable, Sendable {
        /// Set this address on the interface and remove the former one; nil: only remove.
        case set(StaticAddress?)
        case report(StaticIPv6Problem)
    }

    private enum State: Hashable {
        case idle
        case used(StaticAddress)
        case pausing(StaticAddress, until: Instant)
    }

    private static let pauses = BackOff(first: .seconds(1), last: .seconds(64))
}

extension StaticIPv6Client {
    public mutating func handle(_ event: Event, at now: Instant) -> [Effect] {
        switch (event, state) {
        case (.use(nil), .idle): return []
        case (.use(let address), _):
            state = address.map { .used($0) } ?? .idle
            (detectsDuplicates, failures, reported) = (true, 0, [])
            return [.set(address)]
        case (.roamed, .pausing(let address, _)): return use(address)
        case (.timer, .pausing(let address, let end)): return end <= now ? use(address) : []
        case (.failed(let problem), .used(let address)):
            // Ignores a conflict of the interface's former address, and one from before duplicate detection ended.
            if case .conflict(let other) = problem, other != address.address || !detectsDuplicates { return [] }
            state = .pausing(address, until: now + Self.pauses.wait(after: failures))
            failures += 1
            return [.set(nil)] + (reported.insert(problem).inserted ? [.report(problem)] : [])
        case (.claimedBySibling(let claimed), .used(let address)):
            guard claimed == address.address, detectsDuplicates else { return [] }
            detectsDuplicates = false
            return [.set(address)]
        case (.roamed, _), (.timer, _), (.failed, _), (.claimedBySibling, _): return []
        }
    }

    private mutating func use(_ address: StaticAddress) -> [Effect] {
        (state, detectsDuplicates) = (.used(address), true)
        return [.set(address)]
    }

    /// Time for the next ``Event/timer``; nil if only other events matter.
    public var deadline: Instant? {
        if case .pausing(_, let end) = state { end } else { nil }
    }

    /// Address that the interface has now, possibly still in duplicate detection.
    public var address: StaticAddress? {
        if case .used(let address) = state { address } else { nil }
    }
}

/// Problem of a static IPv6 address, for the user. Each is reported once for a link.
public enum StaticIPv6Problem: Hashable, Sendable {
    /// Another host uses the address.
    case conflict(IPAddress)
    /// IPv6 is disabled at the interface (`disable_ipv6`) or in the kernel.
    case disabled
}

extension StaticIPv6Problem: CustomStringConvertible {
    public var description: String {
        switch self {
        case .conflict(let address): "IPv6: \(address) is in use by another host"
        case .disabled:
            "IPv6: disabled, the static address is not used; set net.ipv6.conf.INTERFACE.disable_ipv6 to 0"
        }
    }
}
