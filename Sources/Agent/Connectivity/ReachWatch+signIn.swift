import AgentModel
import AppProtocol
import FailoverPolicy
import HotspotProviders

// Signing in to the network in use.
extension ReachWatch {
    /// Answers a probe.
    func answer(_ verdict: ReachVerdict, epoch: UInt64) {
        guard verdict.result == .captive, let hotspots, let (network, name) = listeners.captiveNetwork() else {
            if verdict.result == .online { hotspots?.onlineFound() }
            return report(verdict, epoch: epoch)
        }
        let isTried = signIn.status.retryAt != nil || signIn.status.portal.state == .presentingUI
        hotspots.captiveFound(network, name: name)
        guard !isTried else { return listeners.policy(.probed(epoch: epoch, .captive)) }
        // Until it is known whether anybody signs in here.
        signIn.await(true)
        listeners.policy(.signingIn(epoch: epoch, until: .now + HotspotSettings().evaluateLimit + .seconds(1)))
    }

    func signInChanged(to new: HotspotStatus) {
        let old = signIn.status
        let consequence = signIn.changed(to: new)
        if new.request != old.request {
            if let request = new.request {
                listeners.publish(.portalRequest(request))
            } else if let request = old.request {
                listeners.publish(.portalEnded(PortalEnded(id: request.id)))
            }
        }
        if new.portal != old.portal { listeners.changed() }
        guard case .wifi(let epoch) = path else { return }
        switch consequence {
        case .nothing: break
        case .look: look(within: .seconds(3)) { [weak self] verdict in self?.signedIn(verdict, epoch: epoch) }
        case .isUnderWay(let end): listeners.policy(.signingIn(epoch: epoch, until: end))
        case .isLeftToOthers: listeners.policy(.probed(epoch: epoch, .captive))
        }
    }

    private func signedIn(_ verdict: ReachVerdict, epoch: UInt64) {
        signIn.await(false)
        if verdict.result == .captive, let (network, name) = listeners.captiveNetwork() {
            hotspots?.captiveFound(network, name: name)
        } else if verdict.result == .online {
            hotspots?.onlineFound()
        }
        report(verdict, epoch: epoch)
    }

    var portalStatus: PortalStatus { PortalStatus(portal: currentPortal, request: signIn.status.request) }

    func answer(_ answer: PortalAnswer) throws(ProtocolError) -> PortalStatus {
        guard let hotspots, let request = signIn.status.request, request.id == answer.id else {
            throw ProtocolError(.unknownPortal, "nobody is asked for anything")
        }
        do throws(PortalAnswerRefusal) { try hotspots.answer(answer) } catch { throw ProtocolError(error) }
        return portalStatus
    }

    var currentPortal: Portal? {
        guard verdict?.internet == .captive || signIn.status.portal.state != .inactive else { return nil }
        var portal = signIn.status.portal
        portal.url = portal.url ?? verdict?.portal
        portal.secondsRemaining = verdict?.secondsRemaining
        portal.bytesRemaining = verdict?.bytesRemaining
        return portal
    }
}

extension ProtocolError {
    /// Names of fields that nobody asked for are not repeated: they may be somebody's password.
    fileprivate init(_ refusal: PortalAnswerRefusal) {
        switch refusal {
        case .notAsked: self.init(.unknownPortal, "nobody is asked for that any more")
        case .unknownField: self.init(.malformed, "one of the values was not asked for")
        case .missingField(let name): self.init(.malformed, "the value of \(name) is required")
        case .invalidValue(let name): self.init(.malformed, "the value of \(name) cannot be used")
        }
    }
}
