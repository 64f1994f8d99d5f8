import AgentModel

extension DHCPv6Client {
    // MARK: Beginning

    mutating func begin(with remembered: IPv6Lease?, at now: Instant) -> [Effect] {
        (setbacks, conflicts, hint, information) = (0, 0, [], NetworkConfiguration())
        (longestSolicitWait, longestInformationWait) = (DHCPv6Timing.longestWait, DHCPv6Timing.longestWait)
        forgetProblems()
        guard hardware.isInterface else { return [] }
        guard mode == .stateful else { return inform(at: now) }
        // An anonymous client does not ask for its last addresses (RFC 7844, 4.5).
        guard !settings.isAnonymous, let remembered, remembered.isUsable,
            remembered.hardware == hardware || settings.keepsLeaseWithOtherHardware
        else { return solicit(at: now) }
        guard remembered.expiry > now else {
            hint = remembered.addresses.map(\.address)
            return solicit(at: now)
        }
        return confirm(remembered, at: now)
    }

    mutating func turn(to mode: Mode, at now: Instant) -> [Effect] {
        self.mode = mode
        switch (mode, state) {
        case (.stateful, .informing), (.stateful, .informed): return solicit(at: now)
        // Stops waiting for an address. A lease in use stays until it ends.
        case (.stateless, .soliciting), (.stateless, .requesting), (.stateless, .confirming), (.stateless, .pausing):
            return inform(at: now)
        default: return []
        }
    }

    private mutating func solicit(at now: Instant) -> [Effect] {
        let exchange = exchange(.solicit, at: now)
        state = .soliciting(exchange)
        return [solicitation(exchange, at: now)]
    }

    mutating func request(_ offer: IPv6Lease, at now: Instant) -> [Effect] {
        let exchange = exchange(.request, at: now)
        state = .requesting(offer, exchange)
        return [question(.request, about: offer, exchange, at: now)]
    }

    private mutating func confirm(_ lease: IPv6Lease, at now: Instant) -> [Effect] {
        let exchange = exchange(.confirm, at: now)
        state = .confirming(lease, exchange)
        return [question(.confirm, about: lease, exchange, at: now)]
    }

    mutating func inform(at now: Instant) -> [Effect] {
        let exchange = exchange(.informationRequest, at: now)
        state = .informing(exchange)
        return [informationRequest(exchange, at: now)]
    }

    /// Restarts the search for addresses: immediately the first time, then after a pause.
    mutating func restart(at now: Instant) -> [Effect] {
        setbacks += 1
        let pause = DHCPTiming.pause(after: setbacks)
        guard pause > .zero else { return again(at: now) }
        state = .pausing(until: now + pause)
        return []
    }

    private mutating func again(at now: Instant) -> [Effect] {
        mode == .stateful ? solicit(at: now) : inform(at: now)
    }

    // MARK: Addresses

    mutating func bind(_ lease: IPv6Lease, at now: Instant) -> [Effect] {
        (setbacks, hint) = (0, [])
        guard lease.expiry > now else {
            // The lease had ended when the answer arrived. This also ends an address in use.
            guard case .bound(let binding) = state else { return restart(at: now) }
            return drop(binding.lease, .expired, at: now)
        }
        state = .bound(Binding(lease: lease, phase: .quiet))
        return [.use(lease)]
    }

    mutating func drop(_ lease: IPv6Lease, _ reason: DropReason, at now: Instant) -> [Effect] {
        hint = reason == .expired && !settings.isAnonymous ? lease.addresses.map(\.address) : []
        information = lease.configuration
        return [.drop(lease, reason)] + restart(at: now)
    }

    /// Requests a lease that the server has forgotten (RFC 8415, 18.2.10.1).
    mutating func requestAgain(_ lease: IPv6Lease, at now: Instant) -> [Effect] {
        ask(.request, about: lease, at: now)
    }

    mutating func renew(_ lease: IPv6Lease, at now: Instant) -> [Effect] {
        conflicts = 0
        forgetProblems()
        return ask(.renew, about: lease, at: now)
    }

    private mutating func ask(_ kind: DHCPv6Message.Kind, about lease: IPv6Lease, at now: Instant) -> [Effect] {
        let exchange = exchange(kind, at: now)
        state = .bound(Binding(lease: lease, phase: .asking(kind, exchange)))
        return [question(kind, about: lease, exchange, at: now)]
    }

    mutating func conflict(_ address: IPAddress, at now: Instant) -> [Effect] {
        guard case .bound(let binding) = state, binding.lease.addresses.contains(where: { $0.address == address })
        else { return [] }
        conflicts += 1
        let exchange = exchange(.decline, at: now)
        information = binding.lease.configuration
        state = .declining(binding.lease, address, exchange)
        return [.drop(binding.lease, .conflict), decline(address, of: binding.lease, exchange, at: now)]
            + report(.conflict(address))
    }

    mutating func pauseAfterConflict(at now: Instant) -> [Effect] {
        state = .pausing(until: now + DHCPTiming.pause(afterConflicts: conflicts))
        return []
    }

    mutating func release(at now: Instant) -> [Effect] {
        guard case .bound(let binding) = state else { return leave(.released) }
        let exchange = exchange(.release, at: now)
        // Sends RELEASE once, before the addresses are removed, because the link usually goes down next.
        return [question(.release, about: binding.lease, exchange, at: now)] + leave(.released)
    }

    mutating func leave(_ reason: DropReason) -> [Effect] {
        let lease = lease
        (state, information) = (.idle, NetworkConfiguration())
        return lease.map { [.drop($0, reason)] } ?? []
    }

    /// Repeats the current request quickly on the new access point. Meanwhile, addresses in use stay in use.
    mutating func roamed(at now: Instant) -> [Effect] {
        switch state {
        case .bound(let binding): ask(.confirm, about: binding.lease, at: now)
        case .soliciting, .requesting: solicit(at: now)
        case .confirming(let lease, _): confirm(lease, at: now)
        case .informing, .informed: inform(at: now)
        case .idle, .pausing, .declining: []
        }
    }

    mutating func informed(_ configuration: NetworkConfiguration, refresh: Duration, at now: Instant) -> [Effect] {
        (setbacks, information) = (0, configuration)
        state = .informed(until: now + refresh)
        return []
    }

    // MARK: Time

    mutating func due(at now: Instant) -> [Effect] {
        switch state {
        case .idle: return []
        case .pausing: return again(at: now)
        case .soliciting(var exchange):
            repeats(&exchange, .solicit, at: now)
            state = .soliciting(exchange)
            return [solicitation(exchange, at: now)] + (exchange.isSlow ? report(.noAnswer) : [])
        case .informing(var exchange):
            repeats(&exchange, .informationRequest, at: now)
            state = .informing(exchange)
            return [informationRequest(exchange, at: now)] + (exchange.isSlow ? report(.noAnswer) : [])
        case .informed:
            forgetProblems()
            return inform(at: now)
        case .requesting(let offer, var exchange):
            guard exchange.sent < DHCPv6Timing.requestCount else { return report(.noAnswer) + restart(at: now) }
            repeats(&exchange, .request, at: now)
            state = .requesting(offer, exchange)
            return [question(.request, about: offer, exchange, at: now)]
        case .confirming(let lease, var exchange):
            guard exchange.sent < DHCPTiming.rebootCount, lease.expiry > now else {
                hint = lease.addresses.map(\.address)
                return solicit(at: now)
            }
            repeats(&exchange, .confirm, at: now)
            state = .confirming(lease, exchange)
            return [question(.confirm, about: lease, exchange, at: now)]
        case .declining(let lease, let address, var exchange):
            guard exchange.sent < DHCPv6Timing.declineCount else { return pauseAfterConflict(at: now) }
            repeats(&exchange, .decline, at: now)
            state = .declining(lease, address, exchange)
            return [decline(address, of: lease, exchange, at: now)]
        case .bound(let binding): return due(binding, at: now)
        }
    }

    private mutating func due(_ binding: Binding, at now: Instant) -> [Effect] {
        let lease = binding.lease
        guard lease.expiry > now else { return drop(lease, .expired, at: now) }
        switch binding.phase {
        case .quiet where lease.rebinding <= now: return ask(.rebind, about: lease, at: now)
        case .quiet: return renew(lease, at: now)
        case .asking(.renew, _) where lease.rebinding <= now:
            return report(.noAnswer) + ask(.rebind, about: lease, at: now)
        case .asking(.confirm, let exchange) where exchange.sent >= DHCPTiming.confirmCount:
            // Keeps the addresses until they expire, although no server answers (RFC 8415, 18.2.3).
            state = .bound(Binding(lease: lease, phase: .quiet))
            return report(.noAnswer)
        case .asking(.request, let exchange) where exchange.sent >= DHCPv6Timing.requestCount:
            return report(.noAnswer) + ask(.rebind, about: lease, at: now)
        case .asking(let kind, var exchange):
            repeats(&exchange, kind, at: now)
            state = .bound(Binding(lease: lease, phase: .asking(kind, exchange)))
            return [question(kind, about: lease, exchange, at: now)]
        }
    }

    // MARK: Exchanges

    private mutating func exchange(_ kind: DHCPv6Message.Kind, at now: Instant) -> Exchange {
        began = now
        return Exchange(transaction: number(), at: now, next: now + wait(after: 1, kind))
    }

    /// Counts a retransmission. Slow retransmissions get a new transaction ID and start time. The answer then
    /// identifies its request, and the lease does not start hours in the past.
    private mutating func repeats(_ exchange: inout Exchange, _ kind: DHCPv6Message.Kind, at now: Instant) {
        exchange.repeats(next: now + wait(after: exchange.sent + 1, kind))
        if exchange.isSlow { exchange.renumber(number(), at: now) }
    }

    mutating func number() -> UInt32 { .random(in: 0...DHCPv6Message.largestTransaction, using: &random) }

    private mutating func wait(after sent: Int, _ kind: DHCPv6Message.Kind) -> Duration {
        switch kind {
        case .solicit: DHCPv6Timing.wait(after: sent, last: longestSolicitWait, using: &random)
        case .informationRequest: DHCPv6Timing.wait(after: sent, last: longestInformationWait, using: &random)
        case .renew, .rebind: DHCPv6Timing.renewalWait(after: sent, using: &random)
        default: DHCPv6Timing.wait(after: sent, last: DHCPv6Timing.longestRequestWait, using: &random)
        }
    }
}

extension Exchange {
    fileprivate var isSlow: Bool { sent > DHCPTiming.quickCount }
}

extension IPv6Lease {
    /// Whether a stored lease passes the checks for a server's lease.
    var isUsable: Bool {
        (1...Self.mostAddresses).contains(addresses.count) && Self.serverLengths.contains(server.count)
            && addresses.allSatisfy { $0.address.isIPv6Host && !$0.address.isLinkLocal }
    }
}

/// Retransmission times of DHCPv6 (RFC 8415, 7.6 and 15), with quick first ones. See Docs/contributor/address.md.
enum DHCPv6Timing {
    /// Longest wait: `SOL_MAX_RT` and `INF_MAX_RT`.
    static let longestWait = Duration.seconds(3600)
    /// Valid `SOL_MAX_RT` and `INF_MAX_RT` from a server, in seconds (RFC 8415, 21.24).
    static let longestWaits: ClosedRange<UInt32> = 60...86_400
    /// Longest wait for the answer to a request: `REQ_MAX_RT`.
    static let longestRequestWait = Duration.seconds(30)
    /// Number of requests: `REQ_MAX_RC`.
    static let requestCount = 10
    /// Number of declines: `DEC_MAX_RC`.
    static let declineCount = 4
    /// Default refresh time (`IRT_DEFAULT`), and the limits of a server's value, in seconds (RFC 8415, 21.23).
    static let refresh: UInt32 = 86_400
    static let refreshes: ClosedRange<UInt32> = 600...IPv6Lease.longest

    /// Returns the wait after the `sent`-th transmission of a message. The first waits are those of IPv4; then they
    /// double from 2 s up to `last`.
    static func wait(after sent: Int, last: Duration, using generator: inout some RandomNumberGenerator) -> Duration {
        guard sent >= DHCPTiming.quickCount else { return DHCPTiming.wait(after: sent, using: &generator) }
        return spread(BackOff(first: .seconds(2), last: last).wait(after: sent - DHCPTiming.quickCount), &generator)
    }

    /// Returns the wait between renewals: `REN_TIMEOUT` and `REN_MAX_RT`, equal to those of REBIND.
    static func renewalWait(after sent: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        spread(BackOff(first: .seconds(10), last: .seconds(600)).wait(after: sent - 1), &generator)
    }

    /// Adds a random -10 % to +10 % (RFC 8415, 15).
    private static func spread(_ wait: Duration, _ generator: inout some RandomNumberGenerator) -> Duration {
        let tenth = wait.milliseconds / 10
        return wait + .milliseconds(Int64.random(in: -tenth...tenth, using: &generator))
    }
}
