/// The way of least cost through a course of cells, with all of them known; among equals the one with the fewest moves.
///
/// Dynamic programming over time: for every access point, the best way that ends there. A move begins where a cell
/// begins; what it takes is dead time. A move has to save more than its price and `worth`, so that ties go to the quiet way.
struct Optimum {
    /// The network of each access point that the device can be associated with.
    private let networks: [Int]
    /// The best way that ends on each access point.
    private var on: [Path?]
    /// The same for those that are on nothing, by the network that they were in last; the last one was in none.
    private var off: [Path?]
    /// Moves under way to each access point.
    private var flights: [[Flight]]
    private var moves: [Move] = []
    /// What a move costs, in seconds.
    private let switching: Double
    private let roaming: Double

    /// Seconds that a move has to save beyond its price.
    static let worth = 0.001

    /// In seconds, beside the dead time.
    struct Prices: Sendable, Hashable {
        var switching = 0.0
        var roaming = 0.0
    }

    init(networks: [Int], prices: Prices = Prices()) {
        self.networks = networks
        (switching, roaming) = (prices.switching + Self.worth, prices.roaming + Self.worth)
        on = Array(repeating: nil, count: networks.count)
        off = Array(repeating: nil, count: (networks.max() ?? -1) + 2)
        flights = Array(repeating: [], count: networks.count)
        off[off.count - 1] = Path()
    }

    /// A stretch of time in which nothing changes. All times are in seconds.
    struct Cell: Hashable {
        var start: Double
        var end: Double
        /// Whether lost time counts: not while something else carries the traffic.
        var counts = true
        var places: [Place]
    }

    /// One access point during a cell.
    struct Place: Hashable {
        /// Share of the traffic that gets through.
        var quality: Double
        /// Seconds of cost by the second beside what does not get through, for a device that is associated; never more than the
        /// quality, so that a link is no worse than none.
        var burden = 0.0
        /// Whether a device that is associated, or about to be, when the cell begins stays so.
        var keepsLink: Bool
        /// From the order to join until everything gets through, coming from elsewhere and from the same network; nil
        /// if it cannot be joined.
        var joinTime: Double?
        var roamTime: Double?
        /// Whether a device that is there may go elsewhere.
        var mayBeLeft = true
    }

    struct Itinerary: Sendable, Hashable {
        /// In seconds. The cost has the outage, the burdens and the prices of moves.
        var outage: Double
        var cost: Double
        var switches: Int
        var roams: Int
        /// In the order of time.
        var moves: [Stop]

        struct Stop: Sendable, Hashable {
            let start: Double
            let arrival: Double
            let accessPoint: Int
        }
    }

    private struct Path {
        var lost = 0.0
        /// What counts: the outage, burdens, prices of moves and their `worth`.
        var score = 0.0
        var switches = 0
        var roams = 0
        var lastMove: Int?

        mutating func lose(_ seconds: Double) {
            lost += seconds
            score += seconds
        }
    }

    private struct Flight {
        let arrival: Double
        var path: Path
    }

    private struct Move {
        let stop: Itinerary.Stop
        let previous: Int?
    }

    /// Takes in the next cell.
    mutating func advance(through cell: Cell) {
        dropLinks(in: cell)
        depart(in: cell)
        pass(cell)
    }

    /// The best way through all cells so far.
    var best: Itinerary {
        let paths = on + off + flights.flatMap(\.self).map(\.path)
        // `off` is never empty of paths: being on nothing is always possible.
        let best = paths.compactMap(\.self).min { $0.score < $1.score } ?? Path()
        var stops: [Itinerary.Stop] = []
        var next = best.lastMove
        while let index = next {
            stops.append(moves[index].stop)
            next = moves[index].previous
        }
        let worth = Self.worth * Double(best.switches + best.roams)
        return Itinerary(
            outage: best.lost, cost: best.score - worth, switches: best.switches, roams: best.roams,
            moves: stops.reversed())
    }

    private mutating func dropLinks(in cell: Cell) {
        for (place, state) in cell.places.enumerated() where !state.keepsLink {
            flights[place].removeAll()
            guard let path = on[place] else { continue }
            off[networks[place]] = Self.better(off[networks[place]], path)
            on[place] = nil
        }
    }

    /// Sets out for every access point that can be joined, from wherever that is best.
    private mutating func depart(in cell: Cell) {
        let linked = bestOnByNetwork(in: cell)
        let anywhere = linked.indices.map { Self.better(linked[$0], off[$0]) }
        let best = Self.best(of: anywhere, without: nil)
        let second = Self.best(of: anywhere, without: best)
        for (place, state) in cell.places.enumerated() {
            let network = networks[place]
            if let roamTime = state.roamTime, var path = linked[network] {
                path.roams += 1
                path.score += roaming
                launch(path, to: place, from: cell.start, taking: roamTime)
            }
            guard let joinTime = state.joinTime else { continue }
            // A link may be dropped to join the same network anew, as after a loss.
            if let path = Self.better(Self.better(off[network], off[off.count - 1]), linked[network]) {
                launch(path, to: place, from: cell.start, taking: joinTime)
            }
            if let origin = best == network ? second : best, var path = anywhere[origin] {
                path.switches += 1
                path.score += switching
                launch(path, to: place, from: cell.start, taking: joinTime)
            }
        }
    }

    private func bestOnByNetwork(in cell: Cell) -> [Path?] {
        var best = [Path?](repeating: nil, count: off.count - 1)
        for (place, path) in on.enumerated() where cell.places[place].mayBeLeft {
            best[networks[place]] = Self.better(best[networks[place]], path)
        }
        return best
    }

    private static func best(of paths: [Path?], without excluded: Int?) -> Int? {
        var best: (index: Int, score: Double)?
        for (index, path) in paths.enumerated() where index != excluded {
            if let score = path?.score, best.map({ score < $0.score }) ?? true { best = (index, score) }
        }
        return best?.index
    }

    private static func better(_ left: Path?, _ right: Path?) -> Path? {
        guard let left else { return right }
        guard let right else { return left }
        return right.score < left.score ? right : left
    }

    /// Begins a move, unless it can only be worse than what is there already.
    private mutating func launch(_ path: Path, to place: Int, from start: Double, taking time: Double) {
        if let present = on[place], present.score <= path.score { return }
        let arrival = start + time
        guard !flights[place].contains(where: { $0.arrival <= arrival && $0.path.score <= path.score }) else { return }
        var path = path
        let stop = Itinerary.Stop(start: start, arrival: arrival, accessPoint: place)
        moves.append(Move(stop: stop, previous: path.lastMove))
        path.lastMove = moves.count - 1
        flights[place].removeAll { $0.arrival >= arrival && $0.path.score >= path.score }
        flights[place].append(Flight(arrival: arrival, path: path))
    }

    /// Lets the cell's time pass on every path.
    private mutating func pass(_ cell: Cell) {
        let length = cell.end - cell.start
        let dead = cell.counts ? length : 0
        for network in off.indices { off[network]?.lose(dead) }
        for (place, state) in cell.places.enumerated() {
            let burden = cell.counts ? state.burden : 0
            let lost = cell.counts ? 1 - state.quality : 0
            on[place]?.lose(length * lost)
            on[place]?.score += length * burden
            guard !flights[place].isEmpty else { continue }
            for index in flights[place].indices {
                let flown = min(cell.end, flights[place][index].arrival) - cell.start
                let rest = length - flown
                flights[place][index].path.lose(cell.counts ? flown + rest * lost : 0)
                flights[place][index].path.score += rest * burden
            }
            for flight in flights[place] where flight.arrival <= cell.end {
                on[place] = Self.better(on[place], flight.path)
            }
            flights[place].removeAll { $0.arrival <= cell.end }
        }
    }
}
