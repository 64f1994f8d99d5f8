import AgentModel

/// What is held of a network after its source of validation and its captive portal API have been asked.
///
/// Whether it leads to the internet is what the source shows: a network that says of itself that it is open may still
/// lead nowhere. Where to sign in is what the API says.
public struct OnlineVerdict: Sendable, Equatable {
    public var internet: InternetState
    /// Why not, where `internet` is `no` or `captive`.
    public var problem: ReachProblem?
    /// Where a person signs in: what the API says, or else where the network led the question.
    public var portal: String?

    /// - Parameters:
    ///   - finding: nil if there is nobody to ask.
    ///   - state: nil if the network has no API, or it said nothing that could be understood.
    public init(finding: ValidationFinding?, state: CaptiveState?) {
        switch (finding, state?.isCaptive) {
        case (.online, _): (internet, problem) = (.yes, nil)
        case (.captive, _), (.failed, true), (nil, true): (internet, problem) = (.captive, .captive)
        case (.failed(let found), _): (internet, problem) = (.no, found)
        case (nil, _): (internet, problem) = (.unknown, nil)
        }
        portal = state?.userPortal?.description
        if portal == nil, case .captive(let hint) = finding { portal = hint }
    }
}
