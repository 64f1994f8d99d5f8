import AgentModel
import AppProtocol
import Connectivity
import Failover
import Hotspots

// Signing in to the network in use.
extension ConnectivityMonitor {
    /// Answers a probe.
    func answer(_ verdict: ReachVerdict, epoch: UInt64) {
        // Whatever a portal's name server said, it may say something else after the sign-in.
        if verdict.internet == .captive { forgetNames() }
        guard verdict.result == .captive, let hotspots, let (network, name) = listeners.captiveNetwork() else {
            if verdict.result == .online { hotspots?.onlineFound() }
            return report(verdict, epoch: epoch)
        }
        let isTried = signIn.status.isTryingWhereCaptive
        hotspots.captiveFound(network, name: name)
        guard isTried else { return listeners.policy(.probed(epoch: epoch, .captive)) }
        // Until it is known whether a provider signs in here.
        signIn.await()
        listeners.policy(.signingIn(epoch: epoch, until: .now + HotspotSettings().evaluateLimit + .seconds(1)))
    }

    func signInChanged(to new: HotspotStatus) {
        let old = signIn.status
        let consequence = signIn.changed(to: new)
        if new.request != old.request {
            if let request = old.request { listeners.publish(.portalEnded(PortalEnded(id: request.id))) }
            if let request = new.request { listeners.publish(.portalRequest(request)) }
        }
        if new.problem != old.problem { listeners.problem(new.problem) }
        if new.portal != old.portal { listeners.changed() }
        guard case .wifi(let epoch) = path else { return }
        switch consequence {
        case .nothing: break
        case .look:
            forgetNames()
            captive.askAnew()
            isPortalKnown = false
            look(within: timing.look) { [weak self] verdict in self?.signedIn(verdict, epoch: epoch) }
        case .isUnderWay(let end): listeners.policy(.signingIn(epoch: epoch, until: end))
        case .isLeftToOthers: listeners.policy(.probed(epoch: epoch, .captive))
        }
    }

    private func forgetNames() { network?.forget() }

    private func signedIn(_ verdict: ReachVerdict, epoch: UInt64) {
        signIn.isOver()
        if verdict.result == .captive, let (network, name) = listeners.captiveNetwork() {
            hotspots?.captiveFound(network, name: name)
        } else if verdict.result == .online {
            hotspots?.onlineFound()
        }
        report(verdict, epoch: epoch)
    }

    var portalStatus: PortalStatus {
        PortalStatus(portal: currentPortal, request: signIn.status.request, problem: signIn.status.problem)
    }

    func answer(_ answer: PortalAnswer) throws(ProtocolError) -> PortalStatus {
        guard let hotspots, let request = signIn.status.request, request.id == answer.id else {
            throw ProtocolError(.unknownPortal, "the device asks for nothing now")
        }
        do throws(PortalAnswerRefusal) { try hotspots.answer(answer) } catch { throw ProtocolError(error) }
        return portalStatus
    }

    var currentPortal: Portal? {
        guard verdict?.internet == .captive || signIn.status.portal.state != .inactive else { return nil }
        var portal = signIn.status.portal
        portal.url = portal.url ?? verdict?.portal
        // Nothing remains of what has not begun (RFC 8908, 5).
        if verdict?.internet != .captive, let state = captive.state {
            (portal.secondsRemaining, portal.bytesRemaining) = (state.secondsRemaining, state.bytesRemaining)
        }
        return portal
    }
}

// What the network says of itself, and the end of what was signed in to.
extension ConnectivityMonitor {
    /// The network was asked about itself.
    func captiveAnswered(_ before: CaptiveState?, wantsExtension: Bool) {
        let state = captive.state
        if wantsExtension, let (network, name) = listeners.captiveNetwork() {
            hotspots?.sessionEnds(network, name: name)
        }
        // There was no look yet: the first one takes it into account.
        guard findings != nil else { return }
        findings?.portal = state
        if state?.isCaptive != before?.isCaptive { forgetNames() }
        if state != before { listeners.changed() }
        if state?.isCaptive == true, before?.isCaptive != true, required > .link, case .wifi(let epoch) = path {
            // It has closed, or has been closed all along: a probe shows what comes of it.
            listeners.policy(.doubted(epoch: epoch))
        }
    }

    /// The network is about to be left on purpose: the provider logs off, as long as the link is still there.
    func logOff() {
        guard case .wifi = path, let hotspots, signIn.isSignedIn, farewell == nil else { return }
        farewell = Task { [weak self] in
            await hotspots.logOff()
            hotspots.networkLeft()
            self?.farewell = nil
        }
    }

    /// The network is not in use any more.
    func signInLeft() {
        signIn.networkLeft()
        // Or else at the end of it.
        if farewell == nil { hotspots?.networkLeft() }
    }
}

extension ProtocolError {
    /// Names of fields that were not asked for are not repeated: they may be a password.
    fileprivate init(_ refusal: PortalAnswerRefusal) {
        switch refusal {
        case .notAsked: self.init(.unknownPortal, "the device does not ask for that any more")
        case .unknownField: self = .values("one of the values was not asked for")
        case .missingField(let name): self = .values("the value of \(name) is required")
        case .invalidValue(let name): self = .values("the value of \(name) cannot be used")
        }
    }

    private static func values(_ message: String) -> ProtocolError {
        ProtocolError(.malformed, message).about("body.values")
    }
}
