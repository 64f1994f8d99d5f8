import AgentModel

/// Finds out whether another host has the address (RFC 5227), beside the traffic: the first probe goes out with the
/// question to the server, and the address is used as soon as the server's answer is there.
///
/// ```
/// probing (3 probes) -> announcing (2 announcements) -> defending
/// ```
///
/// Where no server is asked, one probe more goes out at once.
struct ConflictDetection: Hashable, Sendable {
    let address: IPv4Address
    private var phase = Phase.probing
    /// In this phase.
    private var sent = 0
    private var next: Instant
    /// From probe to probe, in milliseconds.
    private let waits: [ClosedRange<Int64>]
    private var lastDefence: Instant?
    /// Claims that are looked at. There is one such look for each address: claims cost a device next to nothing.
    private var trial: Trial?
    private var hadTrial = false
    /// They answer for every address, so their claims say nothing.
    private var liars: Set<HardwareAddress> = []

    private enum Phase { case probing, announcing, defending }

    private struct Trial: Hashable {
        /// A host that answers for all may be quicker than the one that has the address.
        var claimants: [HardwareAddress]
        let end: Instant
    }

    enum Finding: Hashable {
        case send(ARPMessage)
        /// The device must not use the address.
        case conflict(HardwareAddress)
        /// The device keeps the address.
        case claimed(HardwareAddress)
        case answersForAll(HardwareAddress)
    }

    /// - Parameter isQuick: no server has said yes, so a second probe follows the first after 0.1 s.
    init(of address: IPv4Address, isQuick: Bool = false, at now: Instant) {
        self.address = address
        next = now
        waits = (isQuick ? [100...100] : []) + [Self.probeWait, Self.probeWait]
    }

    /// No other host had the address. From here on it is defended and never given up.
    var isDefending: Bool { phase == .defending }

    /// Whether a claim is being looked at. Until it is decided, the address is not taken into use.
    var isInDoubt: Bool { trial != nil }

    /// - Parameter isInUse: only an address in use is announced.
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

    /// Does what is due.
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

    /// - Parameter message: from another interface than the device's own.
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
        // The kernel answers probes for an address in use, and who asks goes for another one.
        guard isInUse ? message.sender == address : message.claims(address) else { return [] }
        guard phase == .defending else {
            if let trial {
                if !trial.claimants.contains(claimant), trial.claimants.count < Self.mostClaimants {
                    self.trial?.claimants.append(claimant)
                }
                return []
            }
            // Only an answer can be one of those that a gateway gives about everything.
            guard message.operation == .reply, !hadTrial else { return [.conflict(claimant)] }
            trial = Trial(claimants: [claimant], end: now + Self.trialTime)
            hadTrial = true
            return [.send(.probe(Self.testAddress, from: hardware))]
        }
        // RFC 5227, 2.4 (c): the address is announced once in ten seconds and kept. By (b), two forged claims would take
        // it away, and the address after it.
        if let lastDefence, now - lastDefence < Self.defendInterval { return [.claimed(claimant)] }
        lastDefence = now
        return [.send(.announcement(address, from: hardware))]
    }

    /// RFC 5227, 1.1. There is no `PROBE_WAIT`: nothing starts many devices at one moment that the association has not
    /// spread already.
    private static let probeWait: ClosedRange<Int64> = 1000...2000
    private static let announceWait: ClosedRange<Int64> = 2000...2000
    private static let announceCount = 2
    private static let announceInterval = Duration.seconds(2)
    private static let defendInterval = Duration.seconds(10)

    /// Of no host anywhere (RFC 5737): an answer about it comes from a host that answers about all.
    private static let testAddress = IPv4Address(bits: 0xc000_0201)
    private static let trialTime = Duration.milliseconds(200)
    private static let mostClaimants = 8
}
