import AgentModel
import AppProtocol
import Failover
import KeyFile

/// The agent's state and decisions.
///
/// A pure value: events and times go in, effects come out in the order of execution. It does no I/O, reads no clock and
/// uses no randomness. `DeviceAgent` runs it on the device, tests and simulations run it too. See
/// Docs/contributor/architecture.md.
package struct AgentCore: Sendable {
    package struct Settings: Sendable {
        package var policy: PolicySettings
        package var maximumBackups: Int
        package var watchesSilence: Bool
        package var hasProviders: Bool
        package var country: String?
        /// Whether the agent assigns addresses. If not, another program does.
        package var assignsAddresses: Bool
        /// Strongest recovery step that the agent may take for a faulty radio.
        package var recovery: RecoverySteps.Reach
        /// Settings of the setup access point; nil without one.
        package var setupAccessPoint: SetupAccessPoint.Settings?
        /// SSID of the setup access point; nil without one.
        package var setupAccessPointName: SSID?
        package var listensForConfigurator: Bool

        package init(
            policy: PolicySettings, maximumBackups: Int = 10,
            watchesSilence: Bool = true, hasProviders: Bool, country: String? = nil,
            assignsAddresses: Bool = true, recovery: RecoverySteps.Reach = .driver,
            setupAccessPoint: SetupAccessPoint.Settings? = nil, setupAccessPointName: SSID? = nil,
            listensForConfigurator: Bool = false
        ) {
            (self.policy, self.maximumBackups) = (policy, maximumBackups)
            self.watchesSilence = watchesSilence
            (self.hasProviders, self.country) = (hasProviders, country)
            self.assignsAddresses = assignsAddresses
            self.recovery = recovery
            (self.setupAccessPoint, self.setupAccessPointName) = (setupAccessPoint, setupAccessPointName)
            self.listensForConfigurator = listensForConfigurator
        }
    }

    let settings: Settings
    /// Key of the hashes by which apps name networks.
    let localKey: Secret
    package internal(set) var policy: FailoverPolicy
    /// Content of the key file as last stored.
    package internal(set) var state: StoredState
    package internal(set) var registry = NetworkRegistry()
    var learned: LearnedState
    var switches = Switches()
    var scans = ScanCoordinator()
    var claims = HotspotClaims()
    var signal: SignalSampling?
    var loss = FrameLossMeter()
    /// Station that carries the traffic.
    package internal(set) var inUse: StationID
    /// Spare station for make-before-break; nil without one.
    package internal(set) var spare: StationID?
    var stations: [StationID: StationState]
    var handover: HandoverState
    /// Kernel state at the last event. The runner also updates it before reading the status between events.
    package var kernel = KernelSnapshot()
    var lastPublished = LastPublished()
    var troubles = TroubleWatch()
    var recovery: RadioRecovery
    var setupAccessPoint = SetupAccessPointState()
    var rotation = PasswordRotation()
    var wakeGuard = WakeGuard()
    var uplinkChoice = UplinkChoice()
    var routineProbes = RoutineProbes()
    private(set) var ledger: MetricsLedger

    /// Time of the current event, set on entry to `handle`.
    var now = ClockReading(instant: Instant(milliseconds: 0), time: Timestamp(millisecondsSince1970: 0))
    private var effects: [Effect] = []
    private var waiting: [PolicyEvent] = []
    private var isDeciding = false

    /// - Parameters:
    ///   - spare: Spare station for make-before-break; nil without one.
    ///   - recovery: State of the radio recovery before the agent started.
    ///   - setupAccessPoint: State of the setup access point before the agent started.
    package init(
        settings: Settings, state: StoredState, station: StationID, spare: StationID?, localKey: Secret,
        recovery: RecoverySteps.PersistentState = RecoverySteps.PersistentState(),
        setupAccessPoint: SetupAccessPoint.Opening? = nil
    ) {
        self.settings = settings
        self.state = state
        self.localKey = localKey
        (inUse, self.spare) = (station, spare)
        stations = [station: StationState()]
        if let spare { stations[spare] = StationState() }
        handover = HandoverState(ownSpare: spare)
        policy = FailoverPolicy(settings: settings.policy)
        learned = LearnedState(statistics: PendingStatistics(state))
        self.setupAccessPoint.wish = settings.setupAccessPoint.map {
            SetupAccessPoint(settings: $0, opening: setupAccessPoint)
        }
        self.setupAccessPoint.kept = setupAccessPoint
        ledger = MetricsLedger(state)
        self.recovery = RadioRecovery(
            steps: RecoverySteps(
                reach: settings.recovery, excluding: settings.assignsAddresses ? [] : [.renewAddress], state: recovery))
    }

    /// Handles one event.
    /// - Parameters:
    ///   - kernel: Kernel state at the event.
    ///   - now: Time of both clocks. Only the monotonic clock orders events.
    /// - Returns: effects to perform strictly in this order.
    package mutating func handle(_ event: AgentEvent, kernel: KernelSnapshot, at now: ClockReading) -> [Effect] {
        (self.kernel, self.now) = (kernel, now)
        dispatch(event)
        reviewUplinks()
        reviewMinimumSecurity()
        reviewStaged()
        reviewSetupAccessPoint()
        ledger.record(event, effects, at: now.instant)
        defer { effects = [] }
        return effects
    }

    private mutating func dispatch(_ event: AgentEvent) {
        switch event {
        case .begin(let station): start(with: station)
        case .atWork: setToWork()
        case .radio(let station, let event): if station == inUse { handle(event) } else { handleSpare(event) }
        case .route(let event): handle(event)
        case .modemChanged: checkRoutes()
        case .uplinksJudged(let verdicts): judged(verdicts)
        case .supplicant(let station, let event): if station == inUse { handle(event) } else { handleSpare(event) }
        case .configuratorLeft(let station): if station == inUse { configuratorLeft() }
        case .ipv4(let station, let event): handle(event, of: station)
        case .ipv6(let station, let event): handle(event, of: station)
        case .linkAnswer(let station, let question, let answer): handleLinkAnswer(station, question, answer)
        case .linkGone(let link):
            guard case .online(link) = policy.phase else { return }
            sendToPolicy(.linkLost(current.isSupplicantAvailable ? .other : .ownDoing))
        case .joinRefused(let attempt, let failure): sendToPolicy(.joinFailed(epoch: attempt, failure))
        case .scanBegan(let owner): scanBegan(owner)
        case .scanEnded(let owner, let end): scanEnded(owner, end)
        case .scanRead(let results, let order): scanRead(results, after: order)
        case .signal(let signal): measured(signal)
        case .measured(let number, let reading, let counts):
            if number == signal?.number { measured(reading, counts) }
        case .signalUnsupervised(let station): signalUnsupervised(of: station)
        case .claimed(let names):
            if let next = claims.handleAnswer(names, at: now.instant) { emit(.claim(next)) }
        case .silence(let accessPoint, let report): handle(report, of: accessPoint)
        case .found(let finding):
            recordCheck(finding)
            sendToPolicy(finding)
        case .connectivityChanged: emit(.readConnectivity)
        case .connectivity(let connectivity):
            lastPublished.connectivity = connectivity
            markCaptive()
            publishStatus()
        case .nameLimit(let station, let limit): nameLimitFound(limit, of: station)
        case .rules(let country): checkRules(of: country)
        case .radioAnswered(let station, let isAnswer): radioAnswered(station, isAnswer)
        case .recoveryEnded(let step, let problem): stepEnded(step, problem: problem)
        case .commanded(let type, let key, let text): commanded(type, by: key, text)
        case .setupAccessPoint(let number, let report): setupAccessPointReported(number, report)
        case .browserAsked: browserAsked()
        case .handoverFound(let number, let found): handoverFound(number, found)
        case .radiosFound(let number, let radios): radiosFound(number, radios)
        case .request(let id, let request): perform(request, id)
        case .answerSent(let switchID): answerSent(switchID: switchID)
        case .committed(let id, let state): committed(id, state)
        case .refusedCommit(let id, let error): refusedCommit(id, error)
        case .storeChecked(let isWritable): storeChecked(isWritable)
        case .timer(let timer): fired(timer)
        case .resumed: sendToPolicy(.resumed)
        case .settings(let settings): sendToPolicy(.settings(settings))
        case .stop: stop()
        }
    }

    mutating func emit(_ effect: Effect) { effects.append(effect) }
    mutating func log(_ level: LogLevel, _ text: String) { emit(.log(level, text)) }
    mutating func wait(_ timer: AgentTimer, until moment: Instant?, leeway: Duration = .milliseconds(1)) {
        guard moment != nil || lastPublished.timers.contains(timer) else { return }
        if moment == nil { lastPublished.timers.remove(timer) } else { lastPublished.timers.insert(timer) }
        emit(.wait(timer, until: moment, leeway: leeway))
    }

    // MARK: Start and stop

    private mutating func start(with station: StationID) {
        if station != inUse, station == spare {
            exchangeStations()
            emit(.use(inUse))
        }
        publishNetworks()
        if let pending = state.pendingSwitch { resume(pending) }
    }

    private mutating func setToWork() {
        sendToPolicy(.interface(isUp: isInterfaceUp))
        uplinkChoice.isAtWork = true
        lastPublished.otherUplink = reliableUplink
        sendToPolicy(.otherUplink(lastPublished.otherUplink))
        emit(.startSupplicants)
        reviewHandover()
        updateStatus()
        switches.hasBegun = true
        let early = switches.early
        switches.early = []
        for (id, request) in early { perform(request, id) }
    }

    private mutating func stop() {
        sendToPolicy(.stop)
        setupAccessPoint.wish = nil
        switches.accepted = nil
        claims.stop()
        stopUplinks()
        signal = nil
        for timer in lastPublished.timers { wait(timer, until: nil) }
        writeStatistics()
    }

    private mutating func fired(_ timer: AgentTimer) {
        lastPublished.timers.remove(timer)
        switch timer {
        case .policy:
            lastPublished.wake = nil
            sendToPolicy(.tick)
        case .statistics: reviewStatistics()
        case .store: emit(.checkStore)
        case .grace(let station): leave(station)
        case .router(let station): acceptMissingRouter(of: station)
        case .supplicantRetry(let station): if station == inUse { askSupplicant() }
        case .scanRetry:
            // Another scan may have started meanwhile. Its end triggers the next attempt.
            scans.isWaitingToRetry = false
            startDeferredScan()
        case .scanOverdue: scanOverdue()
        case .recovery: reviewRecovery()
        case .radioCheck: radioCheckDue()
        case .trouble: explainTrouble()
        case .country: emit(.readRules(inUse))
        case .signal: sampleSignal()
        case .setupAccessPoint: setupAccessPoint.wake = nil
        case .staged: rotation.wake = nil
        }
    }

    // MARK: The policy

    /// Sends an event to the policy and performs its actions. Events raised meanwhile are queued.
    mutating func sendToPolicy(_ event: PolicyEvent) {
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

    /// - Returns: true if the pending statistics may be worth a write.
    private mutating func decide(_ event: PolicyEvent) -> Bool {
        routineProbes.record(event, at: now.instant)
        let actions = policy.handle(event, at: now.instant)
        emit(.record(event, actions))
        // Sign-off needs the link, so it precedes every action that ends the link.
        if isLeaving(by: actions, after: event) { emit(.signOff) }
        // After a move to the spare station, other actions and probes refer to the new link.
        if actions.contains(where: \.isSuccession) { useSuccessor(whileOldIsAlive: !event.endsLink) }
        followPath()
        // Request addresses early, because a server takes time to answer.
        reviewAddresses()
        let isNews = recordStatistics(event)
        // Stop listening for a configurator before a join, because wpa_supplicant would delay the join.
        reviewConfigurator()
        for action in actions { perform(action) }
        return isNews
    }

    /// Whether the actions leave the current network on purpose, for another network or none.
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
        case .useSuccessor: break
        case .leaveSuccessor:
            emit(.leaveSuccessorProbe)
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
                emit(.probeSuccessor(epoch: epoch, spare, within: limit))
            } else if let moment = postponement(ofProbe: epoch) {
                sendToPolicy(.postponed(epoch: epoch, until: moment))
            } else {
                emit(.probe(epoch: epoch, within: limit))
            }
        case .switchProgress(let id, let progress): switchProgressed(id, progress)
        }
    }

    private mutating func bringInterfaceUp() {
        guard kernel.stations[inUse]?.hasLink == true, !setupAccessPoint.hasStationDown else { return }
        log(.notice, "bringing \(inUse) up")
        emit(.bringUp(inUse))
    }

    private mutating func record(_ decision: PolicyDecision) {
        let entry = lastPublished.history.append(decision, at: now.time) { ssid in
            let network = policy.phase.network.flatMap { registry[$0] }
            let id = registry.id(named: ssid, lastUsed: network)
            return NetworkName(ssid: ssid, hash: id.flatMap { registry[$0] }?.hash(localKey: localKey))
        }
        log(.notice, entry.text)
        emit(.publish(.decision(entry)))
        recordSetupAccessPointDecision(decision)
    }

    /// Completes the handling of the queued policy events: schedules timers, runs reviews and publishes the status.
    private mutating func conclude(after event: PolicyEvent, isNews: Bool) {
        forgetWhatIsLeft()
        switch policy.phase {
        case .online, .validating: current.lastLinked = policy.phase.network
        case .offline, .joining, .waitingForAddress: break
        }
        reviewStandby()
        sleep(after: event)
        if isNews { reviewStatistics() }
        reviewRefusedScans()
        reviewRecovery()
        reviewTroubles()
        updateStatus()
        updateServiceStatus()
        emit(.lookForTraffic)
    }

    /// Forgets networks that are no longer stored once the device has left them.
    private mutating func forgetWhatIsLeft() {
        guard policy.phase.network != lastPublished.used else { return }
        lastPublished.used = policy.phase.network
        registry.forget(allBut: policy.networks.map(\.id) + [lastPublished.used].compactMap(\.self))
        learned.leases = learned.leases.filter { registry[$0.key] != nil }
        learned.ipv6Leases = learned.ipv6Leases.filter { registry[$0.key] != nil }
    }

    /// Schedules the policy's next wake-up. Delays a wake-up in the past, which is a bug, to avoid a busy loop.
    private mutating func sleep(after event: PolicyEvent) {
        let moment = wakeGuard.moment(for: policy.nextWake, at: now.instant, isWoken: event == .tick)
        if wakeGuard.isNews { log(.error, wishForThePast(after: event)) }
        guard moment != lastPublished.wake else { return }
        lastPublished.wake = moment
        wait(.policy, until: moment)
    }

    /// Error message with the data needed to find the bug.
    private func wishForThePast(after event: PolicyEvent) -> String {
        """
        bug: the failover policy asked for a wake-up in the past (\(wakeGuard.count) in a row), delaying it; please \
        report this with a recording (ALTNET_RECORD): after \(event.name) in state \
        \(policy.phase.linkState.rawValue), successor \(policy.successor?.linkState.rawValue ?? "none"), validation \
        \(policy.settings.validation == nil ? "off" : "on"), due are \(policy.deadlines(at: now.instant))
        """
    }
}

extension PolicyEvent {
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
