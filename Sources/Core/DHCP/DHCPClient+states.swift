import AgentModel

extension DHCPClient {
    // MARK: Beginning

    mutating func begin(with remembered: Lease?, isDated: Bool, at now: Instant) -> [Effect] {
        (began, setbacks, conflicts, reported, shunned, conflicting, hint) = (now, 0, 0, [], [], [], nil)
        guard hardware.isInterface else { return [] }
        guard let remembered, remembered.hardware == hardware || settings.keepsLeaseWithOtherHardware else {
            return select(at: now)
        }
        do throws(LeaseError) { try remembered.checkAddresses() } catch {
            return report(.badMemory(error)) + select(at: now)
        }
        // Distrusts the end of a lease that is longer than the client accepts.
        let isDated = isDated && remembered.expiry <= now + .seconds(Lease.longest)
        // The server may still have the lease. An anonymous client does not ask for it (RFC 7844, 3.3).
        guard isDated ? remembered.expiry > now : !settings.isAnonymous else {
            hint = settings.isAnonymous ? nil : remembered.address
            return select(at: now)
        }
        return reboot(remembered, isDated: isDated, at: now)
    }

    /// Asks the server for the remembered lease and checks the remembered gateway. The first answer counts.
    private mutating func reboot(_ lease: Lease, isDated: Bool, at now: Instant) -> [Effect] {
        let exchange = exchange(at: now)
        state = .rebooting(
            Reboot(
                lease: lease, isDated: isDated, exchange: exchange,
                gateway: GatewayCheck(of: lease, from: hardware, isKnown: true, at: now),
                conflict: ConflictDetection(of: lease.address, at: now)))
        return [reconfirmation(of: lease, exchange, at: now)]
    }

    mutating func select(at now: Instant) -> [Effect] {
        let exchange = exchange(at: now)
        state = .selecting(exchange)
        return [discovery(exchange, at: now)]
    }

    /// Requests the first valid offer: waiting for more costs time and does not show which is better.
    mutating func request(_ offer: Lease, seconds: UInt16, transaction: UInt32, at now: Instant) -> [Effect] {
        // Uses the transaction ID of the offer (RFC 2131, 4.4.1).
        let wait = DHCPTiming.wait(after: 1, using: &random)
        let request = Request(
            offer: offer, seconds: seconds, exchange: Exchange(transaction: transaction, at: now, next: now + wait),
            conflict: ConflictDetection(of: offer.address, at: now))
        if case .bound(var binding) = state {
            binding.phase = .requesting(request)
            state = .bound(binding)
        } else {
            state = .requesting(request)
        }
        return [self.request(request)]
    }

    /// Restarts the search for an address: immediately the first time, then after a pause.
    /// - Parameter server: Server whose offer failed.
    mutating func restart(without server: IPv4Address? = nil, at now: Instant) -> [Effect] {
        setbacks += 1
        shun(server)
        let pause = DHCPTiming.pause(after: setbacks)
        guard pause > .zero else { return select(at: now) }
        state = .pausing(until: now + pause)
        return []
    }

    /// Prefers other servers from now on, so that a fast but failing server does not win again.
    private mutating func shun(_ server: IPv4Address?) {
        guard let server, shunned.count < DHCPTiming.mostShunned else { return }
        shunned.insert(server)
    }

    // MARK: The address

    /// Starts to use a lease that a server or the remembered gateway has confirmed. Waits while a claim is being
    /// checked.
    mutating func bind(
        _ lease: Lease, _ conflict: ConflictDetection, phase: Binding.Phase = .quiet, at now: Instant
    ) -> [Effect] {
        let isConfirmed = phase == .quiet
        guard !conflict.isInDoubt else {
            state = .checking(lease, conflict, isConfirmed: isConfirmed)
            return []
        }
        (setbacks, hint) = (0, nil)
        let search = GatewayCheck(of: lease, from: hardware, isKnown: false, at: now)
        state = .bound(
            Binding(
                lease: lease, phase: phase, conflict: conflict, gateway: lease.gatewayHardware == nil ? search : nil))
        return [.use(lease, isConfirmed: isConfirmed)] + (isConfirmed ? [.remember(lease)] : [])
    }

    /// Uses the lease after a claim of another host has proved false.
    mutating func checked(
        _ lease: Lease, _ conflict: ConflictDetection, isConfirmed: Bool, at now: Instant
    ) -> [Effect] {
        guard !isConfirmed else { return bind(lease, conflict, at: now) }
        let exchange = exchange(at: now)
        return bind(lease, conflict, phase: .confirming(exchange), at: now)
            + [reconfirmation(of: lease, exchange, at: now)]
    }

    mutating func declined(_ lease: Lease, claimant: HardwareAddress, at now: Instant) -> [Effect] {
        conflicts += 1
        hint = nil
        if conflicting.count < DHCPTiming.mostShunned { conflicting.insert(lease.address) }
        let wasInUse = self.lease != nil
        state = .pausing(until: now + DHCPTiming.pause(afterConflicts: conflicts))
        return [wasInUse ? .drop(lease, .conflict) : .clear, .forget, decline(lease)]
            + report(.conflict(lease.address, claimant))
    }

    mutating func expired(_ lease: Lease, at now: Instant) -> [Effect] {
        began = now
        hint = settings.isAnonymous ? nil : lease.address
        return [.drop(lease, .expired), .forget] + select(at: now)
    }

    mutating func release() -> [Effect] {
        guard let lease else {
            state = .idle
            return []
        }
        state = .idle
        return [releasing(lease), .drop(lease, .released), .forget]
    }

    mutating func leave(_ reason: DropReason) -> [Effect] {
        defer { state = .idle }
        return lease.map { [.drop($0, reason)] } ?? []
    }

    /// Repeats the current request quickly on the new access point. Meanwhile, an address in use stays in use.
    mutating func roamed(at now: Instant) -> [Effect] {
        switch state {
        case .bound: return confirm(because: .roamed, at: now)
        case .selecting, .requesting: return select(at: now)
        case .rebooting(let reboot): return self.reboot(reboot.lease, isDated: reboot.isDated, at: now)
        case .idle, .pausing, .checking: return []
        }
    }

    /// Asks the gateway and the servers about the address in use.
    mutating func confirm(because doubt: Binding.Doubt, at now: Instant) -> [Effect] {
        guard case .bound(var binding) = state else { return [] }
        let exchange = exchange(at: now)
        (binding.phase, binding.doubt) = (.confirming(exchange), doubt)
        let isKnown = binding.lease.gatewayHardware != nil
        binding.gateway = GatewayCheck(of: binding.lease, from: hardware, isKnown: isKnown, at: now)
        state = .bound(binding)
        return [reconfirmation(of: binding.lease, exchange, at: now)]
    }

    /// Searches for another address. The one in use stays meanwhile.
    mutating func discover(_ binding: inout Binding, at now: Instant) -> [Effect] {
        hint = settings.isAnonymous ? nil : binding.lease.address
        let exchange = exchange(at: now)
        (binding.phase, binding.doubt) = (.discovering(exchange), nil)
        state = .bound(binding)
        return [discovery(exchange, at: now)]
    }

    mutating func renew(_ binding: inout Binding, at now: Instant) -> [Effect] {
        reported = []
        let exchange = exchange(at: now, until: binding.lease.rebinding)
        binding.phase = .renewing(exchange)
        state = .bound(binding)
        return [renewal(of: binding.lease, exchange)]
    }

    private mutating func rebind(_ binding: inout Binding, at now: Instant) -> [Effect] {
        let exchange = exchange(at: now, until: binding.lease.expiry)
        binding.phase = .rebinding(exchange)
        state = .bound(binding)
        return [rebinding(of: binding.lease, exchange)]
    }

    // MARK: Time

    /// Runs the steps that are due. Each call advances the deadline.
    mutating func due(at now: Instant) -> [Effect] {
        switch state {
        case .idle: return []
        case .pausing: return select(at: now)
        case .selecting(var exchange):
            repeats(&exchange, at: now)
            state = .selecting(exchange)
            return [discovery(exchange, at: now)] + (exchange.sent > DHCPTiming.quickCount ? report(.noAnswer) : [])
        case .rebooting(var reboot): return due(&reboot, at: now)
        case .requesting(var request):
            if request.exchange.next <= now {
                guard request.exchange.sent < DHCPTiming.requestCount else {
                    return report(.noAnswer) + restart(without: request.offer.server, at: now)
                }
                repeats(&request.exchange, at: now)
                state = .requesting(request)
                return [self.request(request)]
            }
            let findings = request.conflict.due(at: now, isInUse: false, from: hardware, using: &random)
            state = .requesting(request)
            return perform(findings, about: request.offer, at: now)
        case .checking(let lease, var conflict, let isConfirmed):
            let findings = conflict.due(at: now, isInUse: false, from: hardware, using: &random)
            state = .checking(lease, conflict, isConfirmed: isConfirmed)
            return perform(findings, about: lease, at: now)
        case .bound(var binding): return due(&binding, at: now)
        }
    }

    private mutating func due(_ reboot: inout Reboot, at now: Instant) -> [Effect] {
        if let refusal = reboot.exchange.refusal, refusal.end <= now { return refused(by: refusal, at: now) }
        if reboot.isOver(at: now) || reboot.exchange.next <= now {
            guard reboot.exchange.sent < DHCPTiming.rebootCount, !reboot.isOver(at: now) else {
                hint = settings.isAnonymous ? nil : reboot.lease.address
                return select(at: now)
            }
            repeats(&reboot.exchange, at: now)
            state = .rebooting(reboot)
            return [reconfirmation(of: reboot.lease, reboot.exchange, at: now)]
        }
        let question = reboot.gateway?.due(at: now)
        let findings = reboot.conflict.due(at: now, isInUse: false, from: hardware, using: &random)
        state = .rebooting(reboot)
        return (question.map { [.sendARP($0, to: $1)] } ?? []) + perform(findings, about: reboot.lease, at: now)
    }

    private mutating func due(_ binding: inout Binding, at now: Instant) -> [Effect] {
        let lease = binding.lease
        guard lease.expiry > now else { return expired(lease, at: now) }
        if binding.deadline <= now {
            if let refusal = binding.phase.exchange?.refusal, refusal.end <= now {
                return refused(by: refusal, at: now)
            }
            switch binding.phase {
            case .quiet where lease.rebinding <= now: return rebind(&binding, at: now)
            case .renewing where lease.rebinding <= now: return report(.noAnswer) + rebind(&binding, at: now)
            case .quiet, .renewing: return renew(&binding, at: now)
            case .rebinding: return rebind(&binding, at: now)
            case .confirming(let exchange) where binding.doubt.map { exchange.sent >= $0.requests } ?? false:
                return report(.noAnswer) + discover(&binding, at: now)
            case .confirming(let exchange) where exchange.sent >= DHCPTiming.confirmCount,
                .discovering(let exchange) where exchange.sent >= DHCPTiming.confirmCount:
                // Keeps the lease without an answer (RFC 2131, 3.2).
                binding.phase = .quiet
                state = .bound(binding)
                return report(.noAnswer)
            case .requesting(let request) where request.exchange.sent >= DHCPTiming.requestCount:
                binding.phase = .quiet
                state = .bound(binding)
                return report(.noAnswer)
            case .confirming(var exchange):
                repeats(&exchange, at: now)
                binding.phase = .confirming(exchange)
                state = .bound(binding)
                return [reconfirmation(of: lease, exchange, at: now)]
            case .discovering(var exchange):
                repeats(&exchange, at: now)
                binding.phase = .discovering(exchange)
                state = .bound(binding)
                return [discovery(exchange, at: now)]
            case .requesting(var request):
                repeats(&request.exchange, at: now)
                binding.phase = .requesting(request)
                state = .bound(binding)
                return [self.request(request)]
            }
        }
        let question = binding.gateway?.due(at: now)
        let findings = binding.conflict.due(at: now, isInUse: true, from: hardware, using: &random)
        if binding.conflict.isDefending { conflicts = 0 }
        state = .bound(binding)
        return (question.map { [.sendARP($0, to: $1)] } ?? []) + perform(findings, about: lease, at: now)
    }

    // MARK: Exchanges

    private mutating func exchange(at now: Instant) -> Exchange {
        let wait = DHCPTiming.wait(after: 1, using: &random)
        return Exchange(transaction: .random(in: .min ... .max, using: &random), at: now, next: now + wait)
    }

    /// Starts an exchange with retransmissions until `end` (RFC 2131, 4.4.5).
    private mutating func exchange(at now: Instant, until end: Instant) -> Exchange {
        let wait = DHCPTiming.renewalWait(at: now, until: end)
        return Exchange(transaction: .random(in: .min ... .max, using: &random), at: now, next: now + wait)
    }

    /// Counts a retransmission. Slow retransmissions get a new transaction ID, so that the answer identifies its
    /// request.
    private mutating func repeats(_ exchange: inout Exchange, at now: Instant) {
        let next = now + DHCPTiming.wait(after: exchange.sent + 1, using: &random)
        exchange.repeats(next: next)
        if exchange.sent > DHCPTiming.quickCount {
            exchange.renumber(.random(in: .min ... .max, using: &random), at: now)
        }
    }
}
