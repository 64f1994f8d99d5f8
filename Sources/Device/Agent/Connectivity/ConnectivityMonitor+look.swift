import AgentModel
import Connectivity
import Failover
import Linux

// Looking how far the network leads.
extension ConnectivityMonitor {
    /// Answers in time: what is found later than that counts as not found.
    func probe(epoch: UInt64, within limit: Duration) {
        guard path == .wifi(epoch: epoch) else { return }
        look(within: Self.shortened(limit)) { [weak self] verdict in self?.answer(verdict, epoch: epoch) }
    }

    /// A little less than the policy's own limit, so that it hears why.
    static func shortened(_ limit: Duration) -> Duration {
        max(.milliseconds(100), limit - .milliseconds(200))
    }

    /// Tells the policy what came of a probe.
    func report(_ verdict: ReachVerdict, epoch: UInt64) {
        listeners.policy(
            verdict.result.map { .probed(epoch: epoch, $0) }
                ?? .postponed(epoch: epoch, until: budget.next(for: .probe)))
    }

    /// Callers that wait for an earlier look are told what this one finds.
    func look(within limit: Duration, then conclude: @escaping (ReachVerdict) -> Void) {
        guard let network else { return }
        looking?.cancel()
        waiting.append(conclude)
        let first = targets.filter(isEnough)
        var known = ReachFindings(source: findings?.source, portal: captive.state)
        known.open = first.reduce([]) { $0.union(open(besides: $1)) }
        let look = ConnectivityCheck(questions(through: network), for: required, within: limit, knowing: known) {
            [weak self] findings in self?.found(findings)
        }
        looking = look
        look.begin(asking: first, headStart: timing.headStart)
    }

    private func found(_ findings: ReachFindings) {
        var findings = findings
        // Of those who were not waited for, what they said before still counts.
        findings.targets.merge(self.findings?.targets ?? [:]) { new, _ in new }
        // It may have been said since the look began.
        findings.portal = captive.state
        looking = nil
        note(findings)
        let waiting = waiting
        self.waiting = []
        guard let verdict else { return }
        for conclude in waiting { conclude(verdict) }
    }

    private func questions(through network: InterfaceNetwork) -> ConnectivityCheck.Questions {
        var source: ((Duration) async -> ValidationFinding?)?
        if let lookOnline = means.lookOnline {
            source = { [weak self] limit in await self?.askSource(lookOnline, network, within: limit) }
        }
        return ConnectivityCheck.Questions(
            targets: targets, source: source,
            portal: { [weak self] limit in await self?.askPortal(within: limit) },
            gateway: { [means] limit in await means.askGateway(network, min(limit, .milliseconds(1800))) })
    }

    /// - Returns: nil where the budget is used up.
    private func askSource(
        _ lookOnline: @Sendable (InterfaceNetwork, Duration) async -> ValidationLook, _ network: InterfaceNetwork,
        within limit: Duration
    ) async -> ValidationFinding? {
        guard budget.take(for: .probe) else { return nil }
        let (asked, path) = (Instant.now, path)
        let look = await lookOnline(network, limit)
        budget.spent(bytes: look.cost, for: .probe)
        if path == self.path { sourceAsked = asked }
        return look.finding
    }

    private func askPortal(within limit: Duration) async -> CaptiveState? {
        let path = path
        let state = await captive.state(within: limit)
        if path == self.path { isPortalKnown = true }
        return state
    }

    // MARK: What need not be asked

    /// Whether a target that is ready, and says so again, is all that has to be known.
    private func isEnough(_ target: WatchedTarget) -> Bool {
        guard target.status.isOnline else { return false }
        var findings = ReachFindings(source: findings?.source, portal: captive.state)
        findings.targets[target.name] = .answers(target.proof)
        findings.open = open(besides: target)
        return ReachVerdict(findings, required: required).result == .online
    }

    /// Who has to be asked besides a target that answers. A word of the source counts for as long as the same connection
    /// to a server in the internet lives: where a network closes, it ends, and what answers in its place is not
    /// believed.
    private func open(besides target: WatchedTarget) -> ReachFindings.Open {
        let status = target.status
        let isFresh = status.isFar && findings?.source == .online && sourceAsked.map { $0 >= status.since } ?? false
        var open: ReachFindings.Open = isPortalKnown ? [] : .portal
        if means.lookOnline != nil, !isFresh { open.insert(.source) }
        return open
    }

    // MARK: What comes unasked

    /// A target's connection is in another state.
    func changed(_ target: WatchedTarget) {
        listeners.publish(.targetChanged(target.report()))
        defer { listeners.changed() }
        looking?.changed(target)
        let isReady = target.status.isOnline
        // What is not known yet is not known any worse because of a target.
        guard path != .none, isReady || findings != nil else { return }
        var new = findings ?? ReachFindings(portal: captive.state)
        new.targets[target.name] = target.answer
        note(new)
        // A look that is under way reports it.
        guard isReady, looking == nil, case .wifi(let epoch) = path else { return }
        if isEnough(target) {
            listeners.policy(.probed(epoch: epoch, .online))
        } else if required > .link {
            look(within: timing.look) { [weak self] verdict in
                if verdict.result == .online { self?.listeners.policy(.probed(epoch: epoch, .online)) }
            }
        }
    }

    /// A connection that was there is not any more. Where another one is enough, the network is not to blame.
    func doubted(_ target: WatchedTarget) {
        guard required == .target || required == .internet, case .wifi(let epoch) = path else { return }
        let others = targets.filter { $0 !== target && $0.status.isOnline }
        guard !others.contains(where: { required == .target || $0.status.isFar }) else { return }
        listeners.policy(.doubted(epoch: epoch))
    }
}
