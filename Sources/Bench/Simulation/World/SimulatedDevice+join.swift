import AgentModel

// Simulates wpa_supplicant from the order to join until the link.
extension SimulatedDevice {
    struct JoinOrder {
        let attempt: UInt64
        let network: Int
        let isOpen: Bool
        let bssid: BSSID?
        /// Channels to search; all if empty.
        let frequencies: [Frequency]
    }

    struct Join {
        let order: JoinOrder
        /// Whether the previous link's address stays valid.
        let keepsAddress: Bool
        var step: Step
        /// End of the step, in milliseconds; `Int64.max` while the join waits for the radio.
        var due: Int64

        enum Step {
            case waitingForRadio
            case searching(since: Int64)
            case associating(Int)
            case refused(JoinFailure)
        }

        var isSearching: Bool { if case .searching = step { true } else { false } }
        var isWaiting: Bool { if case .waitingForRadio = step { true } else { false } }
    }

    /// Starts a join. Ends the station's link and replaces an earlier order.
    /// - Returns: false if wpa_supplicant does not run.
    mutating func join(_ order: JoinOrder, with station: Int) -> Bool {
        guard supplicant.isRunning else { return false }
        account.result.joins += 1
        let keepsAddress = stations[station].link.map { $0.network == order.network && $0.hasAddress } ?? false
        dropLink(of: station, keepingAddress: keepsAddress)
        let wasSearching = stations[station].join?.isSearching ?? false
        if wasSearching { countAll() }
        stations[station].join = Join(order: order, keepsAddress: keepsAddress, step: .waitingForRadio, due: .max)
        if wasSearching { searchIsOver() } else if scan == nil, !isSearching { proceed(station) }
        return true
    }

    @discardableResult
    mutating func leave(_ station: Int) -> Bool {
        let hadLink = stations[station].link != nil
        let wasSearching = stations[station].join?.isSearching ?? false
        if wasSearching { countAll() }
        giveUpJoin(of: station)
        dropLink(of: station)
        if wasSearching { searchIsOver() }
        return hadLink
    }

    /// Cancels the join, and releases the address that it kept.
    mutating func giveUpJoin(of station: Int) {
        guard let join = stations[station].join else { return }
        stations[station].join = nil
        if join.keepsAddress { releaseAddress(of: station) }
    }

    private mutating func searchIsOver() {
        report(.supplicantScanned(isAborted: true))
        scanIsOver()
        radioIsFree()
    }

    var isSearching: Bool { stations.contains { $0.join?.isSearching ?? false } }

    mutating func radioIsFree() {
        for station in stations.indices where scan == nil && !isSearching {
            if stations[station].join?.isWaiting ?? false { proceed(station) }
        }
    }

    /// Like wpa_supplicant, associates with an access point that was seen in the last 5 s. Otherwise scans first.
    private mutating func proceed(_ station: Int) {
        guard var join = stations[station].join else { return }
        if let accessPoint = best(for: join.order, since: now - 5000) {
            associate(station, with: accessPoint)
            return
        }
        countAll()
        join.step = .searching(since: now)
        join.due = now + scanTime(of: join.order.frequencies)
        stations[station].join = join
        scanBegan(away: true)
    }

    private mutating func associate(_ station: Int, with accessPoint: Int) {
        stations[station].join?.step = .associating(accessPoint)
        stations[station].join?.due =
            now + world.noise(at: now).number(.association, of: accessPoint, now, in: 100...150)
    }

    /// Returns the strongest access point that matches the order and was seen at `since` or later.
    private func best(for order: JoinOrder, since: Int64) -> Int? {
        var best: (accessPoint: Int, signal: Int)?
        for index in sights.indices {
            guard let sight = sights[index], sight.seen >= since, isMeant(index, by: order),
                sight.signal > best?.signal ?? .min
            else { continue }
            best = (index, sight.signal)
        }
        return best?.accessPoint
    }

    private func isMeant(_ accessPoint: Int, by order: JoinOrder) -> Bool {
        let track = world.tracks[accessPoint]
        let key = world.span(of: accessPoint, at: now).state.key
        return track.ssid == world.scenario.networks[order.network].ssid && (key == Keys.open) == order.isOpen
            && (order.bssid.map { $0 == track.bssid } ?? true)
            && (order.frequencies.isEmpty || order.frequencies.contains(track.frequency))
    }

    mutating func advance(_ join: Join, of station: Int) {
        switch join.step {
        case .waitingForRadio: break
        case .searching(let since): endSearch(join, of: station, since: since)
        case .associating(let accessPoint): associated(join, of: station, with: accessPoint)
        case .refused(let failure): fail(join, of: station, failure)
        }
    }

    private mutating func endSearch(_ join: Join, of station: Int, since: Int64) {
        let network = world.scenario.networks[join.order.network]
        countAll()
        account.scanned(from: since, to: now, isOnLink: hasLink)
        look(at: join.order.frequencies, calling: network.isHidden ? [network.ssid] : [])
        report(.supplicantScanned(isAborted: false))
        if let accessPoint = best(for: join.order, since: now) {
            associate(station, with: accessPoint)
        } else {
            fail(join, of: station, .notFound)
        }
        scanIsOver()
        radioIsFree()
    }

    private mutating func associated(_ join: Join, of station: Int, with accessPoint: Int) {
        let state = world.span(of: accessPoint, at: now).state
        let loss = world.loss(of: accessPoint, at: now)
        let isHeard = loss < World.deafness && world.isLucky(.frame, of: accessPoint, at: now, chance: 1 - loss)
        switch state.admission {
        // The access point answers none of three authentication frames.
        case _ where !isHeard: refuse(station, .timeout, after: 1000)
        case _ where state.isFull: fail(join, of: station, .accessPointFull)
        case .notKnown: fail(join, of: station, .notFound)
        // hostapd repeats the handshake before it gives up.
        case .wrongPassword: refuse(station, .wrongKey, after: 4200 - 125)
        case .admitted: connect(join, of: station, to: accessPoint, state: state)
        }
    }

    private mutating func refuse(_ station: Int, _ failure: JoinFailure, after time: Int64) {
        stations[station].join?.step = .refused(failure)
        stations[station].join?.due = now + time
    }

    private mutating func fail(_ join: Join, of station: Int, _ failure: JoinFailure) {
        giveUpJoin(of: station)
        account.result.failedJoins += 1
        report(.joinFailed(station, attempt: join.order.attempt, failure))
    }

    private mutating func connect(_ join: Join, of station: Int, to accessPoint: Int, state: AccessPointState) {
        stations[station].join = nil
        var link = Link(accessPoint: accessPoint, network: join.order.network, key: state.key, since: now)
        if !join.keepsAddress { link.addressAt = addressMoment(state.addressTime) }
        stations[station].link = link
        searchForLoss(from: now, of: station)
        if join.keepsAddress { recordAddress(of: station) }
        report(
            .linked(
                station, attempt: join.order.attempt, accessPoint: accessPoint, keepsAddress: join.keepsAddress))
        restartWatch(on: station)
    }

    func addressMoment(_ time: Duration?) -> Int64 {
        time.map { now + max(0, ($0 + timing.extraAddressTime).milliseconds) } ?? .max
    }
}
