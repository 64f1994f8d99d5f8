import AgentCore
import AgentModel
import AppProtocol
import Failover

/// Simulates the probes of `ConnectivityMonitor` for `ConnectivityState`. They use one target with TLS, a validation
/// source and, if the scenario has sign-ins, a hotspot provider.
struct SimulatedProbes {
    fileprivate static let target = "target"

    fileprivate struct Question {
        let side: LinkSide
        /// Time that selects the random frame losses. All questions of one check share it.
        let luck: Int64
        let answer: ReachAnswer
        let at: Int64
    }

    fileprivate var state: ConnectivityState
    fileprivate var questions: [ReachQuestionID: Question] = [:]
    fileprivate var inUse: TargetLine?
    fileprivate var beside: TargetLine?
    fileprivate var left: Instant
    fileprivate var provider: SimulatedProvider
    /// Time of the last `.timer` event, in milliseconds. The next event must be later.
    fileprivate var lastTimer = Int64.min

    init?(_ scenario: Scenario, at now: ClockReading) {
        guard scenario.settings.validation != nil else { return nil }
        state = ConnectivityState(
            ConnectivityState.Settings(
                required: .target, hasSource: true, hasProviders: scenario.signInTime != nil),
            at: now)
        provider = SimulatedProvider(time: scenario.signInTime)
        left = now.instant
    }

    var next: Int64 {
        var next = min(inUse?.next ?? .max, beside?.next ?? .max, provider.next)
        for question in questions.values { next = min(next, question.at) }
        guard let wake = state.nextWake else { return next }
        return min(next, max(wake.milliseconds, lastTimer + 1))
    }

    fileprivate func line(_ side: LinkSide) -> TargetLine? { side == .inUse ? inUse : beside }

    fileprivate mutating func change(_ side: LinkSide, _ change: (inout TargetLine) -> Void) {
        guard var line = line(side) else { return }
        change(&line)
        if side == .inUse { inUse = line } else { beside = line }
    }

    fileprivate func targets(_ side: LinkSide) -> [ReachTarget] {
        guard side == .inUse || beside != nil else { return [] }
        return [
            ReachTarget(
                name: Self.target, host: Self.target, port: 443, isTLS: true,
                status: line(side)?.status ?? ConnectionStatus(state: .waiting, reason: .noAddress, since: left))
        ]
    }
}

/// Simulated connection to the target over one link, like `TargetConnection` on a real device.
private struct TargetLine {
    private enum Phase {
        /// An attempt that ends at this time. The problem is nil if the attempt succeeds.
        case opening(until: Int64, ReachProblem?)
        case pausing(until: Int64)
        case open
    }

    /// Station that carries the traffic; nil for another uplink.
    let station: Int?
    private(set) var status: ConnectionStatus
    private var phase: Phase
    private var failures = 0

    init(over station: Int?, at now: Int64) {
        self.station = station
        status = ConnectionStatus(state: .preparing, since: Instant(milliseconds: now))
        phase = .pausing(until: now)
    }

    var next: Int64 {
        switch phase {
        case .opening(let end, _), .pausing(let end): end
        case .open: .max
        }
    }

    var isOpen: Bool { status.isOnline }

    var isToOpen: Bool { if case .pausing = phase { true } else { false } }

    var outcome: ReachProblem? { if case .opening(_, let problem) = phase { problem } else { nil } }

    mutating func attempt(until end: Int64, _ problem: ReachProblem?) { phase = .opening(until: end, problem) }

    mutating func opened(at now: Int64) {
        (phase, failures) = (.open, 0)
        status = ConnectionStatus(state: .ready, isFar: true, since: Instant(milliseconds: now))
    }

    private static let waits = BackOff(first: .seconds(1), last: .seconds(60))

    /// Longest wait until the next attempt, in milliseconds. The actual wait is random, from 0 to this value.
    var longestWait: Int64 { Self.waits.wait(after: failures).milliseconds }

    mutating func failed(_ problem: ReachProblem, waiting wait: Int64, at now: Int64) {
        failures += 1
        phase = .pausing(until: now + wait)
        let state: ConnectionState = status.state == .ready || status.state == .failed ? .failed : .waiting
        let since = state == status.state ? status.since : Instant(milliseconds: now)
        status = ConnectionStatus(state: state, reason: problem, since: since)
    }
}

/// Simulated hotspot provider. A sign-in takes the scenario's `signInTime`.
private struct SimulatedProvider {
    private enum Phase {
        case inactive
        case signingIn(since: Int64)
        case signedIn(since: Int64, isConfirmed: Bool)
        case waiting(until: Int64)
    }

    /// Duration of a sign-in in milliseconds; 1 if the scenario has no provider.
    private let time: Int64
    private var phase = Phase.inactive
    /// Time of the next status report, in milliseconds; `Int64.max` for none.
    private var newsAt = Int64.max

    /// Values of `HotspotSettings` in milliseconds: time limit of a sign-in with `handover`, time limit of its
    /// confirmation, and the first wait.
    private static let (limit, confirmLimit, wait): (Int64, Int64, Int64) = (62_000, 15_000, 30_000)

    init(time: Duration?) { self.time = max(1, time?.milliseconds ?? 1) }

    var next: Int64 {
        switch phase {
        case .signingIn(let start): min(newsAt, start + time)
        case .waiting(let end): min(newsAt, end)
        case .inactive, .signedIn: newsAt
        }
    }

    func isDone(at now: Int64) -> Bool {
        if case .signingIn(let start) = phase { start + time <= now } else { false }
    }

    private mutating func enter(_ new: Phase, at now: Int64) { (phase, newsAt) = (new, now) }

    mutating func captiveFound(at now: Int64) {
        switch phase {
        case .inactive, .signedIn(_, isConfirmed: true): enter(.signingIn(since: now), at: now)
        case .signedIn(_, isConfirmed: false): enter(.waiting(until: now + Self.wait), at: now)
        case .signingIn, .waiting: break
        }
    }

    mutating func onlineFound(at now: Int64) {
        switch phase {
        case .signedIn(let start, isConfirmed: false): enter(.signedIn(since: start, isConfirmed: true), at: now)
        case .waiting: enter(.inactive, at: now)
        case .inactive, .signingIn, .signedIn: break
        }
    }

    mutating func networkLeft(at now: Int64) {
        if case .inactive = phase { return }
        enter(.inactive, at: now)
    }

    mutating func ended(_ isSignedIn: Bool, at now: Int64) {
        enter(isSignedIn ? .signedIn(since: now, isConfirmed: false) : .waiting(until: now + Self.wait), at: now)
    }

    mutating func endWait(at now: Int64) {
        guard case .waiting(let end) = phase, end <= now else { return }
        enter(.signingIn(since: now), at: now)
    }

    /// - Returns: the status if it has changed since the last call.
    mutating func nextStatus(at now: Int64) -> SignInStatus? {
        guard newsAt <= now else { return nil }
        newsAt = .max
        var status = SignInStatus()
        switch phase {
        case .inactive: break
        case .signingIn(let start):
            status.portal.state = .authenticating
            status.signingInUntil = Instant(milliseconds: start + Self.limit)
        case .signedIn(let start, let isConfirmed):
            status.portal = Portal(state: isConfirmed ? .maintaining : .authenticated, provider: "provider")
            status.signingInUntil = isConfirmed ? nil : Instant(milliseconds: start + Self.confirmLimit)
        case .waiting: status.isTryingWhereCaptive = false
        }
        return status
    }
}

extension AgentRunner {
    // MARK: Events

    /// - Parameter luck: `luck` of the answered question; nil if the event is not an answer.
    mutating func reach(_ event: ConnectivityEvent, luck: Int64? = nil, _ device: inout SimulatedDevice) {
        guard let probes else { return }
        let now = clock(device)
        let targets = ConnectivityEvent.targets(inUse: probes.targets(.inUse), beside: probes.targets(.beside))
        _ = self.probes?.state.handle(targets, at: now)
        for effect in self.probes?.state.handle(event, at: now) ?? [] { perform(effect, luck: luck, &device) }
    }

    func connectivity(_ device: SimulatedDevice) -> Connectivity? {
        probes?.state.connectivity(at: clock(device))
    }

    mutating func runProbes(_ device: inout SimulatedDevice) {
        guard let probes, probes.next <= device.now else { return }
        for side in [LinkSide.inUse, .beside] { runLine(side, &device) }
        let due = probes.questions.filter { $0.value.at <= device.now }
            .sorted { ($0.value.at, $0.key.rawValue) < ($1.value.at, $1.key.rawValue) }
        for (id, _) in due { answer(id, &device) }
        runProvider(&device)
        guard let wake = self.probes?.state.nextWake, wake.milliseconds <= device.now else { return }
        self.probes?.lastTimer = device.now
        reach(.timer, &device)
    }

    mutating func noticeSilence(of station: Int, _ device: inout SimulatedDevice) {
        for side in [LinkSide.inUse, .beside] where probes?.line(side)?.station == station {
            guard probes?.line(side)?.isOpen == true else { continue }
            lineFailed(side, .timedOut, &device)
            if side == .inUse { reach(.targetDoubted(SimulatedProbes.target), &device) }
        }
    }

    // MARK: The target's connection

    private mutating func runLine(_ side: LinkSide, _ device: inout SimulatedDevice) {
        guard let line = probes?.line(side), line.next <= device.now else { return }
        guard line.isToOpen else {
            return line.outcome.map { lineFailed(side, $0, &device) } ?? lineOpened(side, &device)
        }
        let (end, problem): (Int64, ReachProblem?) =
            switch outlook(line, luck: device.now, device) {
            case .online: (60, nil)
            case .captive: (100, .tlsFailed)
            case .silent: (Self.attemptLimit, .timedOut)
            }
        probes?.change(side) { $0.attempt(until: device.now + end, problem) }
    }

    /// Time limit of an attempt in milliseconds, from `Reconnection.limit`.
    private static let attemptLimit: Int64 = 10_000

    private mutating func lineOpened(_ side: LinkSide, _ device: inout SimulatedDevice) {
        probes?.change(side) { $0.opened(at: device.now) }
        // From now on, the device notices when the target falls silent.
        if let station = probes?.line(side)?.station { device.stations[station].reached = 0 }
        reach(.targetChanged(side, SimulatedProbes.target), &device)
    }

    private mutating func lineFailed(
        _ side: LinkSide, _ problem: ReachProblem, _ device: inout SimulatedDevice
    ) {
        guard let line = probes?.line(side) else { return }
        let before = line.status
        let wait = device.world.noise(at: device.now).number(
            .reconnection, of: line.station ?? -1, device.now, in: 0...max(0, line.longestWait))
        probes?.change(side) { $0.failed(problem, waiting: wait, at: device.now) }
        guard probes?.line(side)?.status != before else { return }
        reach(.targetChanged(side, SimulatedProbes.target), &device)
    }

    private mutating func follow(_ path: TrafficPath, _ device: inout SimulatedDevice) {
        endLine(.inUse, &device)
        switch path {
        case .none: probes?.left = Instant(milliseconds: device.now)
        case .wifi: probes?.inUse = TargetLine(over: device.inUse, at: device.now)
        case .other: probes?.inUse = TargetLine(over: nil, at: device.now)
        }
    }

    private mutating func endLine(_ side: LinkSide, _ device: inout SimulatedDevice) {
        if let station = probes?.line(side)?.station {
            device.stations[station].reached = nil
            device.stations[station].doubtAt = .max
        }
        if side == .inUse { probes?.inUse = nil } else { probes?.beside = nil }
    }

    // MARK: Questions

    private enum Outlook {
        case online, captive, silent
    }

    private func outlook(_ line: TargetLine?, luck: Int64, _ device: SimulatedDevice) -> Outlook {
        guard let line else { return .silent }
        guard let station = line.station else { return .online }
        guard let way = device.way(over: station, luck: luck), way.isHeard else { return .silent }
        return switch way.internet {
        case .online: .online
        case .captive: .captive
        case .dead: .silent
        }
    }

    private mutating func ask(
        _ id: ReachQuestionID, _ question: ReachQuestion, _ side: LinkSide, within limit: Duration, luck: Int64?,
        _ device: inout SimulatedDevice
    ) {
        // Another event may have cancelled the question.
        guard let probes, probes.state.isAsking(id) else { return }
        let line = probes.line(side)
        let luck = luck ?? probes.questions.values.filter { $0.side == side }.map(\.luck).min() ?? device.now
        let outlook = outlook(line, luck: luck, device)
        // Frames wait while the radio is off the link's channel.
        let delay = line?.station != nil && device.isAwayFromChannel ? SimulatedDevice.longestAbsence : 0
        let end = max(0, limit.milliseconds)
        func planned(_ answer: ReachAnswer, after time: Int64) -> SimulatedProbes.Question {
            SimulatedProbes.Question(side: side, luck: luck, answer: answer, at: device.now + time)
        }
        self.probes?.questions[id] =
            switch (question, outlook) {
            case (.target, .online): planned(.target(nil), after: 60 + delay)
            case (.target, .captive): planned(.target(.tlsFailed), after: 100 + delay)
            case (.target, .silent): planned(.target(.timedOut), after: end)
            case (.source, .online): planned(.source(.online, cost: Self.cost), after: 60 + delay)
            case (.source, .captive): planned(.source(.captive(portal: nil), cost: Self.cost), after: 100 + delay)
            case (.source, .silent): planned(.source(.failed(.timedOut), cost: Self.cost), after: end)
            case (.gateway, _):
                line?.station.map { device.way(over: $0, luck: luck)?.isHeard ?? false } ?? true
                    ? planned(.gateway(true), after: 10 + delay) : planned(.gateway(false), after: end)
            // Simulated networks do not announce a captive portal API (RFC 8908).
            case (.portalAddress, _): planned(.portalAddress(nil), after: 0)
            case (.portal, _): planned(.portal(nil, cost: 0), after: 0)
            }
    }

    /// Cost of a question to the validation source, in bytes (`ValidationBudget`).
    private static let cost = 1000

    private mutating func answer(_ id: ReachQuestionID, _ device: inout SimulatedDevice) {
        guard let question = probes?.questions.removeValue(forKey: id) else { return }
        reach(.answer(id, question.answer), luck: question.luck, &device)
        // A question to the target also retries a failed connection.
        guard case .target(let problem) = question.answer, probes?.line(question.side)?.isOpen == false else { return }
        if let problem { lineFailed(question.side, problem, &device) } else { lineOpened(question.side, &device) }
    }

    // MARK: Sign-in

    private mutating func runProvider(_ device: inout SimulatedDevice) {
        guard let provider = probes?.provider, provider.next <= device.now else { return }
        if provider.isDone(at: device.now) { probes?.provider.ended(device.signIn(), at: device.now) }
        probes?.provider.endWait(at: device.now)
        guard let status = probes?.provider.nextStatus(at: device.now) else { return }
        reach(.signIn(status), &device)
    }

    // MARK: Effects

    private mutating func perform(_ effect: ConnectivityEffect, luck: Int64?, _ device: inout SimulatedDevice) {
        switch effect {
        case .ask(let id, let question, let side, let limit):
            ask(id, question, side, within: limit, luck: luck, &device)
        case .cancel(let ids): for id in ids { probes?.questions[id] = nil }
        case .follow(let path): follow(path, &device)
        case .followBeside(let station):
            endLine(.beside, &device)
            probes?.beside = station.map { TargetLine(over: Self.index($0), at: device.now) }
        case .sendToPolicy(let event): handle(.found(event), &device)
        case .changed: handle(.connectivityChanged, &device)
        case .captiveFound: probes?.provider.captiveFound(at: device.now)
        case .onlineFound: probes?.provider.onlineFound(at: device.now)
        case .networkLeft: probes?.provider.networkLeft(at: device.now)
        case .logOff:
            device.signOff()
            reach(.loggedOff, &device)
        // Not simulated: stored names, apps, sessions with a known end, and providers at networks without a portal.
        case .forgetNames, .publish, .problem, .sessionEnds, .offlineFound: break
        }
    }
}
