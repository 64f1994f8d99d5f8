import AgentModel

/// Keeps an address that the owner of the network has set (RFC 5227): no server is asked.
///
/// A value like ``DHCPClient``: what happens goes in, and what is to be done comes out, to be carried out in this order.
///
/// ```
///   idle -> probing --0.2 s without a claim--> bound
///              ^ |                               |
///              | claim                           | a claim before the address is announced
///              +-pausing <-----------------------+
/// ```
public struct StaticAddressClient {
    private var random: any RandomNumberGenerator
    private var state = State.idle
    private var hardware = HardwareAddress.zero
    private var siblings: Set<HardwareAddress> = []
    /// How many times in a row the address was another host's.
    private var conflicts = 0
    private var told: Set<DHCPProblem> = []

    public init(random: any RandomNumberGenerator) { self.random = random }

    public enum Event: Sendable {
        /// The device is in a network: associated, and let in. The parameters are those of ``DHCPClient/Event/linkUp``.
        case linkUp(StaticAddress, hardware: HardwareAddress, siblings: Set<HardwareAddress> = [])
        /// Another access point of the same network.
        case roamed
        case linkDown
        /// A message of ARP that was received, without the link's header.
        case arp([UInt8])
        /// ``deadline`` has come.
        case timer
    }

    public enum Effect: Equatable, Sendable {
        case sendARP(ARPMessage, to: HardwareAddress)
        /// The address can be used from now on.
        case use(StaticAddress)
        /// The address must not be used any more.
        case drop(StaticAddress, DHCPClient.DropReason)
        /// What an earlier run of the program has left at the interface must not be used in this network.
        case clear
        /// The gateway is there, with this hardware address.
        case foundGateway(HardwareAddress)
        case report(DHCPProblem)
    }

    private enum State: Hashable {
        case idle
        case probing(Use, until: Instant)
        case pausing(StaticAddress, until: Instant)
        case bound(Use)
    }

    private struct Use: Hashable {
        let address: StaticAddress
        var conflict: ConflictDetection
        var gateway: GatewayCheck?
    }

    /// From the first probe: an answer takes a few milliseconds, and the second probe goes out after half of it.
    private static let probeTime = Duration.milliseconds(200)
    private static let pauses = BackOff(first: .seconds(1), last: .seconds(64))
    private static let mostTold = 32
}

extension StaticAddressClient {
    public mutating func handle(_ event: Event, at now: Instant) -> [Effect] {
        var effects: [Effect] = []
        switch event {
        case .linkUp(let address, let hardware, let siblings):
            effects += leave()
            (self.hardware, self.siblings, conflicts, told) = (hardware, siblings, 0, [])
            if hardware.isInterface { probe(address, at: now) }
        case .roamed: roamed(at: now)
        case .linkDown: effects += leave()
        case .arp(let bytes): effects += heard(bytes, at: now)
        case .timer: break
        }
        // Whatever happened, what is due is done: no deadline is ever in the past.
        while let deadline, deadline <= now { effects += due(at: now) }
        return effects
    }

    /// When the client is to be woken with ``Event/timer``; nil while it waits for others alone.
    public var deadline: Instant? {
        switch state {
        case .idle: nil
        case .pausing(_, let end): end
        case .probing(let use, let end):
            // Beyond the time of probing, an open claim alone is waited for.
            use.conflict.deadline(isInUse: false).map { use.conflict.isInDoubt ? $0 : min($0, end) } ?? end
        case .bound(let use):
            [use.gateway?.deadline, use.conflict.deadline(isInUse: true)].compactMap { $0 }.min()
        }
    }

    /// The address in use.
    public var address: StaticAddress? {
        if case .bound(let use) = state { use.address } else { nil }
    }

    // MARK: From one state to the next

    private mutating func probe(_ address: StaticAddress, at now: Instant) {
        guard let own = IPv4Address(bytes: address.address.bytes) else { return }
        state = .probing(
            Use(address: address, conflict: ConflictDetection(of: own, isQuick: true, at: now)),
            until: now + Self.probeTime)
    }

    private mutating func take(_ use: Use, at now: Instant) -> [Effect] {
        var use = use
        use.gateway = use.address.gateway.flatMap { IPv4Address(bytes: $0.bytes) }.map {
            GatewayCheck(of: $0, for: use.conflict.address, from: hardware, at: now)
        }
        state = .bound(use)
        return [.use(use.address)]
    }

    /// The same network at another place, where another host may have the address: it is looked for anew, and the
    /// address stays in use.
    private mutating func roamed(at now: Instant) {
        switch state {
        case .bound(var use):
            use.conflict = ConflictDetection(of: use.conflict.address, at: now)
            state = .bound(use)
        case .probing(let use, _): probe(use.address, at: now)
        case .pausing(let address, _): probe(address, at: now)
        case .idle: break
        }
    }

    private mutating func leave() -> [Effect] {
        defer { state = .idle }
        return address.map { [.drop($0, .linkDown)] } ?? []
    }

    private mutating func due(at now: Instant) -> [Effect] {
        switch state {
        case .idle: return []
        case .pausing(let address, _):
            probe(address, at: now)
            return []
        case .probing(var use, let end):
            if end <= now, !use.conflict.isInDoubt { return take(use, at: now) }
            let findings = use.conflict.due(at: now, isInUse: false, from: hardware, using: &random)
            state = .probing(use, until: end)
            return carryOut(findings, about: use, at: now)
        case .bound(var use):
            let question = use.gateway?.due(at: now)
            let findings = use.conflict.due(at: now, isInUse: true, from: hardware, using: &random)
            if use.conflict.isDefending { conflicts = 0 }
            state = .bound(use)
            return (question.map { [.sendARP($0, to: $1)] } ?? []) + carryOut(findings, about: use, at: now)
        }
    }

    private mutating func heard(_ bytes: [UInt8], at now: Instant) -> [Effect] {
        guard let message = try? ARPMessage(reading: bytes), message.senderHardware != hardware,
            !siblings.contains(message.senderHardware)
        else { return [] }
        switch state {
        case .idle, .pausing: return []
        case .probing(var use, let end):
            let findings = use.conflict.heard(message, at: now, isInUse: false, from: hardware)
            state = .probing(use, until: end)
            return carryOut(findings, about: use, at: now)
        case .bound(var use):
            var effects: [Effect] = []
            if case .found(let found) = use.gateway?.heard(message) {
                use.gateway = nil
                effects = [.foundGateway(found)]
            }
            let findings = use.conflict.heard(message, at: now, isInUse: true, from: hardware)
            state = .bound(use)
            return effects + carryOut(findings, about: use, at: now)
        }
    }

    private mutating func carryOut(
        _ findings: [ConflictDetection.Finding], about use: Use, at now: Instant
    ) -> [Effect] {
        findings.flatMap { finding -> [Effect] in
            switch finding {
            case .send(let message): return [.sendARP(message, to: .broadcast)]
            case .answersForAll(let liar): return report(.answersForAll(liar))
            case .claimed(let claimant): return report(.claimed(use.conflict.address, claimant))
            case .conflict(let claimant):
                let wasInUse = address != nil
                state = .pausing(use.address, until: now + Self.pauses.wait(after: conflicts))
                conflicts += 1
                return [wasInUse ? .drop(use.address, .conflict) : .clear]
                    + report(.conflict(use.conflict.address, claimant))
            }
        }
    }

    private mutating func report(_ problem: DHCPProblem) -> [Effect] {
        guard told.count < Self.mostTold, told.insert(problem.topic).inserted else { return [] }
        return [.report(problem)]
    }
}

extension StaticAddress {
    /// What the network tells beside the address: the name servers that its owner has set.
    public var configuration: NetworkConfiguration {
        var configuration = NetworkConfiguration()
        configuration.nameServers = nameServers
        return configuration
    }
}
