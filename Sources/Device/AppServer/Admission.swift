import AgentModel
import AppProtocol

/// Admits network clients within limits. Counts each connection during its handshake and afterwards, until it closes.
///
/// A client without a proved key can displace only other such clients.
struct Admission {
    typealias Ticket = Int

    enum Arrival: Equatable {
        /// The handshake may begin after a delay. `inPlaceOf` is the connection to close, to make room.
        case admitted(Ticket, after: Duration, inPlaceOf: Ticket?)
        case rejected
    }

    private struct Handshake {
        let site: IPAddress.Site
        let address: IPAddress
        /// Order among the started handshakes; nil while delayed.
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
        if isFull, displaced == nil { return .rejected }
        if let displaced { handshakes[displaced] = nil }
        lastTicket += 1
        handshakes[lastTicket] = Handshake(site: site, address: address)
        if delay <= .zero { begin(lastTicket) }
        return .admitted(lastTicket, after: delay, inPlaceOf: displaced)
    }

    mutating func begin(_ ticket: Ticket) {
        lastStart += 1
        handshakes[ticket]?.start = lastStart
    }

    /// - Returns: true if the limits allow the connection. Otherwise it keeps its handshake's place until it closes.
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

    mutating func recordRightKey(_ ticket: Ticket) {
        if let site = handshakes[ticket]?.site { wrongKeys.clear(site) }
    }

    mutating func recordWrongKey(_ ticket: Ticket, at now: Instant) {
        if let site = handshakes[ticket]?.site { wrongKeys.record(site, at: now) }
    }

    /// Returns the number of consecutive wrong keys from a site and the delay of its next handshake.
    func wrongKeys(from site: IPAddress.Site, at now: Instant) -> (count: Int, delay: Duration) {
        (wrongKeys.count(from: site, at: now), wrongKeys.delay(for: site, at: now))
    }

    mutating func leave(_ ticket: Ticket) {
        handshakes[ticket] = nil
        connections[ticket] = nil
    }

    /// Returns the matching handshake that has run longest; nil if none is running.
    private func slowest(_ isMeant: (Handshake) -> Bool) -> Ticket? {
        handshakes.filter { isMeant($0.value) }.compactMap { ticket, handshake in handshake.start.map { ($0, ticket) } }
            .min { $0.0 < $1.0 }?.1
    }

    /// Returns the oldest handshake of the address that has the most handshakes; nil if the newcomer's address has as
    /// many.
    private func oldest(of pool: [Ticket: Handshake], besides address: IPAddress) -> Ticket? {
        let counts = pool.values.reduce(into: [:]) { $0[$1.address, default: 0] += 1 }
        let most = counts.values.max() ?? 0
        guard most > counts[address, default: 0] else { return nil }
        return pool.filter { counts[$0.value.address] == most }.keys.min()
    }

    /// Returns the handshake to displace: the newest of the busiest site, or its slowest if it is the newcomer's site.
    /// If each site has only one handshake, returns the slowest of all.
    private func leastWorthy(besidesOneFrom site: IPAddress.Site) -> Ticket? {
        let counts = handshakes.values.reduce(into: [:]) { $0[$1.site, default: 0] += 1 }
        let most = counts.values.max() ?? 0
        guard most > 1 else { return slowest { _ in true } }
        guard counts[site, default: 0] < most else { return slowest { $0.site == site } }
        let busiest = counts.first { $0.value == most }?.key
        return handshakes.filter { $0.value.site == busiest }.keys.max()
    }
}

/// Sites with recent wrong keys, and the delays of their next handshakes.
struct WrongKeys {
    private struct Record {
        var count: Int
        var last: Instant
    }

    private let limits: AppServer.WrongKeyLimits
    private var records: [IPAddress.Site: Record] = [:]

    init(_ limits: AppServer.WrongKeyLimits) { self.limits = limits }

    func count(from site: IPAddress.Site, at now: Instant) -> Int {
        guard let record = records[site], now - record.last < limits.memory else { return 0 }
        return record.count
    }

    func delay(for site: IPAddress.Site, at now: Instant) -> Duration {
        let count = count(from: site, at: now)
        guard count > 0 else { return .zero }
        let wait = limits.waits.wait(after: count - 1)
        return site.isLoopback ? min(wait, limits.longestOnLoopback) : wait
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
