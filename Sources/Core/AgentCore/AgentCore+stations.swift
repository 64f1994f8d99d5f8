import AgentModel
import AppProtocol
import Failover
import KeyFile

struct StationState: Sendable {
    var staleAddresses = StaleAddressFilter()
    var isSupplicantAvailable = false
    /// Number of status requests to wpa_supplicant. Only the answer to the last request counts.
    var questions: UInt64 = 0
    /// Network of the last link. If the station joins it again, the address stays valid.
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
    /// Whether the DHCP server says that the network is metered.
    var isMeteredByServer = false
    /// Faults of DHCP servers or neighbours since the join, a line each.
    var addressProblems: [String] = []
}

// Links of the station in use and of the spare station for make-before-break.
extension AgentCore {
    var current: StationState {
        get { stations[inUse] ?? StationState() }
        set { stations[inUse] = newValue }
    }

    package var isInterfaceUp: Bool { kernel.stations[inUse]?.isUp ?? false }
    package var isSupplicantAvailable: Bool { current.isSupplicantAvailable }

    /// Error if the Wi-Fi interface is missing, else nil.
    package var missingInterface: ProtocolError? {
        let station = kernel.stations[inUse]
        guard station?.isSupported == true else {
            return ProtocolError(.interfaceMissing, "the kernel has no Wi-Fi (nl80211)")
        }
        guard station?.isPresent == true else {
            return ProtocolError(.interfaceMissing, "there is no interface \(inUse)")
        }
        return nil
    }

    private func hasAddress(_ station: StationID) -> Bool {
        guard let facts = kernel.stations[station], let state = stations[station] else { return false }
        // A static IPv6 address is used beside others, and is there even if no router is.
        let beside = state.addressed?.fixedIPv6?.address.bytes
        return state.staleAddresses.isReady(
            addresses: facts.addresses.filter { $0.bytes != beside }, routes: facts.routes)
    }

    // MARK: Actions of the policy

    mutating func join(_ target: LinkTarget) {
        guard let network = registry[target.network] else {
            return sendToPolicy(.joinFailed(epoch: target.epoch, .notFound))
        }
        guard mayJoin(target) else { return }
        var request = request(network, target)
        request.roam = roam(to: target, in: network)
        let isAnother = prepare(inUse, for: target, keepsAddress: request.roam != nil)
        emit(.join(inUse, request, attempt: target.epoch, another: isAnother, afterSignOff: true))
    }

    mutating func joinBeside(_ target: LinkTarget) {
        guard let spare, let network = registry[target.network] else {
            return sendToPolicy(.joinFailed(epoch: target.epoch, .notFound))
        }
        guard mayJoin(target, isBeside: true) else { return }
        let isAnother = prepare(spare, for: target, keepsAddress: false)
        wait(.grace(spare), until: nil)
        emit(
            .join(spare, request(network, target), attempt: target.epoch, another: isAnother, afterSignOff: false))
    }

    /// Prepares a station for a join. Within the same network, existing addresses stay valid.
    /// - Returns: true if the network differs from the last one.
    private mutating func prepare(_ station: StationID, for target: LinkTarget, keepsAddress: Bool) -> Bool {
        let isAnother = target.network != stations[station]?.lastLinked
        if isAnother {
            let facts = kernel.stations[station]
            stations[station]?.staleAddresses.markStale(facts?.addresses ?? [], facts?.routes ?? [])
        } else {
            stations[station]?.staleAddresses.clear()
        }
        stations[station]?.closedWays = []
        stations[station]?.addressProblems = []
        stations[station]?.linkedTo = nil
        stations[station]?.protection = nil
        if !keepsAddress { stations[station]?.addressed = nil }
        return isAnother
    }

    /// Returns how the current link can roam to the target; nil for a full join. FullMAC firmware roams without
    /// commands.
    private func roam(to target: LinkTarget, in network: StoredNetwork) -> JoinRequest.Roam? {
        guard let present = current.linkedTo, let next = target.bssid, next != present, !target.isUnseen,
            target.network == current.lastLinked,
            target.network == current.addressed?.network || !settings.assignsAddresses,
            kernel.stations[inUse]?.joinsByItself == false
        else { return nil }
        guard let here = policy.mobility(of: present), let there = policy.mobility(of: next), here.id == there.id else {
            // Roaming sends no deauthentication to the old access point. With PMF, that access point would delay the
            // next visit by a second for an SA Query with the old keys (IEEE 802.11-2020, 11.3.5.3). A full join
            // deauthenticates. Fast transition is not affected.
            return (current.protection ?? minimumSecurity(of: target.network)).contains(.pmf) ? nil : .overTheAir
        }
        // Fast transition through the current access point costs nothing if the target does not answer.
        return here.isOverDistributionSystem && there.isOverDistributionSystem
            ? .overTheDistributionSystem : .overTheAir
    }

    private func request(_ network: StoredNetwork, _ target: LinkTarget) -> JoinRequest {
        var request = JoinRequest(
            ssid: network.ssid, credential: network.credential, isHidden: network.isHidden, bssid: target.bssid,
            frequencies: target.frequencies, offer: target.offer, minimumSecurity: minimumSecurity(of: target.network),
            isUnseen: target.isUnseen)
        request.allowsTKIP = network.options.allowsTKIP
        return request
    }

    mutating func leave(_ station: StationID) {
        wait(.grace(station), until: nil)
        stations[station]?.addressed = nil
        stations[station]?.linkedTo = nil
        emit(.leave(station, afterSignOff: station == inUse))
    }

    /// Makes the spare station the one in use.
    /// - Parameter isAlive: Whether the old link is still up.
    mutating func useSuccessor(whileOldIsAlive isAlive: Bool) {
        guard spare != nil else { return }
        let old = inUse
        emit(.leaveSuccessorProbe)
        exchangeStations()
        log(.notice, "traffic moved from \(old) to \(inUse)")
        emit(.use(inUse))
        if isAlive {
            wait(.grace(old), until: now.instant + policy.settings.spareGrace, leeway: .seconds(1))
        } else {
            leave(old)
        }
        sendToPolicy(.interface(isUp: isInterfaceUp))
        sendToPolicy(.supplicant(isAvailable: isSupplicantAvailable))
        checkAddress()
        reviewHandover()
    }

    mutating func exchangeStations() {
        guard let other = spare else { return }
        (inUse, spare) = (other, inUse)
        // The other station may have another radio.
        current.nameLimit = nil
    }

    // MARK: Events of the kernel

    mutating func handle(_ event: RadioEvent) {
        switch event {
        case .scanStarted:
            loss.scanned()
            emit(.beaconsDuringScan(true))
        case .scanFinished(let isAborted, let frequencies):
            loss.scanned()
            emit(.beaconsDuringScan(false))
            otherScanEnded(aborted: isAborted, frequencies)
        // wpa_supplicant, if available, reports the disconnection in order with its other events.
        case .disconnected: if !isSupplicantAvailable { sendToPolicy(.linkLost(.ownDoing)) }
        case .channelChanged(let frequency): followed(to: frequency, in: policy.phase)
        case .signalLow(let level): signalCrossed(level, isBelow: true)
        case .signalHigh(let level): signalCrossed(level, isBelow: false)
        case .interfaceAdded, .supported:
            // The interface is new: reset the state of its firmware.
            (recovery.firmware, recovery.isMuteReported) = (FirmwareWatch(), false)
            (setupAccessPoint.retry, setupAccessPoint.failures) = (nil, 0)
            sendToPolicy(.interface(isUp: isInterfaceUp))
            reviewHandover()
        case .interfaceRemoved:
            sendToPolicy(.interface(isUp: false))
            reviewHandover()
        case .resynchronise:
            // Events were lost: read everything again.
            sendToPolicy(.interface(isUp: isInterfaceUp))
            emit(.beaconsDuringScan(false))
            emit(.readScan(inUse, after: nil))
            askKernel()
        case .beaconLoss, .packetLoss, .connected, .connectionFailed, .regulatoryChanged: break
        }
    }

    mutating func handleSpare(_ event: RadioEvent) {
        switch event {
        // The spare station may share the radio.
        case .scanStarted:
            loss.scanned()
            emit(.beaconsDuringScan(true))
        case .scanFinished:
            loss.scanned()
            emit(.beaconsDuringScan(false))
            startDeferredScan()
        case .disconnected: if spare.flatMap({ stations[$0] })?.isSupplicantAvailable != true { successorLost() }
        case .channelChanged(let frequency): if let phase = policy.successor { followed(to: frequency, in: phase) }
        case .interfaceAdded, .supported, .interfaceRemoved, .resynchronise: reviewHandover()
        case .signalLow, .signalHigh, .beaconLoss, .packetLoss, .connected, .connectionFailed, .regulatoryChanged: break
        }
    }

    mutating func handle(_ event: RouteEvent) {
        switch event {
        case .linkChanged(let link) where link.name == inUse.interface:
            sendToPolicy(.interface(isUp: link.isUp && kernel.stations[inUse]?.isSupported == true))
        case .linkRemoved(let link) where link.name == inUse.interface: sendToPolicy(.interface(isUp: false))
        case .linkChanged(let link), .linkRemoved(let link): if link.name == spare?.interface { reviewHandover() }
        case .addressAdded(let address):
            if let station = kernel.station(of: address.index) { stations[station]?.staleAddresses.added(address) }
            emit(.addressesChanged)
        case .addressRemoved(let address):
            if let station = kernel.station(of: address.index) { stations[station]?.staleAddresses.removed(address) }
            emit(.addressesChanged)
        case .defaultRouteAdded(let route):
            guard let station = kernel.station(of: route.index) else { break }
            stations[station]?.staleAddresses.added(route)
            // Another DHCP client has set the route late.
            if !settings.assignsAddresses, route.family == .ipv4 {
                stations[station]?.staleAddresses.withoutRouter = nil
            }
        case .defaultRouteRemoved(let route):
            if let station = kernel.station(of: route.index) { stations[station]?.staleAddresses.removed(route) }
        case .uplinkChanged, .resynchronise: break
        }
        checkRoutes()
    }

    /// Sends the policy the other uplink, and whether the Wi-Fi links have addresses.
    mutating func checkRoutes() {
        let uplink = reliableUplink
        if uplink != lastPublished.otherUplink {
            lastPublished.otherUplink = uplink
            sendToPolicy(.otherUplink(uplink))
        }
        followPath()
        checkAddress()
    }

    mutating func checkAddress() {
        sendToPolicy(.address(isReady: hasAddress(inUse)))
        guard let spare, let epoch = policy.successor?.epoch else { return }
        sendToPolicy(.successorAddress(epoch: epoch, isReady: hasAddress(spare)))
    }

    private mutating func askKernel() {
        guard case .online(let link) = policy.phase else { return }
        emit(.askKernel(inUse, link))
    }

    // MARK: Events of wpa_supplicant

    mutating func handle(_ event: SupplicantEvent) {
        switch event {
        case .available:
            current.isSupplicantAvailable = true
            askSupplicant()
            // wpa_supplicant accepts any country code. A later read shows if the kernel has rules for the country.
            if settings.country != nil { wait(.country, until: now.instant + .seconds(3)) }
        case .unavailable:
            current.isSupplicantAvailable = false
            current.linkedTo = nil
            wait(.supplicantRetry(inUse), until: nil)
            sendToPolicy(.supplicant(isAvailable: false))
            // Usually the link ends too, and the kernel may have reported that earlier.
            askKernel()
        case .connected(let attempt, let bssid): linked(attempt: attempt, bssid, with: inUse)
        case .transitionDisabled(let closed):
            current.closedWays.formUnion(closed)
            guard case .online(let link) = policy.phase, let network = registry[link.network] else { return }
            emit(.askSupplicant(inUse, .protection(network, link.accessPoint.bssid)))
        case .disassociationImminent(let time): sendToPolicy(.disassociationImminent(within: time))
        case .transitionRequested: sendToPolicy(.transitionRequested)
        case .neighbour(let bssid, let frequency): sendToPolicy(.neighbour(bssid, frequency))
        case .disconnected(let reason, let isOwn):
            current.linkedTo = nil
            let isSilent = current.isSilent
            current.isSilent = false
            sendToPolicy(.linkLost(isSilent ? .silence : Self.end(reason: reason, locallyGenerated: isOwn)))
        case .joinFailed(let attempt, let failure, let detail): joinFailed(attempt, failure, detail)
        case .easyConnect(.failed): configuratorLeft()
        case .easyConnect(.authenticated), .easyConnect(.network), .certificateRefused: break
        }
    }

    mutating func handleSpare(_ event: SupplicantEvent) {
        guard let spare else { return }
        switch event {
        case .available:
            stations[spare]?.isSupplicantAvailable = true
            // The agent has not made this link.
            leave(spare)
            reviewHandover()
        case .unavailable:
            stations[spare]?.isSupplicantAvailable = false
            wait(.grace(spare), until: nil)
            sendSpare(isReady: false)
            reviewHandover()
        case .connected(let attempt?, let bssid): linked(attempt: attempt, bssid, with: spare)
        case .connected(nil, _): leave(spare)
        case .transitionDisabled(let closed): stations[spare]?.closedWays.formUnion(closed)
        case .disconnected: successorLost()
        case .joinFailed(let attempt, let failure, let detail): joinFailed(attempt, failure, detail)
        case .disassociationImminent, .transitionRequested, .neighbour, .easyConnect, .certificateRefused: break
        }
    }

    private mutating func joinFailed(_ attempt: UInt64, _ failure: JoinFailure, _ detail: String) {
        // While scans are refused, the policy tries unseen networks in turn, and most of these joins fail.
        let isUnseen = policy.isUnseen(attempt)
        log(isUnseen ? .debug : .notice, "join \(attempt) failed (\(failure.rawValue)): \(detail)")
        recordFailedJoin(attempt, failure)
        sendToPolicy(.joinFailed(epoch: attempt, failure))
    }

    private mutating func successorLost() {
        if let epoch = policy.successor?.epoch { sendToPolicy(.successorLost(epoch: epoch)) }
    }

    /// Interprets reason codes that the station generates (IEEE 802.11-2020, table 9-49): 3 ends a working link, 4
    /// means that the access point is silent.
    private static func end(reason: Int, locallyGenerated: Bool) -> LinkEnd {
        switch reason {
        case 3 where locallyGenerated: .ownDoing
        case 4 where locallyGenerated: .silence
        default: .other
        }
    }

    private mutating func followed(to frequency: Frequency, in phase: FailoverPolicy.Phase) {
        guard let epoch = phase.epoch, let accessPoint = phase.accessPoint else { return }
        sendToPolicy(.associated(epoch: epoch, AccessPoint(bssid: accessPoint.bssid, frequency: frequency)))
    }

    private mutating func linked(attempt: UInt64?, _ bssid: BSSID, with station: StationID) {
        // The agent has not made this link.
        guard let attempt else { return askSupplicant() }
        recovery.joins.succeeded()
        stations[station]?.linkedTo = bssid
        let phase = [policy.phase, policy.successor].compactMap(\.self).first { $0.epoch == attempt }
        if let network = phase?.network.flatMap({ registry[$0] }) {
            emit(.askSupplicant(station, .protection(network, bssid)))
        }
        if let before = phase?.accessPoint?.bssid, before != bssid, let network = phase?.network {
            log(.notice, "\(station) roamed without a command from \(before) to \(bssid)")
            roamed(with: station, in: network)
        }
        sendToPolicy(.associated(epoch: attempt, AccessPoint(bssid: bssid, frequency: policy.frequency(of: bssid))))
        checkAddress()
    }

    mutating func askSupplicant() {
        current.questions += 1
        emit(.askSupplicant(inUse, .whatIsThere(current.questions)))
    }

    mutating func handleLinkAnswer(_ station: StationID, _ question: LinkQuestion, _ answer: LinkAnswer) {
        switch question {
        case .whatIsThere(let number):
            // Meanwhile wpa_supplicant may have stopped, or the agent may have sent a newer request.
            guard station == inUse, isSupplicantAvailable, number == current.questions else { return }
            if case .none = answer {
                return wait(.supplicantRetry(inUse), until: now.instant + .seconds(1))
            }
            adopt(answer)
            sendToPolicy(.supplicant(isAvailable: true))
        case .protection(let network, let bssid):
            guard case .linked(let facts) = answer, facts.ssid == network.ssid, facts.bssid == bssid else { return }
            learn(facts, by: station, of: network)
        }
    }

    private mutating func adopt(_ answer: LinkAnswer) {
        guard case .linked(let facts) = answer, let bssid = facts.bssid,
            let network = facts.ssid.flatMap({ registry.id(named: $0, lastUsed: state.current) })
        else {
            // A restart of wpa_supplicant has ended the link. An agent that was killed has left the address.
            dropAddress(of: inUse)
            return sendToPolicy(.linkLost(.ownDoing))
        }
        guard case .offline = policy.phase else {
            if policy.phase.network == network, let epoch = policy.phase.epoch {
                sendToPolicy(.associated(epoch: epoch, AccessPoint(bssid: bssid, frequency: facts.frequency)))
            }
            return roamed(with: inUse, in: network)
        }
        let known = registry[network]
        let minimumSecurity = self.minimumSecurity(of: network)
        if let known, !facts.protection.isSuperset(of: minimumSecurity) {
            log(
                .warning,
                "leaving \(known.ssid): the link of \(inUse) has \(facts.protection) instead of \(minimumSecurity)"
            )
            leave(inUse)
            return sendToPolicy(.linkLost(.ownDoing))
        }
        log(.notice, "\(inUse) is already connected to \(facts.ssid?.description ?? "")")
        current.staleAddresses.clear()
        current.linkedTo = bssid
        if let known { learn(facts, by: inUse, of: known) }
        sendToPolicy(.linkFound(network, AccessPoint(bssid: bssid, frequency: facts.frequency)))
        checkAddress()
    }
}
