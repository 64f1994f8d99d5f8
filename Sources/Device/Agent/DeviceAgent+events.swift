import AgentModel
import Failover
import Linux
import Netlink
import Supplicant

// What the device's parts report, in the policy's terms.
extension DeviceAgent {
    func observe(_ observation: Observation) {
        log.trace("observed: \(observation)")
        switch observation {
        case .radio(let event, let interface):
            if interface == station.interface { observe(event) } else { observeSpare(event) }
        case .route(let event): observe(event)
        case .supplicant(let event, let interface):
            if interface == station.interface { observe(event) } else { observeSpare(event) }
        }
    }

    private func observe(_ event: RadioEvent) {
        switch event {
        case .scanStarted: beacons?.scan(isUnderWay: true)
        case .scanFinished(let aborted):
            beacons?.scan(isUnderWay: false)
            if !aborted, !scans.isScanning { Task { await readScanResults() } }
            startDeferredScan()
        case .signalLow(let level): signal?.crossed(level)
        case .signalHigh(let level): signal?.crossed(level)
        // While wpa_supplicant is there, it reports the end of the link in order with everything else it does.
        case .disconnected: if !isSupplicantAvailable { handle(.linkLost(.ownDoing)) }
        case .interfaceAdded:
            handle(.interface(isUp: isInterfaceUp))
            reviewHandover()
        case .interfaceRemoved:
            handle(.interface(isUp: false))
            reviewHandover()
        case .supported:
            handle(.interface(isUp: isInterfaceUp))
            reviewHandover()
        case .resynchronise: resynchronise()
        case .beaconLoss, .packetLoss, .connected, .connectionFailed, .regulatoryChanged: break
        }
    }

    private func observe(_ event: RouteEvent) {
        // A driver that brings an interface has brought nl80211 before.
        if case .linkChanged = event { for station in stations { station.radio.look() } }
        switch event {
        case .linkChanged(let link) where link.name == station.interface:
            handle(.interface(isUp: link.isUp && radio.isSupported))
        case .linkRemoved(let link) where link.name == station.interface: handle(.interface(isUp: false))
        case .linkChanged(let link), .linkRemoved(let link): if link.name == spare?.interface { reviewHandover() }
        case .addressAdded(let address): station(of: address)?.gate.added(address)
        case .addressRemoved(let address): station(of: address)?.gate.removed(address)
        default: break
        }
        switch event {
        case .addressAdded, .addressRemoved: addressesChanged()
        default: break
        }
        checkOtherUplink()
        checkAddress()
    }

    private func station(of address: Address) -> Station? {
        stations.first { $0.radio.interfaceIndex == address.index }
    }

    /// Tells the policy what else carries the traffic, where that has changed.
    private func checkOtherUplink() {
        let found = routes.uplink(besides: stations.compactMap(\.radio.interfaceIndex))
        guard found != otherUplink else { return }
        otherUplink = found
        handle(.otherUplink(found))
    }

    private func observe(_ event: SupplicantEvent) {
        switch event {
        case .available: supplicantAppeared()
        case .unavailable: supplicantDisappeared()
        case .connected(let attempt, let bssid): linked(attempt: attempt, bssid: bssid, with: station)
        case .transitionDisabled(let disabled): closed(disabled, to: station)
        case .disconnected(let reason, let locallyGenerated):
            let isSilent = station.isSilent
            station.isSilent = false
            handle(.linkLost(isSilent ? .silence : Self.end(reason: reason, locallyGenerated: locallyGenerated)))
        case .joinFailed(let attempt, let failure, let detail):
            log.notice("join \(attempt) failed (\(failure.rawValue)): \(detail)")
            handle(.joinFailed(epoch: attempt, failure))
        }
    }

    /// Tells the policy whether the links can carry traffic.
    func checkAddress() {
        handle(.address(isReady: hasAddress(station)))
        guard let spare, let epoch = policy.successor?.epoch else { return }
        handle(.successorAddress(epoch: epoch, isReady: hasAddress(spare)))
    }

    func linked(attempt: UInt64?, bssid: BSSID, with station: Station) {
        // A link that no join of ours made.
        guard let attempt else { return askSupplicant() }
        let phase = [policy.phase, policy.successor].compactMap(\.self).first { $0.epoch == attempt }
        if let network = phase?.network.flatMap({ book[$0] }) { learnProtection(of: network, bssid, station) }
        handle(.associated(epoch: attempt, AccessPoint(bssid: bssid, frequency: policy.frequency(of: bssid))))
        checkAddress()
    }

    private func supplicantAppeared() {
        station.isSupplicantAvailable = true
        askSupplicant()
        checkCountry()
    }

    private func supplicantDisappeared() {
        station.isSupplicantAvailable = false
        station.supplicantRetry = nil
        handle(.supplicant(isAvailable: false))
        // Usually the link goes with it, and the kernel's word for that may have come before.
        askKernel()
    }

    /// wpa_supplicant is there, for the first time or again: what is it doing?
    private func askSupplicant() {
        station.supplicantQuestions += 1
        let (station, question) = (station, station.supplicantQuestions)
        Task {
            let status = try? await station.supplicant.status()
            // It may have died, or been asked again, in the meantime.
            guard station.isSupplicantAvailable, question == station.supplicantQuestions, station === self.station
            else { return }
            guard let status else {
                station.supplicantRetry = LoopTimer(after: .seconds(1)) { [weak self] in self?.askSupplicant() }
                return
            }
            adopt(status)
            handle(.supplicant(isAvailable: true))
        }
    }

    private func adopt(_ status: SupplicantStatus) {
        if status.state == .completed, let bssid = status.bssid, let network = status.ssid.flatMap(book.id(named:)) {
            guard case .offline = policy.phase else { return }
            if let known = book[network], !status.protection.isSuperset(of: known.floor) {
                log.warning(
                    """
                    \(station.interface) is connected to \(known.ssid) with \(status.protection), and not with \
                    \(known.floor): the link is left
                    """)
                leave(station)
                return handle(.linkLost(.ownDoing))
            }
            log.notice("\(station.interface) is connected to \(status.ssid?.description ?? "") already")
            station.gate.open()
            if let known = book[network] { learn(status, of: known, with: station) }
            handle(.linkFound(network, AccessPoint(bssid: bssid, frequency: status.frequency)))
            checkAddress()
        } else {
            // A supplicant that was started anew took the old link down.
            handle(.linkLost(.ownDoing))
        }
    }

    /// What this station itself gives as the reason (IEEE 802.11-2020, table 9-49): 3, "leaving", where it ends a link that
    /// is in order, and 4, "inactivity", where its kernel hears the access point no more.
    private static func end(reason: Int, locallyGenerated: Bool) -> LinkEnd {
        switch reason {
        case 3 where locallyGenerated: .ownDoing
        case 4 where locallyGenerated: .silence
        default: .other
        }
    }

    /// Events were lost: ask for everything that the agent goes by.
    private func resynchronise() {
        handle(.interface(isUp: isInterfaceUp))
        beacons?.scan(isUnderWay: false)
        Task { await readScanResults() }
        askKernel()
    }

    /// Whether the link that the policy believes in is still there.
    private func askKernel() {
        guard case .online(let link) = policy.phase else { return }
        Task {
            do {
                let isGone = try await radio.link() == nil
                guard isGone, case .online(link) = policy.phase else { return }
                handle(.linkLost(isSupplicantAvailable ? .other : .ownDoing))
            } catch {
                log.warning("\(error)")
            }
        }
    }
}
