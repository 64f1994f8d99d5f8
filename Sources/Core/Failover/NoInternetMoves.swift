import AgentModel

/// Moves in a row between links without internet.
struct NoInternetMoves: Hashable, Sendable {
    /// Time of the first failure since a probe got through.
    private(set) var since: Instant?
    /// Moves to access points that had no internet before, and to others of the network in use that were not tried.
    private var turns = 0
    private var siblings = 0

    /// Limit of `siblings`, because anyone can copy a name.
    private static let mostSiblings = 3
    private static let waits = BackOff(first: .seconds(20), last: .seconds(3600))

    /// - Parameters:
    ///   - isAgain: whether the target had no internet before.
    ///   - isSibling: whether it is another access point of the network in use.
    mutating func moved(again isAgain: Bool, toSibling isSibling: Bool) {
        turns += isAgain ? 1 : 0
        siblings += isSibling && !isAgain ? 1 : 0
    }

    mutating func began(at now: Instant) { since = since ?? now }

    mutating func ended() { self = NoInternetMoves() }

    /// Whether other access points of the network may be tried at once.
    var allowsSibling: Bool { siblings < Self.mostSiblings }

    /// Whether to try again where there was no internet, because a shared cause may be mended there first.
    /// - Parameter time: age of the link in use.
    func isTurn(after time: Duration) -> Bool { time >= Self.waits.wait(after: turns) }
}
