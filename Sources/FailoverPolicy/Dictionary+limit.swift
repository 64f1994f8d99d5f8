import AgentModel

extension Dictionary where Key == BSSID {
    /// Lets go of one access point where there are more than `limit`: of the one with the earliest moment.
    mutating func forgetEarliest(beyond limit: Int, by moment: (Value) -> Instant) {
        guard count > limit,
            let earliest = self.min(by: { (moment($0.value), $0.key) < (moment($1.value), $1.key) })
        else { return }
        self[earliest.key] = nil
    }
}
