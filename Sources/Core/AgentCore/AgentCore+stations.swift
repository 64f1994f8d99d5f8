import AgentModel
import AppProtocol
import Failover
import KeyFile

struct StationState: Sendable {
    var gate = AddressGate()
    var isSupplicantAvailable = false
    /// Number of status requests to wpa_supplicant. Only the last answer counts.
    var questions: UInt64 = 0
    /// Network of the last link. If it is joined again, its address still counts.
    var lastLinked: NetworkID?
    /// Whether the radio counts beacons and lost frames.
    var countsBeacons = true
    /// Access point of the link; nil without a link and during a join.
    var linkedTo: BSSID?
    var protection: LinkProtection?
    var isSilent = false
    /// Maximum number of names in one scan; nil until known.
    var nameLimit: Int?
    /// Transition modes disabled by the network joined last.
    var closedWays: TransitionDisable = []
    var addressed: AddressedLink?
}

// The station in use, and the spare one for make-before-break.
extension AgentCore {
    var current: StationState {
        get { stations[inUse] ?? StationState() }
        set { stations[inUse] = newValue }
    }

    private var all: [StationID] { [inUse, spare].compactMap(\.self) }

    package var isInterfaceUp: Bool { surroundings.stations[inUse]?.isUp ?? false }
    package var isSupplicantAvailable: Bool { current.isSupplicantAvailable }

    /// Error if the Wi-Fi interface is missing, else nil.
    package var missingInterface: ProtocolError? {
        let station = surroundings.stations[inUse]
        guard station?.isSupported == true else {
            return ProtocolError(.interfaceMissing, "the kernel has no Wi-Fi (nl80211)")
        }
        guard station?.isPresent == true else {
            return ProtocolError(.interfaceMissing, "there is no interface \(inUse)")
        }
        return nil
    }

    private func hasAddress(_ station: StationID) -> Bool {
        guard let facts = surroundings.stations[station], let gate = stations[station]?.gate else { return false }
        return gate.isReady(addresses: facts.addresses, routes: facts.routes)
    }

    // MARK: Actions of the policy

    mutating func join(_ target: LinkTarget) {
        guard let network = book[target.network] else {
            return tell(.joinFailed(epoch: target.epoch, .notFound))
        }
        guard mayJoin(target) else { return }
        var request = request(network, target)
        request.roam = roam(to: target, in: network)
        let isAnother = prepare(inUse, for: target, keepsAddress: request.roam != nil)
        order(.join(inUse, request, attempt: target.epoch, another: isAnother, afterSignOff: true))
    }

    mutating func joinBeside(_ target: LinkTarget) {
        guard let spare, let network = book[target.network] else {
            return tell(.joinFailed(epoch: target.epoch, .notFound))
        }
        guard mayJoin(target, isBeside: true) else { return }
        let isAnother = prepare(spare, for: target, keepsAddress: false)
        wait(.grace(spare), until: nil)
        order(
            .join(spare, request(network, target), attempt: target.epoch, another: isAnother, afterSignOff: false))
    }

    /// Prepares a station for a join. Within the same network, existing addresses still count.
    /// - Returns: true if the network differs from the last one.
    private mutating func prepare(_ station: StationID, for target: LinkTarget, keepsAddress: Bool) -> Bool {
        let isAnother = target.network != stations[station]?.lastLinked
        if isAnother {
            stations[station]?.gate.close(over: surroundings.stations[station]?.addresses ?? [])
        } else {
            stations[station]?.gate.open()
        }
        stations[station]?.closedWays = []
        stations[station]?.linkedTo = nil
        stations[station]?.protection = nil
        if !keepsAddress { stations[station]?.addressed = nil }
        return isAnother
    }

    /// Returns how the current link can roam to the target; nil for a full join. FullMAC firmware roams on its own.
    private func roam(to target: LinkTarget, in network: StoredNetwork) -> JoinRequest.Roam? {
        guard let present = current.linkedTo, let next = target.bssid, next != present, !target.isUnseen,
            target.network == current.lastLinked,
            target.network == current.addressed?.network || !settings.assignsAddresses,
            surroundings.stations[inUse]?.joinsByItself == false
        else { return nil }
        guard let here = policy.mobility(of: present), let there = policy.mobility(of: next), here.id == there.id else {
            // The old access point gets no deauthentication. With PMF it would run an SA Query with the old keys at the
            // next visit, for a second (IEEE 802.11-2020, 11.3.5.3). A full join deauthenticates. Fast transition is
            // not affected.
            return (current.protection ?? floor(of: target.network)).contains(.pmf) ? nil : .overTheAir
        }
        // Through the current access point, a target that does not answer costs nothing.
        return here.isOverDistributionSystem && there.isOverDistributionSystem
            ? .overTheDistributionSystem : .overTheAir
    }

    private func request(_ network: StoredNetwork, _ target: LinkTarget) -> JoinRequest {
        JoinRequest(
            ssid: network.ssid, credential: network.credential, isHidden: network.isHidden, bssid: target.bssid,
            frequencies: target.frequencies, offer: target.offer, floor: floor(of: target.network),
            isUnseen: target.isUnseen)
    }

    mutating func leave(_ station: StationID) {
        wait(.grace(station), until: nil)
        stations[station]?.addressed = nil
        stations[station]?.linkedTo = nil
        order(.leave(station, afterSignOff: station == inUse))
    }

    /// Makes the spare station the one in use.
    /// - Parameter isAlive: Whether the old link is still up.
    mutating func useSuccessor(whileOldIsAlive isAlive: Bool) {
        guard spare != nil else { return }
        let old = inUse
        order(.leaveSuccessorProbe)
        exchangeStations()
        say(.notice, "traffic moved from \(old) to \(inUse)")
        order(.use(inUse))
        if isAlive {
            wait(.grace(old), until: now.instant + policy.settings.spareGrace, leeway: .seconds(1))
        } else {
            leave(old)
        }
        tell(.interface(isUp: isInterfaceUp))
        tell(.supplicant(isAvailable: isSupplicantAvailable))
        checkAddress()
        reviewHandover()
    }

    mutating func exchangeStations() {
        guard let other = spare else { return }
        (inUse, spare) = (other, inUse)
        // The radio may have changed.
        current.nameLimit = nil
    }

    // MARK: Reports of the kernel

    mutating func observe(_ report: RadioReport) {
        switch report {
        case .scanStarted:
            loss.scanned()
            order(.beaconsDuringScan(true))
        case .scanFinished(let isAborted, let frequencies):
            loss.scanned()
            order(.beaconsDuringScan(false))
            otherScanEnded(aborted: isAborted, frequencies)
        // wpa_supplicant, if available, reports the disconnection in order with its other events.
        case .disconnected: if !isSupplicantAvailable { tell(.linkLost(.ownDoing)) }
        case .channelChanged(let frequency): followed(to: frequency, in: policy.phase)
        case .appeared:
            // The interface is new: reset the state of its firmware.
            (recovery.firmware, recovery.isMuteTold) = (FirmwareWatch(), false)
            (rescue.retry, rescue.failures) = (nil, 0)
            tell(.interface(isUp: isInterfaceUp))
            reviewHandover()
        case .removed:
            tell(.interface(isUp: false))
            reviewHandover()
        case .resynchronise:
            // Events were lost: read everything again.
            tell(.interface(isUp: isInterfaceUp))
            order(.beaconsDuringScan(false))
            order(.readScan(inUse, after: nil))
            askKernel()
        }
    }

    mutating func observeSpare(_ report: RadioReport) {
        switch report {
        // The spare station may share the radio.
        case .scanStarted:
            loss.scanned()
            order(.beaconsDuringScan(true))
        case .scanFinished:
            loss.scanned()
            order(.beaconsDuringScan(false))
            startDeferredScan()
        case .disconnected: if spare.flatMap({ stations[$0] })?.isSupplicantAvailable != true { successorLost() }
        case .channelChanged(let frequency): if let phase = policy.successor { followed(to: frequency, in: phase) }
        case .appeared, .removed, .resynchronise: reviewHandover()
        }
    }

    mutating func observe(_ report: RouteReport) {
        switch report {
        case .linkChanged(inUse.interface, let isUp):
            tell(.interface(isUp: isUp && surroundings.stations[inUse]?.isSupported == true))
        case .linkRemoved(inUse.interface): tell(.interface(isUp: false))
        case .linkChanged(let name, _), .linkRemoved(let name): if name == spare?.interface { reviewHandover() }
        case .addressAdded(let station, let address):
            if let station { stations[station]?.gate.added(address) }
            order(.addressesChanged)
        case .addressRemoved(let station, let address):
            if let station { stations[station]?.gate.removed(address) }
            order(.addressesChanged)
        case .other: break
        }
        checkOtherUplink()
        checkAddress()
    }

    private mutating func checkOtherUplink() {
        guard surroundings.otherUplink != notes.otherUplink else { return }
        notes.otherUplink = surroundings.otherUplink
        tell(.otherUplink(notes.otherUplink))
    }

    mutating func checkAddress() {
        tell(.address(isReady: hasAddress(inUse)))
        guard let spare, let epoch = policy.successor?.epoch else { return }
        tell(.successorAddress(epoch: epoch, isReady: hasAddress(spare)))
    }

    private mutating func askKernel() {
        guard case .online(let link) = policy.phase else { return }
        order(.askKernel(inUse, link))
    }

    // MARK: Reports of wpa_supplicant

    mutating func observe(_ report: SupplicantReport) {
        switch report {
        case .available:
            current.isSupplicantAvailable = true
            askSupplicant()
            // wpa_supplicant accepts any country. The kernel shows a moment later if it has rules for it.
            if settings.country != nil { wait(.country, until: now.instant + .seconds(3)) }
        case .unavailable:
            current.isSupplicantAvailable = false
            current.linkedTo = nil
            wait(.supplicantRetry(inUse), until: nil)
            tell(.supplicant(isAvailable: false))
            // Usually the link ends too, and the kernel may have reported that earlier.
            askKernel()
        case .connected(let attempt, let bssid): linked(attempt: attempt, bssid, with: inUse)
        case .waysClosed(let closed):
            current.closedWays.formUnion(closed)
            guard case .online(let link) = policy.phase, let network = book[link.network] else { return }
            order(.askSupplicant(inUse, .protection(network, link.accessPoint.bssid)))
        case .askedToLeave(let time): tell(.askedToLeave(within: time))
        case .askedToMove: tell(.askedToMove)
        case .neighbour(let bssid, let frequency): tell(.neighbour(bssid, frequency))
        case .disconnected(let reason, let isOwn):
            current.linkedTo = nil
            let isSilent = current.isSilent
            current.isSilent = false
            tell(.linkLost(isSilent ? .silence : Self.end(reason: reason, locallyGenerated: isOwn)))
        case .joinFailed(let attempt, let failure, let detail): joinFailed(attempt, failure, detail)
        case .configuratorLeft: configuratorLeft()
        }
    }

    mutating func observeSpare(_ report: SupplicantReport) {
        guard let spare else { return }
        switch report {
        case .available:
            stations[spare]?.isSupplicantAvailable = true
            // The agent has not made this link.
            leave(spare)
            reviewHandover()
        case .unavailable:
            stations[spare]?.isSupplicantAvailable = false
            wait(.grace(spare), until: nil)
            tellSpare(isReady: false)
            reviewHandover()
        case .connected(let attempt?, let bssid): linked(attempt: attempt, bssid, with: spare)
        case .connected(nil, _): leave(spare)
        case .waysClosed(let closed): stations[spare]?.closedWays.formUnion(closed)
        case .askedToLeave, .askedToMove, .neighbour: break
        case .disconnected: successorLost()
        case .joinFailed(let attempt, let failure, let detail): joinFailed(attempt, failure, detail)
        case .configuratorLeft: break
        }
    }

    private mutating func joinFailed(_ attempt: UInt64, _ failure: JoinFailure, _ detail: String) {
        // While scans are refused, unseen networks are tried one after the other.
        let isUnseen = policy.isUnseen(attempt)
        say(isUnseen ? .debug : .notice, "join \(attempt) failed (\(failure.rawValue)): \(detail)")
        noteFailedJoin(attempt, failure)
        tell(.joinFailed(epoch: attempt, failure))
    }

    private mutating func successorLost() {
        if let epoch = policy.successor?.epoch { tell(.successorLost(epoch: epoch)) }
    }

    /// Interprets own reason codes (IEEE 802.11-2020, table 9-49): 3 ends a working link, 4 means silence.
    private static func end(reason: Int, locallyGenerated: Bool) -> LinkEnd {
        switch reason {
        case 3 where locallyGenerated: .ownDoing
        case 4 where locallyGenerated: .silence
        default: .other
        }
    }

    private mutating func followed(to frequency: Frequency, in phase: FailoverPolicy.Phase) {
        guard let epoch = phase.epoch, let accessPoint = phase.accessPoint else { return }
        tell(.associated(epoch: epoch, AccessPoint(bssid: accessPoint.bssid, frequency: frequency)))
    }

    private mutating func linked(attempt: UInt64?, _ bssid: BSSID, with station: StationID) {
        // The agent has not made this link.
        guard let attempt else { return askSupplicant() }
        recovery.joins.succeeded()
        stations[station]?.linkedTo = bssid
        let phase = [policy.phase, policy.successor].compactMap(\.self).first { $0.epoch == attempt }
        if let network = phase?.network.flatMap({ book[$0] }) {
            order(.askSupplicant(station, .protection(network, bssid)))
        }
        if let before = phase?.accessPoint?.bssid, before != bssid, let network = phase?.network {
            say(.notice, "\(station) roamed without a command from \(before) to \(bssid)")
            roamed(with: station, in: network)
        }
        tell(.associated(epoch: attempt, AccessPoint(bssid: bssid, frequency: policy.frequency(of: bssid))))
        checkAddress()
    }

    mutating func askSupplicant() {
        current.questions += 1
        order(.askSupplicant(inUse, .whatIsThere(current.questions)))
    }

    mutating func answered(_ station: StationID, _ question: LinkQuestion, _ answer: LinkAnswer) {
        switch question {
        case .whatIsThere(let number):
            // wpa_supplicant may have gone, or been asked again, meanwhile.
            guard station == inUse, isSupplicantAvailable, number == current.questions else { return }
            if case .none = answer {
                return wait(.supplicantRetry(inUse), until: now.instant + .seconds(1))
            }
            adopt(answer)
            tell(.supplicant(isAvailable: true))
        case .protection(let network, let bssid):
            guard case .linked(let facts) = answer, facts.ssid == network.ssid, facts.bssid == bssid else { return }
            learn(facts, by: station, of: network)
        }
    }

    private mutating func adopt(_ answer: LinkAnswer) {
        guard case .linked(let facts) = answer, let bssid = facts.bssid,
            let network = facts.ssid.flatMap(book.id(named:))
        else {
            // A restarted wpa_supplicant has ended the link, but a killed agent has left its address.
            dropAddress(of: inUse)
            return tell(.linkLost(.ownDoing))
        }
        guard case .offline = policy.phase else {
            if policy.phase.network == network, let epoch = policy.phase.epoch {
                tell(.associated(epoch: epoch, AccessPoint(bssid: bssid, frequency: facts.frequency)))
            }
            return roamed(with: inUse, in: network)
        }
        let known = book[network]
        let floor = self.floor(of: network)
        if let known, !facts.protection.isSuperset(of: floor) {
            say(
                .warning,
                "leaving \(known.ssid): the link of \(inUse) has \(facts.protection) instead of \(floor)"
            )
            leave(inUse)
            return tell(.linkLost(.ownDoing))
        }
        say(.notice, "\(inUse) is already connected to \(facts.ssid?.description ?? "")")
        current.gate.open()
        current.linkedTo = bssid
        if let known { learn(facts, by: inUse, of: known) }
        tell(.linkFound(network, AccessPoint(bssid: bssid, frequency: facts.frequency)))
        checkAddress()
    }
}
