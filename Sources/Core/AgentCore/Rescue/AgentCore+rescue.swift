import AgentModel
import AppProtocol
import Failover
import KeyFile

/// State of the setup access point: whether it is wanted, and what the radio allows.
struct RescueDesk: Sendable {
    /// Nil if it is disabled in the settings.
    var wish: RescueAccessPoint?
    var point = Point.closed
    /// Number of the last order. Reports with another number are ignored.
    var number: UInt64 = 0
    var radio: RescueRadio?
    var stations = 0
    /// Join that waits until the access point has left the channel.
    var waiting: (target: LinkTarget, isBeside: Bool)?
    /// Successive failed openings, and the time of the next one.
    var failures = 0
    var retry: Instant?
    var problem: String?
    /// Last value sent to the policy.
    var isHolding = false
    /// Start and end of the next pause for scans.
    var nextLook: Instant?
    var lookEnd: Instant?
    /// Scan to run before the next opening.
    var look = RescueOrder.Look.quick
    var wake: Instant?
    var kept: RescueAccessPoint.Opening?

    enum Point: Equatable {
        case closed
        case asking
        case opening(RescueOrder)
        case open(RescueOrder)
        case closing(RescueOrder)

        var order: RescueOrder? {
            switch self {
            case .closed, .asking: nil
            case .opening(let order), .open(let order), .closing(let order): order
            }
        }
    }

    var isOpen: Bool { if case .open = point { true } else { false } }

    /// Whether the station's interface is down for it.
    var hasStationDown: Bool { point.order?.place == .instead }

    static let retries = BackOff(first: .seconds(2), last: .seconds(60))
    /// In place of the station: time open before a pause for scans, and minimum length of the pause.
    static let lookInterval = Duration.seconds(40)
    static let lookTime = Duration.seconds(8)
    /// Interval of scans for the setup page while no network is stored.
    static let pageInterval = Duration.seconds(600)
}

// Opens and closes the setup access point, reviewed after every event.
extension AgentCore {
    package var rescueReason: RescueAccessPoint.Reason? { rescue.wish?.opening?.reason }

    mutating func reviewRescue() {
        guard var wish = rescue.wish, switches.hasBegun else { return }
        wish.review(rescueCircumstances, at: now.instant)
        let before = rescue.wish?.opening
        rescue.wish = wish
        if wish.opening?.reason != before?.reason { rescueReasonChanged(from: before?.reason) }
        // Requests of a browser are not worth a write.
        var opening = wish.opening
        opening?.asked = nil
        if opening != rescue.kept {
            rescue.kept = opening
            order(.rememberRescue(opening))
        }
        reviewLook()
        reviewPoint()
        reviewHold()
        scheduleRescue()
    }

    private var rescueCircumstances: RescueAccessPoint.Circumstances {
        RescueAccessPoint.Circumstances(
            hasNetworks: !policy.networks.isEmpty, isOnline: isOnlineOverWiFi,
            hasOtherUplink: notes.otherUplink != nil, isSwitching: switches.ledger.current != nil)
    }

    private var isOnlineOverWiFi: Bool { if case .online = policy.phase { true } else { false } }

    private mutating func rescueReasonChanged(from before: RescueAccessPoint.Reason?) {
        let text =
            switch rescue.wish?.opening?.reason {
            case .neverProvisioned: "opening the setup access point: no network is stored"
            case .nothingSeen: "opening the setup access point: no stored network is in range"
            case .nothingWorks: "opening the setup access point: no stored network can be joined"
            case .button: "opening the setup access point: the button was pressed"
            case .command: "opening the setup access point: a command asked for it"
            case nil: "closing the setup access point: no longer needed"
            }
        say(.notice, text)
        let reason = rescue.wish?.opening?.reason ?? before
        let entry = notes.history.append(
            kind: Decision.Kind(rawValue: "rescue"), reason: ReasonCode(rawValue: reason?.rawValue ?? "closed"),
            text: text, at: now)
        order(.publish(.decision(entry)))
        (rescue.failures, rescue.retry, rescue.problem) = (0, nil, nil)
        updateStatus()
    }

    // MARK: Events

    mutating func rescueReported(_ number: UInt64, _ report: RescueReport) {
        guard number == rescue.number else { return }
        switch (report, rescue.point) {
        case (.radio(let radio), .asking):
            rescue.point = .closed
            rescue.radio = radio
            guard let radio else { return rescueFailed("no radio can open one") }
            openRescue(on: radio)
        case (.opened, .opening(let order)):
            rescue.point = .open(order)
            (rescue.failures, rescue.retry, rescue.problem) = (0, nil, nil)
            let hasLooked = order.look == .everywhere && policy.networks.isEmpty
            rescue.nextLook = now.instant + (hasLooked ? RescueDesk.pageInterval : RescueDesk.lookInterval)
            rescue.look = .quick
            say(.notice, "the setup access point is open on \(order.frequency), \(order.place.words)")
            updateStatus()
        case (.seen(let results), _): scans.places.note(results)
        case (.failed(let problem), .opening), (.failed(let problem), .open):
            rescue.point = .closed
            rescueFailed(problem)
        case (.closed, _), (.failed, .closing): rescueClosed()
        case (.stations(let count), .open), (.stations(let count), .opening):
            rescue.stations = count
            updateStatus()
        default: break
        }
    }

    private mutating func rescueFailed(_ problem: String) {
        rescue.retry = now.instant + RescueDesk.retries.wait(after: rescue.failures)
        rescue.failures = min(rescue.failures, 100) + 1
        if problem != rescue.problem { say(.warning, "cannot open the setup access point: \(problem)") }
        (rescue.problem, rescue.stations) = (problem, 0)
        updateStatus()
        tell(.interface(isUp: isInterfaceUp))
        joinWaiting()
    }

    private mutating func rescueClosed() {
        rescue.point = .closed
        rescue.stations = 0
        updateStatus()
        tell(.interface(isUp: isInterfaceUp))
        joinWaiting()
    }

    mutating func browserAsked() { rescue.wish?.asked(at: now.instant) }

    mutating func openRescue(by reason: RescueAccessPoint.Reason, _ id: RequestID) throws(ProtocolError) {
        guard rescue.wish != nil else { throw .noRescue }
        rescue.wish?.open(by: reason, at: now.instant)
        (rescue.retry, rescue.failures) = (nil, 0)
        reviewRescue()
        if let status = rescueStatus(at: now) { order(.answer(id, .success(.rescue(status)))) }
    }

    mutating func closeRescue(_ id: RequestID) throws(ProtocolError) {
        guard rescue.wish != nil else { throw .noRescue }
        rescue.wish?.close()
        reviewRescue()
        if let status = rescueStatus(at: now) { order(.answer(id, .success(.rescue(status)))) }
    }

    mutating func noteRescueScan(_ results: [BSS], of scan: ScanOrder?) {
        guard rescue.wish != nil else { return }
        // A matching name alone is not enough: security must match too.
        rescue.wish?.scanned(
            hasKnown: results.contains { bss in policy.networks.contains { $0.matches(bss) } },
            isFull: scan?.frequencies.isEmpty ?? false, at: now.instant)
    }

    /// Records that a network in range refuses the device.
    mutating func noteRescueDecision(_ decision: PolicyDecision) {
        guard decision.kind == .failed || decision.kind == .blocked, case .failure(let failure) = decision.cause else {
            return
        }
        switch failure {
        case .wrongKey, .lessSecure, .unsupportedSecurity, .rejected, .certificateRefused, .noAddress,
            .accessPointFull, .notFound, .timeout, .linkLost:
            rescue.wish?.failed(at: now.instant)
        case .captive, .noInternet, .unconfirmed, .interrupted, .supplicantUnavailable, .interfaceDown: break
        }
    }

    // MARK: Radio

    /// Whether a join can start now. If not, it starts once the access point has made room.
    mutating func mayJoin(_ target: LinkTarget, isBeside: Bool = false) -> Bool {
        guard let order = rescue.point.order, !isCompatible(order, with: target, isBeside: isBeside) else {
            return true
        }
        rescue.waiting = (target, isBeside)
        return false
    }

    private mutating func joinWaiting() {
        guard let (target, isBeside) = rescue.waiting else { return }
        rescue.waiting = nil
        if isBeside, policy.successor?.epoch == target.epoch { joinBeside(target) }
        if !isBeside, policy.phase.epoch == target.epoch { join(target) }
    }

    private func isCompatible(_ order: RescueOrder, with target: LinkTarget, isBeside: Bool) -> Bool {
        switch order.place {
        case .second: return true
        case .instead: return false
        // Two links and an access point may need three channels.
        case .beside where isBeside: return rescue.radio.map { $0.channels > 2 } ?? false
        case .beside: break
        }
        return rescue.radio?.isIndependent == true
            || !target.frequencies.isEmpty && target.frequencies.allSatisfy { $0 == order.frequency }
    }

    /// Whether the radio is needed for another purpose.
    private var isRadioTaken: Bool {
        guard let radio = rescue.radio else { return false }
        if radio.place == .beside, radio.channels < 3, policy.successor != nil { return true }
        guard !radio.isIndependent else { return false }
        // Not before the app has its answer: the setup page receives it over this access point.
        let isCommanded = switches.ledger.current != nil && switches.accepted == nil && !isStoringSwitch
        if radio.place == .instead {
            if case .offline = policy.phase { return isCommanded || rescue.lookEnd != nil }
            return true
        }
        switch policy.phase {
        case .offline: return false
        case .joining, .waitingForAddress, .validating:
            // It stays open on the same channel. On another one, it opens again after the join.
            guard case .open(let order) = rescue.point, rescue.waiting == nil else { return true }
            return policy.phase.accessPoint?.frequency.map { $0 != order.frequency } ?? false
        case .online(let link):
            guard let order = rescue.point.order, let frequency = link.accessPoint.frequency else { return false }
            return order.frequency != frequency
        }
    }

    /// Whether a switch is being stored and not yet answered.
    private var isStoringSwitch: Bool {
        memory.pending.values.contains { if case .accepted = $0.purpose { true } else { false } }
    }

    private mutating func reviewPoint() {
        let isWanted = rescue.wish?.opening != nil && !isRadioTaken
        switch rescue.point {
        case .closed:
            guard isWanted, rescue.waiting == nil, rescue.retry.map({ $0 <= now.instant }) ?? true else { return }
            rescue.number += 1
            rescue.point = .asking
            order(.askRescueRadio(rescue.number, beside: inUse))
        case .asking: break
        case .opening(let opened), .open(let opened):
            guard !isWanted || opened.station != inUse && opened.place != .second || rescue.waiting != nil else {
                return
            }
            rescue.point = .closing(opened)
            order(.closeRescue(rescue.number))
        case .closing: break
        }
    }

    private mutating func openRescue(on radio: RescueRadio) {
        guard rescue.wish?.opening != nil, !isRadioTaken else { return }
        guard let frequency = rescueFrequency(on: radio) else {
            return rescueFailed("no access point is allowed on the current network's channel")
        }
        let order = RescueOrder(
            station: inUse, place: radio.place, frequency: frequency, look: rescue.look)
        rescue.point = .opening(order)
        self.order(.openRescue(rescue.number, order))
    }

    /// Picks the link's channel if the radio supports only one, else the likeliest network's, to stay open in a join.
    private func rescueFrequency(on radio: RescueRadio) -> Frequency? {
        if !radio.isIndependent, let link = policy.phase.accessPoint {
            guard let frequency = link.frequency else { return nil }
            return radio.usable.contains(frequency) ? frequency : nil
        }
        let likely = policy.likeliestFrequency.flatMap { radio.usable.contains($0) ? $0 : nil }
        // Every phone supports 2.4 GHz. These channels do not overlap.
        let common = [6, 1, 11].compactMap { channel in
            radio.usable.first { $0 == Frequency(megahertz: 2407 + 5 * channel) }
        }
        return likely ?? common.first ?? radio.usable.first
    }

    /// In place of the station, pauses regularly for a scan while no user is there.
    private mutating func reviewLook() {
        if let end = rescue.lookEnd {
            guard case .offline = policy.phase, end <= now.instant else { return }
            rescue.lookEnd = nil
        } else if rescue.isOpen, rescue.hasStationDown, let next = rescue.nextLook, next <= now.instant,
            rescue.wish?.isInUse(at: now.instant) == false
        {
            if !policy.networks.isEmpty {
                rescue.lookEnd = now.instant + RescueDesk.lookTime
            } else if rescue.stations == 0 {
                // The setup page asked for the scan: the next opening scans first.
                rescue.look = .everywhere
                rescue.lookEnd = now.instant
            }
        }
    }

    /// While a user is there, the policy makes no join that would close the access point.
    private mutating func reviewHold() {
        let isHeld = rescue.wish?.isInUse(at: now.instant) == true && rescue.radio?.isIndependent == false
        guard isHeld != rescue.isHolding else { return }
        rescue.isHolding = isHeld
        tell(.held(isHeld))
    }

    private mutating func scheduleRescue() {
        guard let wish = rescue.wish else { return }
        var moments = [wish.nextWake]
        if wish.opening != nil {
            moments.append(rescue.point == .closed ? rescue.retry : nil)
            moments.append(rescue.lookEnd)
            if rescue.isOpen, rescue.hasStationDown, rescue.lookEnd == nil { moments.append(rescue.nextLook) }
            if rescue.isHolding { moments.append(wish.opening?.asked.map { $0 + wish.settings.idle }) }
        }
        let next = moments.compactMap(\.self).filter { $0 > now.instant }.min()
        guard next != rescue.wake else { return }
        rescue.wake = next
        wait(.rescue, until: next, leeway: .milliseconds(100))
    }

    // MARK: Status

    /// Nil without a setup access point.
    func rescueStatus(at now: ClockReading) -> RescueStatus? {
        guard let wish = rescue.wish, let ssid = settings.rescueName else { return nil }
        var status = RescueStatus(isOpen: rescue.isOpen, ssid: ssid)
        guard let opening = wish.opening else { return status }
        let age = (now.instant - opening.since).milliseconds
        status.since = Timestamp(millisecondsSince1970: now.time.millisecondsSince1970 - age)
        status.why = opening.reason.rawValue
        status.problem = rescue.problem
        status.closesIn = wish.closes.map { max(0, Int(($0 - now.instant).components.seconds)) }
        if case .open(let order) = rescue.point {
            (status.radio, status.stations) = (order.place.rawValue, rescue.stations)
        }
        return status
    }
}

extension RescueRadio.Place {
    fileprivate var words: String {
        switch self {
        case .beside: "beside the station"
        case .instead: "instead of the station"
        case .second: "on its own radio"
        }
    }
}

extension ProtocolError {
    fileprivate static let noRescue = ProtocolError(
        .unsupported, "the setup access point is switched off by ALTNET_RESCUE"
    ).about("type")
}
