import AgentModel
import AppProtocol

/// Admits clients of the network: counts connections before and after their handshake, each until it is closed.
///
/// A client that has not shown the key can take room only from others that have not.
struct Admission {
    typealias Ticket = Int

    /// The decision about a new connection.
    enum Arrival: Equatable {
        /// Its handshake may begin after a time; the connection named, if any, is closed for it.
        case admitted(Ticket, after: Duration, inPlaceOf: Ticket?)
        case turnedAway
    }

    private struct Handshake {
        let site: IPAddress.Site
        let address: IPAddress
        /// The position among the handshakes that have begun; nil while it waits after wrong keys of its site.
        var start: Int?
    }

    private let limits: AppServer.LANLimits
    private var lastTicket = 0
    private var lastStart = 0
    private var handshakes: [Ticket: Handshake] = [:]
    private var connections: [Ticket: IPAddress.Site] = [:]
    private var wrongKeys: WrongKeys

    init(_ limits: AppServer.LANLimits) {
        self.limits = limits
        wrongKeys = WrongKeys(limits.wrongKeys)
    }

    /// - Parameter address: the client's, one of the site's.
    mutating func arrive(from address: IPAddress, of site: IPAddress.Site, at now: Instant) -> Arrival {
        let delay = wrongKeys.delay(for: site, at: now)
        let waiting = handshakes.filter { $0.value.start == nil }
        let ofSite = handshakes.filter { $0.value.site == site }
        let (isFull, displaced): (Bool, Ticket?) =
            if ofSite.count >= limits.handshakesPerAddress {
                (true, slowest { $0.site == site } ?? oldest(of: ofSite, besides: address))
            } else if delay > .zero, waiting.count >= limits.waitingHandshakes {
                (true, oldest(of: waiting, besides: address))
            } else if handshakes.count >= limits.handshakes {
                (true, leastWorthy(besidesOneFrom: site))
            } else {
                (false, nil)
            }
        if isFull, displaced == nil { return .turnedAway }
        if let displaced { handshakes[displaced] = nil }
        lastTicket += 1
        handshakes[lastTicket] = Handshake(site: site, address: address)
        if delay <= .zero { begin(lastTicket) }
        return .admitted(lastTicket, after: delay, inPlaceOf: displaced)
    }

    /// Its handshake begins now.
    mutating func begin(_ ticket: Ticket) {
        lastStart += 1
        handshakes[ticket]?.start = lastStart
    }

    /// The client has a key of this role.
    /// - Returns: whether there is room for it. Without, it keeps the place of its handshake until it is closed.
    mutating func complete(_ ticket: Ticket, as role: Role) -> Bool {
        guard let site = handshakes[ticket]?.site else { return false }
        wrongKeys.clear(site)
        guard connections.count < role.share(of: limits.connections),
            connections.values.count(where: { $0 == site }) < limits.connectionsPerAddress
        else { return false }
        handshakes[ticket] = nil
        connections[ticket] = site
        return true
    }

    /// The client came with a right key, and was answered without a session.
    mutating func recordRightKey(_ ticket: Ticket) {
        if let site = handshakes[ticket]?.site { wrongKeys.clear(site) }
    }

    /// The client came with a wrong key.
    mutating func recordWrongKey(_ ticket: Ticket, at now: Instant) {
        if let site = handshakes[ticket]?.site { wrongKeys.record(site, at: now) }
    }

    /// How many wrong keys came from there in a row, and how long the next handshake waits for it.
    func wrongKeys(from site: IPAddress.Site, at now: Instant) -> (count: Int, delay: Duration) {
        (wrongKeys.count(from: site, at: now), wrongKeys.delay(for: site, at: now))
    }

    /// The connection is closed.
    mutating func leave(_ ticket: Ticket) {
        handshakes[ticket] = nil
        connections[ticket] = nil
    }

    /// The handshake under way that began longest ago.
    private func slowest(_ isMeant: (Handshake) -> Bool) -> Ticket? {
        handshakes.filter { isMeant($0.value) }.compactMap { ticket, handshake in handshake.start.map { ($0, ticket) } }
            .min { $0.0 < $1.0 }?.1
    }

    /// The oldest handshake of the address that has most of them.
    /// - Returns: nil if the newcomer's own address has as many.
    private func oldest(of pool: [Ticket: Handshake], besides address: IPAddress) -> Ticket? {
        let counts = pool.values.reduce(into: [:]) { $0[$1.address, default: 0] += 1 }
        let most = counts.values.max() ?? 0
        guard most > counts[address, default: 0] else { return nil }
        return pool.filter { counts[$0.value.address] == most }.keys.min()
    }

    /// The connection that gives way if the room for all is full: one of many from an address before a single one.
    private func leastWorthy(besidesOneFrom site: IPAddress.Site) -> Ticket? {
        let counts = handshakes.values.reduce(into: [:]) { $0[$1.site, default: 0] += 1 }
        let most = counts.values.max() ?? 0
        guard most > 1 else { return slowest { _ in true } }
        guard counts[site, default: 0] < most else { return slowest { $0.site == site } }
        let busiest = counts.first { $0.value == most }?.key
        return handshakes.filter { $0.value.site == busiest }.keys.max()
    }
}

/// Addresses that have come with wrong keys, and how long the next handshake of each waits for it.
struct WrongKeys {
    private struct Record {
        var count: Int
        var last: Instant
    }

    private let limits: AppServer.WrongKeyLimits
    private var records: [IPAddress.Site: Record] = [:]

    init(_ limits: AppServer.WrongKeyLimits) { self.limits = limits }

    /// How many have come in a row.
    func count(from site: IPAddress.Site, at now: Instant) -> Int {
        guard let record = records[site], now - record.last < limits.memory else { return 0 }
        return record.count
    }

    /// How long a handshake that comes now has to wait.
    func delay(for site: IPAddress.Site, at now: Instant) -> Duration {
        let count = count(from: site, at: now)
        return count == 0 ? .zero : limits.waits.wait(after: count - 1)
    }

    mutating func record(_ site: IPAddress.Site, at now: Instant) {
        let count = count(from: site, at: now)
        if records[site] == nil { makeRoom() }
        records[site] = Record(count: count + 1, last: now)
    }

    mutating func clear(_ site: IPAddress.Site) { records[site] = nil }

    private mutating func makeRoom() {
        guard records.count >= max(1, limits.addresses) else { return }
        if let oldest = records.min(by: { $0.value.last < $1.value.last })?.key { records[oldest] = nil }
    }
}
