import AgentModel
import Failover

// wpa_supplicant: from the order to join until there is a link.
extension SimulatedDevice {
    struct Join {
        let target: LinkTarget
        /// Index in the scenario's networks.
        let network: Int
        /// The address of the link before counts in this one as well.
        let keepsAddress: Bool
        var step: Step
        /// When the step ends; never, while it waits for the radio.
        var due: Int64

        enum Step {
            case waitingForRadio
            /// Scans the named channels, since this moment.
            case searching(since: Int64)
            case associating(Int)
            case refused(JoinFailure)
        }
    }

    mutating func begin(_ target: LinkTarget) {
        guard let network = book.index(of: target.network) else {
            tell(.joinFailed(epoch: target.epoch, .notFound))
            return
        }
        guard supplicant.isRunning else {
            tell(.joinFailed(epoch: target.epoch, .supplicantUnavailable))
            return
        }
        account.result.joins += 1
        let keepsAddress = link.map { $0.id == target.network && $0.hasAddress } ?? false
        dropLink()
        join = Join(
            target: target, network: network, keepsAddress: keepsAddress, step: .waitingForRadio, due: .max)
        if scan == nil { proceed() }
    }

    mutating func leave() {
        join = nil
        dropLink()
        startDeferredScan()
    }

    /// The radio is free for the join: wpa_supplicant takes an access point that was seen within 5 s, and else scans
    /// first.
    mutating func proceed() {
        guard var join else { return }
        if let accessPoint = best(for: join, since: now - 5000) {
            associate(with: accessPoint)
            return
        }
        join.step = .searching(since: now)
        join.due = now + scanTime(of: join.target.frequencies)
        self.join = join
    }

    private mutating func associate(with accessPoint: Int) {
        join?.step = .associating(accessPoint)
        join?.due = now + world.noise(at: now).number(.association, of: accessPoint, now, in: 100...150)
    }

    /// The strongest access point seen since then that the order means.
    private func best(for join: Join, since: Int64) -> Int? {
        var best: (accessPoint: Int, signal: Int)?
        for index in sights.indices {
            guard let sight = sights[index], sight.seen >= since, isMeant(index, by: join),
                sight.signal > best?.signal ?? .min
            else { continue }
            best = (index, sight.signal)
        }
        return best?.accessPoint
    }

    private func isMeant(_ accessPoint: Int, by join: Join) -> Bool {
        let track = world.tracks[accessPoint]
        let network = world.scenario.networks[join.network]
        let key = world.span(of: accessPoint, at: now).state.key
        return track.ssid == network.ssid && (key == Keys.open) == (book[join.network].password == nil)
            && (join.target.bssid.map { $0 == track.bssid } ?? true)
            && (join.target.frequencies.isEmpty || join.target.frequencies.contains(track.frequency))
    }

    mutating func advance(_ join: Join) {
        switch join.step {
        case .waitingForRadio: break
        case .searching(let since): endSearch(join, since: since)
        case .associating(let accessPoint): associated(join, with: accessPoint)
        case .refused(let failure): fail(join, failure)
        }
    }

    private mutating func endSearch(_ join: Join, since: Int64) {
        let network = world.scenario.networks[join.network]
        account.scanned(from: since, to: now, isOnLink: false)
        look(at: join.target.frequencies, calling: network.isHidden ? [network.ssid] : [])
        tell(.scanned(id: nil, scanResults()))
        if let accessPoint = best(for: join, since: now) {
            associate(with: accessPoint)
        } else {
            fail(join, .notFound)
        }
        startDeferredScan()
    }

    private mutating func associated(_ join: Join, with accessPoint: Int) {
        let state = world.span(of: accessPoint, at: now).state
        let loss = world.loss(of: accessPoint, at: now)
        let isHeard = loss < World.deafness && world.isLucky(.frame, of: accessPoint, at: now, chance: 1 - loss)
        switch state.admission {
        // Three authentication frames without an answer.
        case _ where !isHeard: refuse(.timeout, after: 1000)
        case _ where state.isFull: fail(join, .accessPointFull)
        case .notKnown: fail(join, .notFound)
        // hostapd repeats the handshake before it gives up.
        case .wrongPassword: refuse(.wrongKey, after: 4200 - 125)
        case .admitted: connect(join, to: accessPoint, state: state)
        }
    }

    private mutating func refuse(_ failure: JoinFailure, after time: Int64) {
        join?.step = .refused(failure)
        join?.due = now + time
    }

    private mutating func fail(_ join: Join, _ failure: JoinFailure) {
        self.join = nil
        account.result.failedJoins += 1
        tell(.joinFailed(epoch: join.target.epoch, failure))
    }

    private mutating func connect(_ join: Join, to accessPoint: Int, state: AccessPointState) {
        self.join = nil
        let track = world.tracks[accessPoint]
        var link = Link(
            accessPoint: accessPoint, network: join.network, id: join.target.network, key: state.key, since: now)
        if !join.keepsAddress { link.addressAt = addressMoment(state.addressTime) }
        self.link = link
        searchForLoss(from: now)
        book.note(track.frequency, of: join.network)
        book.opened(track.bssid, of: join.network)
        tell(.associated(epoch: join.target.epoch, AccessPoint(bssid: track.bssid, frequency: track.frequency)))
        if join.keepsAddress { addressReady() } else { tell(.address(isReady: false)) }
        restartWatch()
    }

    func addressMoment(_ time: Duration?) -> Int64 {
        time.map { now + max(0, ($0 + timing.extraAddressTime).milliseconds) } ?? .max
    }
}
