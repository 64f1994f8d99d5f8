import AgentModel

/// Uses a static address after conflict detection (RFC 5227). A value like ``DHCPClient``.
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
    private var conflicts = 0
    private var reported: Set<DHCPProblem> = []

    public init(random: any RandomNumberGenerator) { self.random = random }

    public enum Event: Sendable {
        /// The device is associated and authorized. See ``DHCPClient/Event/linkUp`` for the parameters.
        case linkUp(StaticAddress, hardware: HardwareAddress, siblings: Set<HardwareAddress> = [])
        case roamed
        case linkDown
        /// Received ARP message without the link header.
        case arp([UInt8])
        case timer
    }

    public enum Effect: Equatable, Sendable {
        case sendARP(ARPMessage, to: HardwareAddress)
        case use(StaticAddress)
        case drop(StaticAddress, DHCPClient.DropReason)
        /// Remove addresses that an earlier run left on the interface.
        case clear
        /// The gateway answered from this hardware address.
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

    /// Time from the first probe to the use of the address. Answers take milliseconds, and a second probe follows after
    /// half of it.
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
            (self.hardware, self.siblings, conflicts, reported) = (hardware, siblings, 0, [])
            if hardware.isInterface { probe(address, at: now) }
        case .roamed: roamed(at: now)
        case .linkDown: effects += leave()
        case .arp(let bytes): effects += heard(bytes, at: now)
        case .timer: break
        }
        while let deadline, deadline <= now { effects += due(at: now) }
        return effects
    }

    /// Time for the next ``Event/timer``; nil if only other events matter.
    public var deadline: Instant? {
        switch state {
        case .idle: nil
        case .pausing(_, let end): end
        case .probing(let use, let end):
            // After the probe time, only the check of a claim matters.
            use.conflict.deadline(isInUse: false).map { use.conflict.isInDoubt ? $0 : min($0, end) } ?? end
        case .bound(let use):
            [use.gateway?.deadline, use.conflict.deadline(isInUse: true)].compactMap { $0 }.min()
        }
    }

    public var address: StaticAddress? {
        if case .bound(let use) = state { use.address } else { nil }
    }

    // MARK: State transitions

    private mutating func probe(_ address: StaticAddress, at now: Instant) {
        guard let own = IPv4Address(bytes: address.address.bytes) else { return }
        state = .probing(
            Use(address: address, conflict: ConflictDetection(of: own, isQuick: true, at: now)),
            until: now + Self.probeTime)
    }

    private mutating func begin(_ use: Use, at now: Instant) -> [Effect] {
        var use = use
        use.gateway = use.address.gateway.flatMap { IPv4Address(bytes: $0.bytes) }.map {
            GatewayCheck(of: $0, for: use.conflict.address, from: hardware, at: now)
        }
        state = .bound(use)
        return [.use(use.address)]
    }

    /// Repeats conflict detection at the new access point. An address in use stays in use.
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
            if end <= now, !use.conflict.isInDoubt { return begin(use, at: now) }
            let findings = use.conflict.due(at: now, isInUse: false, from: hardware, using: &random)
            state = .probing(use, until: end)
            return perform(findings, about: use, at: now)
        case .bound(var use):
            let question = use.gateway?.due(at: now)
            let findings = use.conflict.due(at: now, isInUse: true, from: hardware, using: &random)
            if use.conflict.isDefending { conflicts = 0 }
            state = .bound(use)
            return (question.map { [.sendARP($0, to: $1)] } ?? []) + perform(findings, about: use, at: now)
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
            return perform(findings, about: use, at: now)
        case .bound(var use):
            var effects: [Effect] = []
            if case .found(let found) = use.gateway?.heard(message) {
                use.gateway = nil
                effects = [.foundGateway(found)]
            }
            let findings = use.conflict.heard(message, at: now, isInUse: true, from: hardware)
            state = .bound(use)
            return effects + perform(findings, about: use, at: now)
        }
    }

    private mutating func perform(
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
        guard reported.count < Self.mostTold, reported.insert(problem.topic).inserted else { return [] }
        return [.report(problem)]
    }
}

extension StaticAddress {
    /// Name servers that the user has set.
    public var configuration: NetworkConfiguration {
        var configuration = NetworkConfiguration()
        configuration.nameServers = nameServers
        return configuration
    }
}
