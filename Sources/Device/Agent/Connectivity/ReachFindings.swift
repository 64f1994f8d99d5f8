import AgentModel
import Connectivity

/// What was found when it was looked how far a network leads. Nil is what was not asked.
struct ReachFindings: Sendable, Equatable {
    /// What a target's answer proves, from the least to the most.
    enum Proof: Int, Sendable, Comparable, CaseIterable {
        /// It is in the house, or leads there.
        case near
        /// Its address is one of the internet. A host in between may have answered in its place.
        case far
        /// The same, and its certificate is the right one: no other host can have answered.
        case certified

        static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    enum Answer: Sendable, Equatable {
        case answers(Proof)
        case problem(ReachProblem)
    }

    /// Questions that could not be asked yet, and whose answers might change the verdict.
    struct Open: OptionSet, Sendable {
        let rawValue: Int
        static let targets = Open(rawValue: 1)
        static let source = Open(rawValue: 2)
        static let portal = Open(rawValue: 4)
        static let gateway = Open(rawValue: 8)
    }

    /// By the targets' names.
    var targets: [String: Answer] = [:]
    var source: ValidationFinding?
    var portal: CaptiveState?
    /// Whether the gateway answers; true where there is none to ask.
    var gateway: Bool?
    var open: Open = []
}

extension ReachFindings {
    /// The most that a target has proved.
    var proof: Proof? {
        targets.values.compactMap { if case .answers(let proof) = $0 { proof } else { nil } }.max()
    }

    /// Why targets do not answer: where one has refused, that says more than another's silence.
    var targetProblem: ReachProblem? {
        let problems = targets.values.compactMap { if case .problem(let problem) = $0 { problem } else { nil } }
        return problems.min { ($0.rank, $0.rawValue) < ($1.rank, $1.rawValue) }
    }

    /// Everything that may come of what is open.
    var completions: [ReachFindings] {
        var completions = [self]
        func branch(_ part: Open, _ alternatives: [(inout ReachFindings) -> Void]) {
            guard open.contains(part) else { return }
            completions = completions.flatMap { findings in
                alternatives.map { alternative in
                    var findings = findings
                    alternative(&findings)
                    return findings
                }
            }
        }
        branch(.targets, [{ $0.targets[""] = .answers(.certified) }, { $0.targets[""] = .problem(.timedOut) }])
        branch(
            .source,
            [
                { $0.source = .online }, { $0.source = .captive(portal: nil) }, { $0.source = .failed(.timedOut) },
            ])
        branch(.portal, [{ $0.portal = nil }, { $0.portal = CaptiveState(isCaptive: true) }])
        branch(.gateway, [{ $0.gateway = true }, { $0.gateway = false }])
        return completions
    }
}

extension ReachProblem {
    /// A packet came back from the other side, or from a host that speaks for it.
    var isRefusal: Bool {
        switch self {
        case .connectionRefused, .connectionReset, .tlsFailed, .unexpectedAnswer: true
        default: false
        }
    }

    /// What says most of a target comes first.
    fileprivate var rank: Int { self == .connectionRefused ? 0 : isRefusal ? 1 : 2 }
}
