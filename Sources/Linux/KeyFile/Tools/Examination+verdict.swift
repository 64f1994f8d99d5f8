extension Examination {
    /// What all of it comes to.
    package enum Verdict: String, Sendable {
        case inOrder
        /// Nothing is lost: what is amiss is what a power cut or the passage of time leaves.
        case remarks
        /// Something is lost, or somebody was at work.
        case damaged
    }

    package var verdict: Verdict {
        let problems = sectors.flatMap(\.problems)
        if case .refused = content { return .damaged }
        if findings.contains(where: \.isDamage) || problems.contains(where: \.isDamage) { return .damaged }
        if sectors.contains(where: { if case .otherVersion = $0.state { true } else { false } }) { return .damaged }
        return findings.isEmpty && problems.isEmpty ? .inOrder : .remarks
    }
}

extension Finding {
    fileprivate var isDamage: Bool {
        if case .oldSectorDamaged = self { return true }
        return isSerious
    }
}
