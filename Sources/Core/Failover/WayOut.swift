import AgentModel

/// The moves from one link that leads nowhere to another one, in a row.
struct WayOut: Hashable, Sendable {
    /// Since when no link led anywhere.
    private var since: Instant?
    /// To networks that had led nowhere, and to access points of the network in use.
    private var returns = 0
    private var siblings = 0

    /// Names are free to take.
    private static let mostSiblings = 3
    private static let networkTurn = BackOff(first: .seconds(20), last: .seconds(80))
    private static let mostReturns = 3
    private static let siblingTurn = Duration.seconds(20)...Duration.seconds(640)

    mutating func ledSomewhere() { self = WayOut() }

    mutating func ledNowhere(at now: Instant) { since = since ?? now }

    mutating func moves(toSibling isSibling: Bool, thatLedNowhere isReturn: Bool) {
        siblings += isSibling ? 1 : 0
        returns += isReturn && !isSibling ? 1 : 0
    }

    /// Whether an access point of the network in use may be tried that is not known to lead nowhere.
    var allowsSibling: Bool { siblings < Self.mostSiblings }

    /// Whether the device tries an access point again that led nowhere. It has nothing to lose, and a cause that they share may be mended for
    /// one of them first. After three such moves other networks wait for the end of what is held against them. In the network in use
    /// the device goes on, and waits for a quarter of the time so far.
    /// - Parameter time: of the link in use.
    func isTurn(ofSibling isSibling: Bool, after time: Duration, at now: Instant) -> Bool {
        guard isSibling else { return returns < Self.mostReturns && time >= Self.networkTurn.wait(after: returns) }
        let outage = since.map { now - $0 } ?? .zero
        return time >= min(max(Self.siblingTurn.lowerBound, outage / 4), Self.siblingTurn.upperBound)
    }
}
