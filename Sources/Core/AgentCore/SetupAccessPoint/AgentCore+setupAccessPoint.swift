import AgentModel
import AppProtocol
import Failover

/// State of the setup access point: whether it is wanted, and what the radio allows.
struct SetupAccessPointState: Sendable {
    /// Decides whether the access point is wanted; nil if the settings disable it.
    var wish: SetupAccessPoint?
    var phase = Phase.closed
    /// Number of the last order. Reports with another number are ignored.
    var number: UInt64 = 0
    var radio: SetupAccessPointRadio?
    var stations = 0
    /// Join that waits until the access point has left the channel.
    var waiting: (target: LinkTarget, isBeside: Bool)?
    /// Number of successive failed openings.
    var failures = 0
    /// Time of the next opening after a failed one.
    var retry: Instant?
    var problem: String?
    /// Whether a user needs the access point, as last sent to the policy.
    var isHolding = false
    /// Start of the next pause for scans.
    var nextLook: Instant?
    /// End of the current pause for scans; nil outside one.
    var lookEnd: Instant?
    /// Scan to run before the next opening.
    var look = SetupAccessPointOrder.Look.quick
    var wake: Instant?
    var kept: SetupAccessPoint.Opening?

    enum Phase: Equatable {
        case closed
        case asking
        case opening(SetupAccessPointOrder)
        case open(SetupAccessPointOrder)
        case closing(SetupAccessPointOrder)

        var order: SetupAccessPointOrder? {
            switch self {
            case .closed, .asking: nil
            case .opening(let order), .open(let order), .closing(let order): order
            }
        }
    }

    var isOpen: Bool { if case .open = phase { true } else { false } }

    /// Whether the station's interface is down for the access point.
    var hasStationDown: Bool { phase.order?.mode == .instead }

    static let retries = BackOff(first: .seconds(2), last: .seconds(60))
    /// Time for which an access point without scans stays open before a pause for them.
    static let lookInterval = Duration.seconds(40)
    /// Minimum length of the pause.
    static let lookTime = Duration.seconds(8)
    /// Interval of scans for the setup page while no network is stored.
    static let pageInterval = Duration.seconds(600)
}

// Opens and closes the setup access point. The core reviews it after every event.
extension AgentCore {
    mutating func reviewSetupAccessPoint() {
        guard var wish = setupAccessPoint.wish, switches.hasBegun else { return }
        wish.review(setupAccessPointCircumstances, at: now.instant)
        let before = setupAccessPoint.wish?.opening
        setupAccessPoint.wish = wish
        if wish.opening?.reason != before?.reason { setupAccessPointReasonChanged(from: before?.reason) }
        // Requests of a browser are not worth a write.
        var opening = wish.opening
        opening?.asked = nil
        if opening != setupAccessPoint.kept {
            setupAccessPoint.kept = opening
            emit(.rememberSetupAccessPoint(opening))
        }
        reviewLook()
        reviewPoint()
        reviewHold()
        scheduleSetupAccessPoint()
    }

    private var setupAccessPointCircumstances: SetupAccessPoint.Circumstances {
        SetupAccessPoint.Circumstances(
            hasNetworks: searchFault == nil, hasOnlyManual: searchFault == .onlyManual, isOnline: isOnlineOverWiFi,
            hasOtherUplink: kernel.otherUplink != nil, isSwitching: switches.ledger.current != nil)
    }

    private var isOnlineOverWiFi: Bool { if case .online = policy.phase { true } else { false } }

    private mutating func setupAccessPointReasonChanged(from before: SetupAccessPoint.Reason?) {
        let text =
            switch setupAccessPoint.wish?.opening?.reason {
            case .neverProvisioned: "opening the setup access point: \(SearchFault.nothingStored.text)"
            case .onlyManual: "opening the setup access point: \(SearchFault.onlyManual.text)"
            case .nothingSeen: "opening the setup access point: no stored network is in range"
            case .nothingWorks: "opening the setup access point: no stored network can be joined"
            case .button: "opening the setup access point: the button was pressed"
            case .command: "opening the setup access point: a command asked for it"
            case nil: "closing the setup access point: no longer needed"
            }
        log(.notice, text)
        let reason = setupAccessPoint.wish?.opening?.reason ?? before
        let entry = lastPublished.history.append(
            kind: Decision.Kind(rawValue: "rescue"), reason: ReasonCode(rawValue: reason?.rawValue ?? "closed"),
            text: text, at: now)
        emit(.publish(.decision(entry)))
        (setupAccessPoint.failures, setupAccessPoint.retry, setupAccessPoint.problem) = (0, nil, nil)
        updateStatus()
    }

    // MARK: Events

    mutating func setupAccessPointReported(_ number: UInt64, _ report: SetupAccessPointReport) {
        guard number == setupAccessPoint.number else { return }
        switch (report, setupAccessPoint.phase) {
        case (.radio(let radio), .asking):
            setupAccessPoint.phase = .closed
            setupAccessPoint.radio = radio
            guard let radio else { return setupAccessPointFailed("no radio supports access points") }
            openSetupAccessPoint(on: radio)
        case (.opened, .opening(let order)):
            setupAccessPoint.phase = .open(order)
            (setupAccessPoint.failures, setupAccessPoint.retry, setupAccessPoint.problem) = (0, nil, nil)
            let hasLooked = order.look == .everywhere && policy.networks.isEmpty
            setupAccessPoint.nextLook =
                now.instant + (hasLooked ? SetupAccessPointState.pageInterval : SetupAccessPointState.lookInterval)
            setupAccessPoint.look = .quick
            log(.notice, "the setup access point is open on \(order.frequency), \(order.mode.words)")
            updateStatus()
        case (.seen(let results), _): scans.seenChannels.record(results)
        case (.failed(let problem), .opening), (.failed(let problem), .open):
            setupAccessPoint.phase = .closed
            setupAccessPointFailed(problem)
        case (.closed, _), (.failed, .closing): setupAccessPointClosed()
        case (.stations(let count), .open), (.stations(let count), .opening):
            setupAccessPoint.stations = count
            updateStatus()
        default: break
        }
    }

    private mutating func setupAccessPointFailed(_ problem: String) {
        setupAccessPoint.retry = now.instant + SetupAccessPointState.retries.wait(after: setupAccessPoint.failures)
        setupAccessPoint.failures = min(setupAccessPoint.failures, 100) + 1
        if problem != setupAccessPoint.problem { log(.warning, "cannot open the setup access point: \(problem)") }
        (setupAccessPoint.problem, setupAccessPoint.stations) = (problem, 0)
        updateStatus()
        sendToPolicy(.interface(isUp: isInterfaceUp))
        joinWaiting()
    }

    private mutating func setupAccessPointClosed() {
        setupAccessPoint.phase = .closed
        setupAccessPoint.stations = 0
        updateStatus()
        sendToPolicy(.interface(isUp: isInterfaceUp))
        joinWaiting()
    }

    mutating func browserAsked() { setupAccessPoint.wish?.asked(at: now.instant) }

    mutating func openSetupAccessPoint(by reason: SetupAccessPoint.Reason, _ id: RequestID) throws(ProtocolError) {
        guard setupAccessPoint.wish != nil else { throw .noSetupAccessPoint }
        setupAccessPoint.wish?.open(by: reason, at: now.instant)
        (setupAccessPoint.retry, setupAccessPoint.failures) = (nil, 0)
        reviewSetupAccessPoint()
        if let status = setupAccessPointStatus(at: now) { emit(.answer(id, .success(.rescue(status)))) }
    }

    mutating func closeSetupAccessPoint(_ id: RequestID) throws(ProtocolError) {
        guard setupAccessPoint.wish != nil else { throw .noSetupAccessPoint }
        setupAccessPoint.wish?.close()
        reviewSetupAccessPoint()
        if let status = setupAccessPointStatus(at: now) { emit(.answer(id, .success(.rescue(status)))) }
    }

    mutating func recordSetupAccessPointScan(_ results: [BSS], of scan: ScanOrder?) {
        guard setupAccessPoint.wish != nil else { return }
        // A matching name alone is not enough: security must match too.
        setupAccessPoint.wish?.scanned(
            hasKnown: results.contains { bss in policy.networks.contains { $0.matches(bss) } },
            isFull: scan?.frequencies.isEmpty ?? false, at: now.instant)
    }

    /// Records a refusal if the decision means that a network in range refuses the device.
    mutating func recordSetupAccessPointDecision(_ decision: PolicyDecision) {
        guard decision.kind == .failed || decision.kind == .blocked, case .failure(let failure) = decision.cause else {
            return
        }
        switch failure {
        case .wrongKey, .lessSecure, .unsupportedSecurity, .rejected, .certificateRefused, .noAddress,
            .accessPointFull, .notFound, .timeout, .linkLost:
            setupAccessPoint.wish?.failed(at: now.instant)
        case .captive, .noInternet, .unconfirmed, .interrupted, .supplicantUnavailable, .interfaceDown: break
        }
    }

    // MARK: Radio

    /// Returns whether a join can start now. If not, the join starts once the access point has closed.
    mutating func mayJoin(_ target: LinkTarget, isBeside: Bool = false) -> Bool {
        guard let order = setupAccessPoint.phase.order, !isCompatible(order, with: target, isBeside: isBeside) else {
            return true
        }
        setupAccessPoint.waiting = (target, isBeside)
        return false
    }

    private mutating func joinWaiting() {
        guard let (target, isBeside) = setupAccessPoint.waiting else { return }
        setupAccessPoint.waiting = nil
        if isBeside, policy.successor?.epoch == target.epoch { joinBeside(target) }
        if !isBeside, policy.phase.epoch == target.epoch { join(target) }
    }

    private func isCompatible(_ order: SetupAccessPointOrder, with target: LinkTarget, isBeside: Bool) -> Bool {
        switch order.mode {
        case .second: return true
        case .instead: return false
        // Two links and an access point may need three channels.
        case .beside where isBeside: return setupAccessPoint.radio.map { $0.channels > 2 } ?? false
        case .beside: break
        }
        return setupAccessPoint.radio?.isIndependent == true
            || !target.frequencies.isEmpty && target.frequencies.allSatisfy { $0 == order.frequency }
    }

    /// Whether the radio is needed for another purpose.
    private var isRadioTaken: Bool {
        guard let radio = setupAccessPoint.radio else { return false }
        if radio.mode == .beside, radio.channels < 3, policy.successor != nil { return true }
        if setupAccessPoint.lookEnd != nil, case .offline = policy.phase { return true }
        guard !radio.isIndependent else { return false }
        // A switch takes the radio only after the app has its answer: the setup page receives the answer over this
        // access point.
        let isCommanded = switches.ledger.current != nil && switches.accepted == nil && !isStoringSwitch
        if radio.mode == .instead {
            if case .offline = policy.phase { return isCommanded }
            return true
        }
        switch policy.phase {
        case .offline: return false
        case .joining, .waitingForAddress, .validating:
            // The access point stays open on the same channel. For another channel, it closes and opens again after the
            // join.
            guard case .open(let order) = setupAccessPoint.phase, setupAccessPoint.waiting == nil else { return true }
            return policy.phase.accessPoint?.frequency.map { $0 != order.frequency } ?? false
        case .online(let link):
            guard let order = setupAccessPoint.phase.order, let frequency = link.accessPoint.frequency else {
                return false
            }
            return order.frequency != frequency
        }
    }

    /// Whether a switch is being stored and not yet answered.
    private var isStoringSwitch: Bool {
        learned.pending.values.contains { if case .accepted = $0.purpose { true } else { false } }
    }

    private mutating func reviewPoint() {
        let isWanted = setupAccessPoint.wish?.opening != nil && !isRadioTaken
        switch setupAccessPoint.phase {
        case .closed:
            guard isWanted, setupAccessPoint.waiting == nil, setupAccessPoint.retry.map({ $0 <= now.instant }) ?? true
            else { return }
            setupAccessPoint.number += 1
            setupAccessPoint.phase = .asking
            emit(.askSetupAccessPointRadio(setupAccessPoint.number, beside: inUse))
        case .asking: break
        case .opening(let opened), .open(let opened):
            guard !isWanted || opened.station != inUse && opened.mode != .second || setupAccessPoint.waiting != nil
            else {
                return
            }
            setupAccessPoint.phase = .closing(opened)
            emit(.closeSetupAccessPoint(setupAccessPoint.number))
        case .closing: break
        }
    }

    private mutating func openSetupAccessPoint(on radio: SetupAccessPointRadio) {
        guard setupAccessPoint.wish?.opening != nil, !isRadioTaken else { return }
        guard let frequency = setupAccessPointFrequency(on: radio) else {
            return setupAccessPointFailed("access points are not allowed on the current network's channel")
        }
        let order = SetupAccessPointOrder(
            station: inUse, mode: radio.mode, frequency: frequency, look: setupAccessPoint.look)
        setupAccessPoint.phase = .opening(order)
        self.emit(.openSetupAccessPoint(setupAccessPoint.number, order))
    }

    /// Returns the link's channel if the radio supports only one channel. Otherwise returns the channel of the network
    /// most likely to be joined, so that the access point can stay open during the join.
    private func setupAccessPointFrequency(on radio: SetupAccessPointRadio) -> Frequency? {
        if !radio.isIndependent, let link = policy.phase.accessPoint {
            guard let frequency = link.frequency else { return nil }
            return radio.usable.contains(frequency) ? frequency : nil
        }
        let likely = policy.likeliestFrequency.flatMap { radio.usable.contains($0) ? $0 : nil }
        // Every phone supports 2.4 GHz.
        return likely ?? Frequency.usual.first(where: radio.usable.contains) ?? radio.usable.first
    }

    /// Whether nothing scans while the access point is open.
    private var isBlind: Bool { setupAccessPoint.hasStationDown || policy.networks.isEmpty }

    /// At intervals, closes an access point without scans, to scan while no user is present.
    private mutating func reviewLook() {
        if let end = setupAccessPoint.lookEnd {
            guard case .offline = policy.phase, end <= now.instant else { return }
            setupAccessPoint.lookEnd = nil
        } else if setupAccessPoint.isOpen, isBlind, let next = setupAccessPoint.nextLook,
            next <= now.instant,
            setupAccessPoint.wish?.isInUse(at: now.instant) == false
        {
            if !policy.networks.isEmpty {
                setupAccessPoint.lookEnd = now.instant + SetupAccessPointState.lookTime
            } else if setupAccessPoint.stations == 0 {
                // The setup page shows the results of this scan. The next opening scans first.
                setupAccessPoint.look = .everywhere
                setupAccessPoint.lookEnd = now.instant
            }
        }
    }

    /// Prevents joins that would close the access point while a user is there.
    private mutating func reviewHold() {
        let isHeld =
            setupAccessPoint.wish?.isInUse(at: now.instant) == true && setupAccessPoint.radio?.isIndependent == false
        guard isHeld != setupAccessPoint.isHolding else { return }
        setupAccessPoint.isHolding = isHeld
        sendToPolicy(.held(isHeld))
    }

    private mutating func scheduleSetupAccessPoint() {
        guard let wish = setupAccessPoint.wish else { return }
        var moments = [wish.nextWake]
        if wish.opening != nil {
            moments.append(setupAccessPoint.phase == .closed ? setupAccessPoint.retry : nil)
            moments.append(setupAccessPoint.lookEnd)
            if setupAccessPoint.isOpen, isBlind, setupAccessPoint.lookEnd == nil {
                moments.append(setupAccessPoint.nextLook)
            }
            if setupAccessPoint.isHolding { moments.append(wish.opening?.asked.map { $0 + wish.settings.idle }) }
        }
        let next = moments.compactMap(\.self).filter { $0 > now.instant }.min()
        guard next != setupAccessPoint.wake else { return }
        setupAccessPoint.wake = next
        wait(.setupAccessPoint, until: next, leeway: .milliseconds(100))
    }

    // MARK: Status

    /// Returns the status; nil if there is no setup access point.
    func setupAccessPointStatus(at now: ClockReading) -> SetupAccessPointStatus? {
        guard let wish = setupAccessPoint.wish, let ssid = settings.setupAccessPointName else { return nil }
        var status = SetupAccessPointStatus(isOpen: setupAccessPoint.isOpen, ssid: ssid)
        guard let opening = wish.opening else { return status }
        let age = (now.instant - opening.since).milliseconds
        status.since = Timestamp(millisecondsSince1970: now.time.millisecondsSince1970 - age)
        status.why = opening.reason.rawValue
        status.problem = setupAccessPoint.problem
        status.closesIn = wish.closes.map { max(0, Int(($0 - now.instant).components.seconds)) }
        if case .open(let order) = setupAccessPoint.phase {
            (status.radio, status.stations) = (order.mode.rawValue, setupAccessPoint.stations)
        }
        return status
    }
}

extension SetupAccessPointRadio.Mode {
    fileprivate var words: String {
        switch self {
        case .beside: "beside the station"
        case .instead: "instead of the station"
        case .second: "on its own radio"
        }
    }
}

extension ProtocolError {
    fileprivate static let noSetupAccessPoint = ProtocolError(
        .unsupported, "the setup access point is switched off by ALTNET_SETUP_AP"
    ).about("type")
}
