import AgentModel

/// A commanded switch: the device scans first, joins only what it sees, and on failure goes back to where it was.
struct Command: Sendable, Hashable {
    let id: UInt64
    let mission: Mission
    /// The network that the device is to go to now.
    let destination: NetworkID
    let cameFrom: NetworkID?
    /// When it was given. A living link is left only for what was seen since.
    let since: Instant
    /// The app has so long to confirm it over the new network; nil if it need not.
    let confirmWithin: Duration?
    /// The device only visits the network.
    let isVisit: Bool
    /// The visit that the command ends, which goes on if the device comes back from it.
    let leaving: Choice?
    private(set) var lookedAtKnownPlaces = false
    private(set) var lookedEverywhere = false
    private(set) var failedScans = 0
    /// By when it has to be proven and confirmed, whatever happens meanwhile.
    private(set) var provenBy: Instant?
    private var hasBeenGranted = false
    var joins: Int

    enum Mission: Sendable, Hashable {
        case go
        /// The switch has failed, and the device is on its way back.
        case comeBack(JoinFailure)
    }

    init(
        id: UInt64, _ mission: Mission = .go, to destination: NetworkID, cameFrom: NetworkID?, since: Instant,
        confirmWithin: Duration? = nil, isVisit: Bool = false, leaving: Choice? = nil, joins: Int = 0
    ) {
        self.id = id
        self.mission = mission
        self.destination = destination
        self.cameFrom = cameFrom
        self.since = since
        self.confirmWithin = confirmWithin
        self.isVisit = isVisit
        self.leaving = leaving
        self.joins = joins
    }

    /// - Returns: the earlier of the two.
    mutating func hasToBeProven(by moment: Instant) -> Instant {
        let earlier = min(provenBy ?? moment, moment)
        provenBy = earlier
        return earlier
    }

    /// Signing in takes its time, and the command has it once.
    /// - Returns: the deadline that it is worth.
    mutating func grant(_ time: Duration, until moment: Instant) -> Instant {
        if !hasBeenGranted {
            hasBeenGranted = true
            provenBy = provenBy.map { $0 + time }
        }
        return min(provenBy ?? moment, moment)
    }

    /// - Parameter wasSeen: the network. What a scan of all channels saw at its beginning may be old by its end, and is worth
    ///   another look.
    mutating func looked(everywhere: Bool, isComplete: Bool, wasSeen: Bool) {
        guard isComplete else {
            failedScans += 1
            return
        }
        if everywhere { lookedEverywhere = true }
        lookedAtKnownPlaces = !everywhere || !wasSeen
    }
}
