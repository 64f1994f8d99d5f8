import AgentModel

extension Dictionary where Key == BSSID {
    /// Lets go of access points where there are more than `limit`: of those with the earliest moments.
    ///
    /// - Parameter kept: are not counted, and never let go of.
    mutating func forgetEarliest(
        beyond limit: Int, but kept: ProvenAccessPoints = ProvenAccessPoints(), by moment: (Value) -> Instant
    ) {
        guard count > limit else { return }
        let others = filter { !kept.contains($0.key) }
        guard others.count > limit else { return }
        let earliest = others.sorted { (moment($0.value), $0.key) < (moment($1.value), $1.key) }
        for entry in earliest.prefix(others.count - limit) { self[entry.key] = nil }
    }
}
