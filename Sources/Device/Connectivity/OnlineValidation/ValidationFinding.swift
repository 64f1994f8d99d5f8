import AgentModel

/// What the source of validation showed.
public enum ValidationFinding: Sendable, Equatable {
    /// The answer was what it has to be.
    case online
    /// Somebody else answered: somebody has to sign in first.
    ///
    /// - Parameter portal: where to, if the network told; printable ASCII.
    case captive(portal: String?)
    case failed(ReachProblem)
}

/// A finding, and what it cost.
public struct ValidationLook: Sendable, Equatable {
    public let finding: ValidationFinding
    /// In bytes, both directions, with an allowance for what TCP and IP need around it.
    public let cost: Int

    public init(finding: ValidationFinding, cost: Int) { (self.finding, self.cost) = (finding, cost) }
}

extension ValidationFinding {
    /// As NetworkManager, Android and Chromium decide it; where they differ, Docs/validation.md says why so.
    init(_ answer: WebAnswer, expected: ValidationSource.Expectation) {
        switch answer.status {
        // RFC 6585, 6: the network itself says so.
        case 511: self = .captive(portal: nil)
        case 300...399: self = .captive(portal: answer.location?.description)
        case 200...299 where answer.isAsExpected(expected): self = .online
        // Nobody can sign in to an empty page: it comes of a proxy that is broken.
        case 200...299 where answer.body.isEmpty: self = .failed(.unexpectedAnswer)
        case 200...299: self = .captive(portal: nil)
        default: self = .failed(.unexpectedAnswer)
        }
    }
}

extension WebAnswer {
    fileprivate func isAsExpected(_ expected: ValidationSource.Expectation) -> Bool {
        switch expected {
        case .status(let status): self.status == status
        case .body(let text): isWhole && String(validating: body, as: UTF8.self)?.trimmingEnd() == text
        }
    }
}
