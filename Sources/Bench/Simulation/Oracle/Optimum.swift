/// Finds the path of least cost through known cells. Among paths of equal cost, it prefers the fewest moves.
///
/// The method is dynamic programming over time, with the best path to each access point. Moves start at cell boundaries
/// and cause outage until they arrive. A move must save more than its price and `worth`.
struct Optimum {
    private let networks: [Int]
    /// Best path that ends on each access point; nil if none does.
    private var on: [Path?]
    /// Best path that ends without a link, by the last network. The last element is the path without any network.
    private var off: [Path?]
    /// Moves that have not arrived yet, by target.
    private var flights: [[Flight]]
    private var moves: [Move] = []
    /// Cost of a switch with `worth`, in seconds.
    private let switching: Double
    /// Cost of a roam with `worth`, in seconds.
    private let roaming: Double

    /// Saving in seconds that a move must bring in addition to its price.
    static let worth = 0.001

    /// Prices of moves in seconds, in addition to the outage until they arrive.
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

    /// A period without changes. Times are in seconds.
    struct Cell: Hashable {
        var start: Double
        var end: Double
        /// Whether lost time counts; false while the device sleeps or another uplink carries the traffic.
        var counts = true
        var places: [Candidate]
    }

    struct Candidate: Hashable {
        /// Delivered share of traffic, 0 to 1.
        var quality: Double
        /// Cost of a second on this access point, in seconds, in addition to lost traffic. It is at most `quality`, so
        /// that any link is at least as good as none.
        var burden = 0.0
        /// Whether a link, or a move to this access point, survives the start of the cell.
        var keepsLink: Bool
        /// Time of a switch from the order to full connectivity, in seconds; nil if the device cannot join.
        var joinTime: Double?
        /// Time of a roam from the order to full connectivity, in seconds; nil if the device cannot join.
        var roamTime: Double?
        /// Whether the path may leave the access point.
        var mayBeLeft = true
    }

    struct Itinerary: Sendable, Hashable {
        /// Outage in seconds.
        var outage: Double
        /// Sum of outage, burdens and prices of moves, in seconds.
        var cost: Double
        var switches: Int
        var roams: Int
        var moves: [Stop]

        struct Stop: Sendable, Hashable {
            let start: Double
            let arrival: Double
            let accessPoint: Int
        }
    }

    private struct Path {
        var lost = 0.0
        /// Sum of outage, burdens, prices of moves and their `worth`, in seconds.
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

    mutating func advance(through cell: Cell) {
        dropLinks(in: cell)
        depart(in: cell)
        pass(cell)
    }

    var best: Itinerary {
        let paths = on + off + flights.flatMap(\.self).map(\.path)
        // `off` always has a path, because it is always possible to have no link.
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

    /// Starts moves from the best paths to each access point that the device can join.
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
            // A path may leave a link to join the same network again, as after a loss.
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

    /// Starts a move, unless an existing path to the access point is at least as good.
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
