import AgentModel

/// Detects address conflicts (RFC 5227). The first probe is sent together with the request to the server. The address
/// is used as soon as the server answers.
///
/// ```
/// probing (3 probes) -> announcing (2 announcements) -> defending
/// ```
struct ConflictDetection: Hashable, Sendable {
    let address: IPv4Address
    private var phase = Phase.probing
    /// Number of messages sent in this phase.
    private var sent = 0
    private var next: Instant
    /// Waits between probes, in ms.
    private let waits: [ClosedRange<Int64>]
    private var lastDefence: Instant?
    /// Test if the claimant answers for every address; nil while none runs. Each address has only one test, so that
    /// more false claims cannot delay its use.
    private var trial: Trial?
    private var hadTrial = false
    /// Hosts that answer for every address. Their claims are ignored.
    private var liars: Set<HardwareAddress> = []

    private enum Phase { case probing, announcing, defending }

    private struct Trial: Hashable {
        /// All claimants. A host that answers for every address may be faster than the real owner.
        var claimants: [HardwareAddress]
        let end: Instant
    }

    enum Finding: Hashable {
        case send(ARPMessage)
        case conflict(HardwareAddress)
        /// Another host claims the address, but the device keeps it.
        case claimed(HardwareAddress)
        case answersForAll(HardwareAddress)
    }

    /// - Parameter isQuick: true for an address that no server has assigned. A second probe then follows after 0.1 s.
    init(of address: IPv4Address, isQuick: Bool = false, at now: Instant) {
        self.address = address
        next = now
        waits = (isQuick ? [100...100] : []) + [Self.probeWait, Self.probeWait]
    }

    /// True after probing and announcing without a claim. The device then defends the address.
    var isDefending: Bool { phase == .defending }

    /// Whether a claim is being checked. Meanwhile, the address is not used.
    var isInDoubt: Bool { trial != nil }

    /// - Parameter isInUse: Whether the address is in use. Other addresses are not announced.
    func deadline(isInUse: Bool) -> Instant? {
        let own: Instant? =
            switch phase {
            case .probing: next
            case .announcing: isInUse ? next : nil
            case .defending: nil
            }
        guard let trial else { return own }
        return own.map { min($0, trial.end) } ?? trial.end
    }

    mutating func due(
        at now: Instant, isInUse: Bool, from hardware: HardwareAddress,
        using generator: inout some RandomNumberGenerator
    ) -> [Finding] {
        if let trial, trial.end <= now {
            self.trial = nil
            return trial.claimants.first.map { [.conflict($0)] } ?? []
        }
        guard next <= now else { return [] }
        switch phase {
        case .probing:
            guard sent <= waits.count else {
                (phase, sent) = (.announcing, 0)
                return due(at: now, isInUse: isInUse, from: hardware, using: &generator)
            }
            sent += 1
            let wait = waits.indices.contains(sent - 1) ? waits[sent - 1] : Self.announceWait
            next = now + .milliseconds(Int64.random(in: wait, using: &generator))
            return [.send(.probe(address, from: hardware))]
        case .announcing:
            guard isInUse else { return [] }
            sent += 1
            next = now + Self.announceInterval
            if sent == Self.announceCount { phase = .defending }
            return [.send(.announcement(address, from: hardware))]
        case .defending: return []
        }
    }

    /// - Parameter message: Must come from another host.
    mutating func heard(
        _ message: ARPMessage, at now: Instant, isInUse: Bool, from hardware: HardwareAddress
    ) -> [Finding] {
        let claimant = message.senderHardware
        guard !liars.contains(claimant) else { return [] }
        if trial != nil, message.sender == Self.testAddress, liars.count < Self.mostClaimants {
            liars.insert(claimant)
            trial?.claimants.removeAll { $0 == claimant }
            if trial?.claimants.isEmpty == true { trial = nil }
            return [.answersForAll(claimant)]
        }
        // Ignores probes for an address in use. The kernel answers them, and the prober picks another address.
        guard isInUse ? message.sender == address : message.claims(address) else { return [] }
        guard phase == .defending else {
            if let trial {
                if !trial.claimants.contains(claimant), trial.claimants.count < Self.mostClaimants {
                    self.trial?.claimants.append(claimant)
                }
                return []
            }
            // Tests only claims in replies: a gateway that answers for every address sends no other claims.
            guard message.operation == .reply, !hadTrial else { return [.conflict(claimant)] }
            trial = Trial(claimants: [claimant], end: now + Self.trialTime)
            hadTrial = true
            return [.send(.probe(Self.testAddress, from: hardware))]
        }
        // Announces at most every 10 s and keeps the address (RFC 5227, 2.4 (c)). Under (b), two forged claims would be
        // enough to take the address away.
        if let lastDefence, now - lastDefence < Self.defendInterval { return [.claimed(claimant)] }
        lastDefence = now
        return [.send(.announcement(address, from: hardware))]
    }

    /// Random wait before the first probe in milliseconds (RFC 5227, 1.1). `PROBE_WAIT` is not needed: association
    /// already spreads devices in time.
    private static let probeWait: ClosedRange<Int64> = 1000...2000
    private static let announceWait: ClosedRange<Int64> = 2000...2000
    private static let announceCount = 2
    private static let announceInterval = Duration.seconds(2)
    private static let defendInterval = Duration.seconds(10)

    /// Documentation address (RFC 5737). A host that claims it answers for every address.
    private static let testAddress = IPv4Address(bits: 0xc000_0201)
    private static let trialTime = Duration.milliseconds(200)
    private static let mostClaimants = 8
}
