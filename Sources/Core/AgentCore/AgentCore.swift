import AgentModel
import AppProtocol
import Failover
import KeyFile

/// Everything that the agent knows and decides.
///
/// A pure value: an event and the time go in, effects come out, in the order in which they are to be carried out, and
/// nothing else has an influence. It never waits, asks, reads a clock or draws a number. `DeviceAgent` runs it on the
/// device; a test or a simulated world runs it as well. Docs/architecture.md has the picture.
package struct AgentCore: Sendable {
    /// Settings that the agent starts with.
    package struct Settings: Sendable {
        package var policy: PolicySettings
        package var maximumBackups: Int
        /// Whether an access point that falls silent is asked whether it is there.
        package var watchesSilence: Bool
        /// Whether there are hotspot providers to ask.
        package var hasProviders: Bool
        /// The country whose rules the radio is to go by; nil where none is set.
        package var country: String?
        /// Whether the agent gets the addresses; else another program does.
        package var assignsAddresses: Bool
        /// How far the agent goes to heal a radio that does not work.
        package var recovery: RecoveryLadder.Reach
        /// When the device's own access point opens and closes, and its name; nil where it has none.
        package var rescue: RescueAccessPoint.Settings?
        package var rescueName: SSID?
        /// Whether a device that has no network listens for a configurator (Wi-Fi Easy Connect).
        package var listensForConfigurator: Bool

        package init(
            policy: PolicySettings = PolicySettings(), maximumBackups: Int = 10,
            watchesSilence: Bool = true, hasProviders: Bool = false, country: String? = nil,
            assignsAddresses: Bool = true, recovery: RecoveryLadder.Reach = .driver,
            rescue: RescueAccessPoint.Settings? = nil, rescueName: SSID? = nil,
            listensForConfigurator: Bool = false
        ) {
            (self.policy, self.maximumBackups) = (policy, maximumBackups)
            self.watchesSilence = watchesSilence
            (self.hasProviders, self.country) = (hasProviders, country)
            self.assignsAddresses = assignsAddresses
            self.recovery = recovery
            (self.rescue, self.rescueName) = (rescue, rescueName)
            self.listensForConfigurator = listensForConfigurator
        }
    }

    let settings: Settings
    /// Names networks in hashes.
    let localKey: Secret
    package internal(set) var policy: FailoverPolicy
    /// The key file's content, as last stored.
    package internal(set) var state: StoredState
    package internal(set) var book = NetworkBook()
    var memory: Memory
    var switches = Switches()
    var scans = ScanDesk()
    var claims = HotspotClaims()
    var signal: SignalSampling?
    /// Of the link that `signal` measures.
    var loss = LossGauge()
    /// The station in use, and the one by which the next network is joined, where there is one.
    package internal(set) var inUse: StationID
    package internal(set) var spare: StationID?
    var stations: [StationID: StationState]
    var handover: HandoverState
    var surroundings = Surroundings()
    var notes = Notes()
    var troubles = TroubleWatch()
    var recovery: RecoveryDesk
    var rescue = RescueDesk()
    var staged = StagedDesk()
    var wakeGuard = WakeGuard()
    private(set) var ledger: MetricsLedger

    /// Of the event that is being handled.
    var now = ClockReading(instant: Instant(milliseconds: 0), time: Timestamp(millisecondsSince1970: 0))
    private var effects: [Effect] = []
    private var waiting: [PolicyEvent] = []
    private var isDeciding = false

    /// - Parameters:
    ///   - state: what the key file has.
    ///   - spare: the station that joins the next network beside the one in use, if there is one.
    ///   - localKey: the device's, by which hashes name networks.
    ///   - recovery: what was done about the radio before the agent began.
    ///   - rescue: what was wanted of the device's own access point then.
    package init(
        settings: Settings, state: StoredState, station: StationID, spare: StationID? = nil, localKey: Secret,
        recovery: RecoveryLadder.Memory = RecoveryLadder.Memory(),
        rescue: RescueAccessPoint.Opening? = nil
    ) {
        self.settings = settings
        self.state = state
        self.localKey = localKey
        (inUse, self.spare) = (station, spare)
        stations = [station: StationState()]
        if let spare { stations[spare] = StationState() }
        handover = HandoverState(ownSpare: spare)
        policy = FailoverPolicy(settings: settings.policy)
        memory = Memory(journal: NetworkJournal(state))
        self.rescue.wish = settings.rescue.map { RescueAccessPoint(settings: $0, opening: rescue) }
        self.rescue.kept = rescue
        ledger = MetricsLedger(state)
        self.recovery = RecoveryDesk(ladder: RecoveryLadder(reach: settings.recovery, memory: recovery))
    }

    /// Takes in one event.
    /// - Parameter now: both clocks; nothing is ordered by the wall clock.
    /// - Returns: what is to be done now, strictly in this order.
    package mutating func handle(_ event: AgentEvent, at now: ClockReading) -> [Effect] {
        self.now = now
        // The clock of a board without a battery is set once it is online.
        if memory.wallClockOffset != nil { tellWallClock() }
        take(event)
        // Of what the kernel says by itself nothing follows: what comes with it is next.
        if case .surroundings = event {
        } else {
            reviewFloor()
            reviewStaged()
            reviewRescue()
        }
        ledger.note(event, effects, at: now.instant)
        defer { effects = [] }
        return effects
    }

    private mutating func take(_ event: AgentEvent) {
        switch event {
        case .surroundings(let new): surroundings = new
        case .begin(let station): begin(with: station)
        case .atWork: setToWork()
        case .radio(let station, let report):
            if station == inUse { observe(report) } else { observeSpare(report) }
        case .route(let report): observe(report)
        case .supplicant(let station, let report):
            if station == inUse { observe(report) } else { observeSpare(report) }
        case .address(let station, let report): observe(report, of: station)
        case .linkAnswer(let station, let question, let answer): answered(station, question, answer)
        case .linkGone(let link):
            guard case .online(link) = policy.phase else { return }
            tell(.linkLost(current.isSupplicantAvailable ? .other : .ownDoing))
        case .joinRefused(let attempt, let failure): tell(.joinFailed(epoch: attempt, failure))
        case .scanBegan(let owner): scanBegan(owner)
        case .scanEnded(let owner, let end): scanEnded(owner, end)
        case .scanRead(let results, let order): scanRead(results, after: order)
        case .signal(let signal): measured(signal)
        case .measured(let number, let reading, let counts):
            if number == signal?.number { measured(reading, counts) }
        case .signalCrossed(let station, let level, let isBelow):
            signalCrossed(level, isBelow: isBelow, of: station)
        case .signalUnsupervised(let station): signalUnsupervised(of: station)
        case .claimed(let names):
            if let next = claims.answered(names, at: now.instant) { order(.claim(next)) }
        case .silence(let accessPoint, let report): observe(report, of: accessPoint)
        case .found(let finding): tell(finding)
        case .connectivityChanged: order(.readConnectivity)
        case .connectivity(let connectivity):
            notes.connectivity = connectivity
            markCaptive()
            publishStatus()
        case .nameLimit(let station, let limit): nameLimitFound(limit, of: station)
        case .rules(let country): checkRules(of: country)
        case .radioAnswered(let station, let isAnswer): radioAnswered(station, isAnswer)
        case .recoveryEnded(let step, let problem): stepEnded(step, problem: problem)
        case .commanded(let type, let key, let text): remember(type, by: key, text)
        case .rescue(let number, let report): rescueReported(number, report)
        case .browserAsked: browserAsked()
        case .handoverFound(let number, let found): handoverFound(number, found)
        case .radiosFound(let number, let radios): radiosFound(number, radios)
        case .request(let id, let request): take(request, id)
        case .answered(let switchID): answered(switchID)
        case .committed(let id, let state): committed(id, state)
        case .refusedCommit(let id, let error): refusedCommit(id, error)
        case .timer(let timer): fired(timer)
        case .resumed: tell(.resumed)
        case .settings(let settings): tell(.settings(settings))
        case .stop: stop()
        }
    }

    mutating func order(_ effect: Effect) { effects.append(effect) }
    mutating func say(_ level: LogLevel, _ text: String) { order(.say(level, text)) }
    mutating func wait(_ timer: AgentTimer, until moment: Instant?, leeway: Duration = .milliseconds(1)) {
        guard moment != nil || notes.timers.contains(timer) else { return }
        if moment == nil { notes.timers.remove(timer) } else { notes.timers.insert(timer) }
        order(.wait(timer, until: moment, leeway: leeway))
    }

    // MARK: The start and the end

    private mutating func begin(with station: StationID) {
        if station != inUse, station == spare {
            exchangeStations()
            order(.use(inUse))
        }
        tellWallClock()
        publishNetworks()
        if let pending = state.pendingSwitch { resume(pending) }
    }

    private mutating func setToWork() {
        tell(.interface(isUp: isInterfaceUp))
        notes.otherUplink = surroundings.otherUplink
        tell(.otherUplink(notes.otherUplink))
        order(.startSupplicants)
        reviewHandover()
        updateStatus()
        switches.hasBegun = true
        let early = switches.early
        switches.early = []
        for (id, request) in early { take(request, id) }
    }

    private mutating func stop() {
        tell(.stop)
        rescue.wish = nil
        switches.accepted = nil
        claims.stop()
        signal = nil
        for timer in notes.timers { wait(timer, until: nil) }
        writeJournal()
    }

    private mutating func fired(_ timer: AgentTimer) {
        notes.timers.remove(timer)
        switch timer {
        case .policy:
            notes.wake = nil
            tell(.tick)
        case .journal: reviewJournal()
        case .grace(let station): leave(station)
        case .supplicantRetry(let station): if station == inUse { askSupplicant() }
        case .scanRetry:
            // Another scan may have begun meanwhile, whose end is the next occasion.
            scans.isWaitingToRetry = false
            startDeferredScan()
        case .scanOverdue: scanOverdue()
        case .recovery: reviewRecovery()
        case .radioCheck: radioCheckDue()
        case .trouble: explainTrouble()
        case .country: order(.readRules(inUse))
        case .signal: sampleSignal()
        case .rescue: rescue.wake = nil
        case .staged: staged.wake = nil
        }
    }

    // MARK: The policy

    /// Hands an event to the policy, and has done what it wants. An event that comes up meanwhile waits its turn.
    mutating func tell(_ event: PolicyEvent) {
        waiting.append(event)
        guard !isDeciding else { return }
        isDeciding = true
        var isNews = false
        var last = event
        while !waiting.isEmpty {
            last = waiting.removeFirst()
            isNews = decide(last) || isNews
        }
        isDeciding = false
        conclude(after: last, isNews: isNews)
    }

    /// - Returns: whether something was learnt that may be worth a write.
    private mutating func decide(_ event: PolicyEvent) -> Bool {
        let actions = policy.handle(event, at: now.instant)
        order(.record(event, actions))
        // Signing off needs the link, so it comes before everything that ends it.
        if isLeaving(by: actions, after: event) { order(.signOff) }
        // Consequences and probes of a succession are for the link that is in use by then.
        if actions.contains(where: \.isSuccession) { useSuccessor(whileOldIsAlive: !event.endsLink) }
        followPath()
        // A server takes its time to answer: it is asked first.
        reviewAddresses()
        let isNews = note(event)
        // While wpa_supplicant listens, a join would wait.
        reviewConfigurator()
        for action in actions { perform(action) }
        return isNews
    }

    /// Whether a network that is there is left on purpose: for another one, or for none.
    private func isLeaving(by actions: [PolicyAction], after event: PolicyEvent) -> Bool {
        guard !event.endsLink else { return false }
        return actions.contains { action in
            switch action {
            case .join(let target): target.network != current.lastLinked
            case .leave, .useSuccessor: true
            default: false
            }
        }
    }

    private mutating func perform(_ action: PolicyAction) {
        switch action {
        case .join(let target): join(target)
        case .leave: leave(inUse)
        case .joinBeside(let target): joinBeside(target)
        // Its effects come before those of the others.
        case .useSuccessor: break
        case .leaveSuccessor:
            order(.leaveSuccessorProbe)
            if let spare { leave(spare) }
        case .scan(let scan): self.scan(scan)
        case .cancelScan: cancelScan()
        case .watchSignal(let watch):
            watchSignal(watch)
            watchBeacons(watch != nil)
        case .bringInterfaceUp: bringInterfaceUp()
        case .record(let decision): record(decision)
        case .store(.switchEnded(let id, let isCommitted)): switchEnded(id, isCommitted: isCommitted)
        case .probe(let epoch, let limit):
            if let spare, epoch == policy.successor?.epoch {
                order(.probeSuccessor(epoch: epoch, spare, within: limit))
            } else {
                order(.probe(epoch: epoch, within: limit))
            }
        case .switchProgress(let id, let progress): switchProgressed(id, progress)
        }
    }

    private mutating func bringInterfaceUp() {
        guard surroundings.stations[inUse]?.hasLink == true, !rescue.hasStationDown else { return }
        say(.notice, "bringing \(inUse) up")
        order(.bringUp(inUse))
    }

    private mutating func record(_ decision: PolicyDecision) {
        let entry = notes.history.append(decision, at: now.time) { ssid in
            NetworkName(ssid: ssid, hash: book.id(named: ssid).flatMap { book[$0] }?.hash(localKey: localKey))
        }
        say(.notice, entry.text)
        order(.publish(.decision(entry)))
        noteRescueDecision(decision)
    }

    /// What is done once after everything that an event has led to.
    private mutating func conclude(after event: PolicyEvent, isNews: Bool) {
        forgetWhatIsLeft()
        switch policy.phase {
        case .online, .validating: current.lastLinked = policy.phase.network
        case .offline, .joining, .waitingForAddress: break
        }
        reviewStandby()
        sleep(after: event)
        if isNews { reviewJournal() }
        reviewRefusedScans()
        reviewRecovery()
        reviewTroubles()
        updateStatus()
        updateServiceStatus()
        order(.lookForTraffic)
    }

    /// A network that is not one to join any more is forgotten when the device leaves it.
    private mutating func forgetWhatIsLeft() {
        guard policy.phase.network != notes.used else { return }
        notes.used = policy.phase.network
        book.forget(allBut: policy.networks.map(\.id) + [notes.used].compactMap(\.self))
        memory.leases = memory.leases.filter { book[$0.key] != nil }
        memory.ipv6Leases = memory.ipv6Leases.filter { book[$0.key] != nil }
    }

    /// Until the policy wants to be told the time, at the latest. A policy that wants it in the past has a fault, which
    /// must not keep the device busy.
    private mutating func sleep(after event: PolicyEvent) {
        let moment = wakeGuard.moment(for: policy.nextWake, at: now.instant, isWoken: event == .tick)
        if wakeGuard.isNews { say(.error, wishForThePast(after: event)) }
        guard moment != notes.wake else { return }
        notes.wake = moment
        wait(.policy, until: moment)
    }

    /// What it takes to find the fault.
    private func wishForThePast(after event: PolicyEvent) -> String {
        """
        the failover policy wants to be woken in the past (wish \(wakeGuard.count) of the kind) and is woken later; please report \
        this with a recording (ALTNET_RECORD): after \(event.name) in state \
        \(policy.phase.linkState.rawValue), successor \(policy.successor?.linkState.rawValue ?? "none"), validation \
        \(policy.settings.validation == nil ? "off" : "on"), due are \(policy.deadlines(at: now.instant))
        """
    }
}

extension PolicyEvent {
    /// Whether the link in use has ended with it.
    fileprivate var endsLink: Bool {
        switch self {
        case .linkLost, .interface(isUp: false), .supplicant(isAvailable: false): true
        default: false
        }
    }
}

extension PolicyAction {
    fileprivate var isSuccession: Bool { if case .useSuccessor = self { true } else { false } }
}
