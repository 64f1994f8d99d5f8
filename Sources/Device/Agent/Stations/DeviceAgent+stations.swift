import AgentModel
import AppProtocol
import Failover
import Linux
import Netlink
import Supplicant

// The station in use, and the spare one, by which the next network is joined before the present one is left.
extension DeviceAgent {
    var radio: WirelessRadio { station.radio }
    var supplicant: Supplicant { station.supplicant }
    var isSupplicantAvailable: Bool { station.isSupplicantAvailable }

    var stations: [Station] { [station, spare].compactMap(\.self) }

    func station(_ interface: String) -> Station? { stations.first { $0.interface == interface } }

    func isUp(_ station: Station) -> Bool {
        station.radio.isSupported && routes.link(named: station.interface)?.isUp ?? false
    }

    /// A station's own addresses.
    func addresses(of station: Station) -> [Address] {
        routes.addresses.filter { $0.index == station.radio.interfaceIndex && $0.scope == .global }
            .sorted { ($0.bytes.count, Hex.string($0.bytes)) < ($1.bytes.count, Hex.string($1.bytes)) }
    }

    /// Whether a station's link can carry traffic.
    func hasAddress(_ station: Station) -> Bool {
        let own = routes.defaultRoutes.filter { $0.index == station.radio.interfaceIndex && !$0.isOwn }
        return station.gate.isReady(addresses: addresses(of: station), routes: own)
    }

    // MARK: At the start

    /// Goes on with the station that carries the traffic, whichever it is.
    func beginStations() {
        guard let spare else {
            // What an agent with two stations left behind.
            Task { do { try await RouteSteering.removeLeftovers(routes) } catch { log.warning("\(error)") } }
            return
        }
        let names = [settings.interface, spare.interface]
        if RouteSteering.used(of: names, in: routes) == spare.interface { exchangeStations() }
        steering = RouteSteering(names, using: station.interface, routes: routes) { [log] in log.warning("\($0)") }
    }

    private func exchangeStations() {
        guard let spare else { return }
        (station, self.spare) = (spare, station)
        reach.use(station.network)
        scans.maximumNames = nil
    }

    // MARK: Which of the two the hardware allows

    /// Looks anew what the hardware allows, and tells the policy whether the spare station is ready.
    func reviewHandover() {
        handoverReviews += 1
        let number = handoverReviews
        Task {
            let found = await findHandover()
            guard number == handoverReviews else { return }
            if found != handover {
                log.info("moving to another network: \(found)")
                handover = found
            }
            tellSpare(isReady: found == .makeBeforeBreak)
            updateStatus()
        }
    }

    private func tellSpare(isReady: Bool) {
        guard spare != nil, isReady != isSpareReady else { return }
        isSpareReady = isReady
        handle(.spare(isReady: isReady))
    }

    private func findHandover() async -> Handover {
        guard let phy = try? await station.radio.phy() else { return .breakBeforeMake(.radioMissing) }
        let (links, channels) = phy.stationConcurrency
        let obstacle: Handover.Obstacle? = links < 2 ? .oneLink : channels < 2 ? .oneChannel : nil
        guard let spare else { return .breakBeforeMake(obstacle ?? .notSet) }
        if obstacle == nil, spare.radio.interfaceIndex == nil { await addSpareInterface() }
        guard let other = try? await spare.radio.phy() else { return .breakBeforeMake(.spareMissing) }
        if other.index == phy.index, let obstacle { return .breakBeforeMake(obstacle) }
        guard isUp(spare), spare.isSupplicantAvailable else { return .breakBeforeMake(.spareNotReady) }
        return .makeBeforeBreak
    }

    /// Makes the spare interface, where the radio in use has room for it. It goes with the radio, and not with the agent.
    private func addSpareInterface() async {
        // The first interface is of a radio that may come back.
        guard let name = settings.spareInterface, name == spare?.interface else { return }
        do {
            try await station.radio.addStation(name)
            log.notice("the radio of \(station.interface) has the interface \(name) too now")
        } catch {
            log.warning("\(error)")
        }
    }

    // MARK: The policy's orders

    func joinBeside(_ target: LinkTarget) {
        guard let spare, let network = book[target.network] else {
            handle(.joinFailed(epoch: target.epoch, .notFound))
            return
        }
        let isAnother = target.network != spare.lastLinked
        if isAnother { spare.gate.close(over: addresses(of: spare)) } else { spare.gate.open() }
        spare.network.willJoin(another: isAnother)
        // The link that was in use before goes with this.
        spare.grace = nil
        join(network, target, with: spare)
    }

    func leaveSuccessor() {
        reach.leaveSuccessor()
        if let spare { leave(spare) }
    }

    /// The link that was made beside is in use from now on.
    /// - Parameter isAlive: whether the one before still is.
    func useSuccessor(whileOldIsAlive isAlive: Bool) {
        guard spare != nil else { return }
        let old = station
        reach.leaveSuccessor()
        exchangeStations()
        log.notice("\(station.interface) carries the traffic from now on, not \(old.interface)")
        steering?.use(station.interface)
        if isAlive {
            old.grace = LoopTimer(after: settings.spareGrace, leeway: .seconds(1)) { [weak self, weak old] in
                if let old { self?.leave(old) }
            }
        } else {
            leave(old)
        }
        handle(.interface(isUp: isInterfaceUp))
        handle(.supplicant(isAvailable: isSupplicantAvailable))
        checkAddress()
        reviewHandover()
    }

    // MARK: What the spare station reports

    func observeSpare(_ event: RadioEvent) {
        switch event {
        // It may be the same radio.
        case .scanStarted: beacons?.scan(isUnderWay: true)
        case .scanFinished:
            beacons?.scan(isUnderWay: false)
            startDeferredScan()
        case .disconnected: if spare?.isSupplicantAvailable != true { successorLost() }
        case .interfaceAdded, .interfaceRemoved, .supported, .resynchronise: reviewHandover()
        case .signalLow, .signalHigh, .beaconLoss, .packetLoss, .connected, .connectionFailed,
            .regulatoryChanged:
            break
        }
    }

    func observeSpare(_ event: SupplicantEvent) {
        guard let spare else { return }
        switch event {
        case .available:
            spare.isSupplicantAvailable = true
            // Whatever it is in, nobody wants it to be.
            leave(spare)
            reviewHandover()
        case .unavailable:
            spare.isSupplicantAvailable = false
            spare.grace = nil
            tellSpare(isReady: false)
            reviewHandover()
        case .connected(let attempt?, let bssid): linked(attempt: attempt, bssid: bssid, with: spare)
        case .connected(nil, _): leave(spare)
        case .transitionDisabled(let disabled): closed(disabled, to: spare)
        case .disconnected: successorLost()
        case .joinFailed(let attempt, let failure, let detail):
            log.notice("join \(attempt) failed (\(failure.rawValue)): \(detail)")
            handle(.joinFailed(epoch: attempt, failure))
        }
    }

    private func successorLost() {
        if let epoch = policy.successor?.epoch { handle(.successorLost(epoch: epoch)) }
    }
}
