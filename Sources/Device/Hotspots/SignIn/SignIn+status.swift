import AgentModel
import AppProtocol

extension SignIn {
    /// When something has to be done by itself.
    var deadline: Instant? {
        switch phase {
        case .inactive, .resting: nil
        case .listing(_, let until), .authenticating(_, let until), .presentingUI(_, _, let until),
            .maintaining(_, _, let until), .loggingOff(_, let until), .waiting(let until):
            until
        case .evaluating(let evaluation): evaluation.asked.map(\.until).min()
        case .authenticated(let session): session.maintainAt
        }
    }

    var isLoggingOff: Bool {
        if case .loggingOff = phase { true } else { false }
    }

    var status: HotspotStatus {
        var status = HotspotStatus()
        status.portal = Portal(
            url: network.flatMap { $0.facts.api?.userPortal ?? $0.facts.portal }, state: portalState, provider: provider
        )
        if case .presentingUI(_, let request, _) = phase { status.request = request }
        if case .waiting(let until) = phase { status.retryAt = until }
        status.signingInUntil = signingInUntil
        status.isTryingWhereCaptive = isTryingWhereCaptive
        status.problem = problem
        return status
    }

    private var isTryingWhereCaptive: Bool {
        switch phase {
        case .inactive, .listing, .evaluating, .authenticating, .authenticated, .maintaining: true
        case .presentingUI, .loggingOff, .waiting, .resting: false
        }
    }

    private var portalState: Portal.State {
        switch phase {
        case .inactive, .loggingOff, .waiting, .resting: .inactive
        case .listing, .evaluating: .evaluating
        case .authenticating: .authenticating
        case .presentingUI: .presentingUI
        case .authenticated: .authenticated
        case .maintaining: .maintaining
        }
    }

    private var provider: String? {
        switch phase {
        case .inactive, .loggingOff, .waiting, .resting, .listing, .evaluating: nil
        case .authenticating(let attempt, _), .presentingUI(let attempt, _, _): attempt.provider
        case .authenticated(let session), .maintaining(let session, _, _): session.provider
        }
    }

    private var signingInUntil: Instant? {
        switch phase {
        case .inactive, .maintaining, .loggingOff, .waiting, .resting: nil
        case .listing(_, let until), .authenticating(_, let until), .presentingUI(_, _, let until):
            until + settings.handover
        case .evaluating(let evaluation): evaluation.asked.map(\.until).max().map { $0 + settings.handover }
        case .authenticated(let session): session.isConfirmed ? nil : session.start + settings.confirmLimit
        }
    }
}
