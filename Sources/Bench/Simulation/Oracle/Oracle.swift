import AgentModel

/// Computes the least cost (`Measure`) of a device that knows the scenario's future.
///
/// The device needs no scans, detects a dead link at once, and joins at the first attempt in the shortest time. It has
/// no traffic during association and address assignment. It can join an access point that is on, heard and not full,
/// accepts a known password and gives out addresses.
public struct Oracle: Sendable {
    public enum Foresight: Sendable, Hashable {
        case complete
        /// The optimum does not know sudden events. A policy's regret is its cost less this optimum's.
        ///
        /// It joins no other network while the preferred network is good and the best. It does not leave a link that is
        /// as good as the best. After a loss of power or internet access, it stays until a device can detect the loss.
        case none
    }

    public struct Outcome: Sendable, Hashable {
        public let outage: Duration
        /// Cost by the measure, in seconds.
        public let cost: Double
        public let switches: Int
        public let roams: Int
        public let way: [Stop]
    }

    /// A move of the best path. `start` is its order, `arrival` the first time with connectivity.
    public struct Stop: Sendable, Hashable {
        public let start: Duration
        public let arrival: Duration
        public let accessPoint: Int
    }

    /// Minimum time of the kernel's beacon loss detection, in milliseconds (Docs/contributor/loss-and-radios.md).
    static let lossDetection = StackTiming().lossDetection.lowerBound

    /// Minimum time for association and handshake, in milliseconds.
    static let association: Int64 = 100

    public static func run(
        _ scenario: Scenario, seed: UInt64, foresight: Foresight = .complete, measure: Measure = Measure()
    ) -> Outcome {
        let world = World(scenario, seed: seed)
        return run(world, BurdenTable(world), foresight: foresight, measure: measure)
    }

    static func run(
        _ world: World, _ burdens: BurdenTable, foresight: Foresight, measure: Measure = Measure()
    ) -> Outcome {
        let course = OracleCourse(world, burdens, foresight: foresight, measure: measure)
        var optimum = Optimum(
            networks: course.networks,
            prices: Optimum.Prices(switching: measure.switching, roaming: measure.roaming))
        course.forEachCell { optimum.advance(through: $0) }
        let best = optimum.best
        return Outcome(
            outage: .seconds(best.outage), cost: best.cost, switches: best.switches, roams: best.roams,
            way: best.moves.map { move in
                Stop(
                    start: .seconds(move.start), arrival: .seconds(move.arrival),
                    accessPoint: course.accessPoints[move.accessPoint])
            })
    }
}

/// Divides a pass into cells with almost no change. A cell starts at each change, at the latest start of a move before
/// it, and every 200 ms while a quality changes.
struct OracleCourse {
    private let world: World
    /// Access points of the device's networks.
    let accessPoints: [Int]
    /// Network of each of these access points.
    let networks: [Int]
    /// Times of broken links by access point, in milliseconds.
    private let breaks: [Set<Int64>]
    /// Times without links and joins, in milliseconds.
    private let pauses: [Range<Int64>]
    /// Times by access point in which the device cannot detect a loss of connectivity yet; nil with foresight.
    private let surprises: [[Range<Int64>]]?
    private let preferred: Set<Int>
    private let burdens: BurdenTable
    private let measure: Measure

    private static let step: Int64 = 200

    init(_ world: World, _ burdens: BurdenTable, foresight: Oracle.Foresight, measure: Measure) {
        self.world = world
        self.burdens = burdens
        self.measure = measure
        let known = world.accessPoints.compactMap { ap in world.network(of: ap).map { (ap, $0) } }
        accessPoints = known.map(\.0)
        networks = known.map(\.1)
        let pauses = world.pauses
        self.pauses = pauses
        breaks = accessPoints.map { Set(world.linkBreaks(of: $0) + pauses.map(\.lowerBound)) }
        surprises = foresight == .complete ? nil : accessPoints.map(world.surprises)
        preferred = Set(world.scenario.networks.indices.filter { world.scenario.networks[$0].isPreferred })
    }

    func forEachCell(_ body: (Optimum.Cell) -> Void) {
        let times = times
        for (start, end) in zip(times, times.dropFirst()) {
            let isPaused = pauses.contains { $0.contains(start) }
            var places = accessPoints.indices.map { place(at: $0, from: start, to: end, isPaused: isPaused) }
            if let surprises { blind(&places, surprises, at: start) }
            body(
                Optimum.Cell(
                    start: Double(start) / 1000, end: Double(end) / 1000,
                    counts: world.isInDemand(at: .milliseconds(start)), places: places))
        }
    }

    /// Removes moves that need knowledge of the future.
    private func blind(_ places: inout [Optimum.Candidate], _ surprises: [[Range<Int64>]], at moment: Int64) {
        let least = places.filter { $0.joinTime != nil }.map(\.rate).min() ?? .infinity
        let isHomeBest = places.indices.contains { index in
            preferred.contains(networks[index]) && places[index].joinTime != nil
                && places[index].quality >= BurdenTable.good && places[index].rate <= least + Self.trifle
        }
        for index in places.indices {
            let isAsGoodAsAny = places[index].quality >= BurdenTable.good && places[index].rate <= least + Self.trifle
            places[index].mayBeLeft = !isAsGoodAsAny && !surprises[index].contains { $0.contains(moment) }
            if isHomeBest, !preferred.contains(networks[index]) { places[index].joinTime = nil }
        }
    }

    /// Negligible difference of costs, in seconds per second.
    private static let trifle = 1e-9

    private func place(at index: Int, from start: Int64, to end: Int64, isPaused: Bool) -> Optimum.Candidate {
        let ap = accessPoints[index]
        let length = Double(end - start)
        var place = Optimum.Candidate(
            quality: max(0, 1 - world.lostTime(of: ap, in: start..<end) / length),
            burden: burdens.burden(of: ap, in: start..<end).weighed(by: measure) * 1000 / length,
            keepsLink: !breaks[index].contains(start))
        // The state at the association decides, but at the latest the state at the end of the pass.
        let asked = min(start + Oracle.association, world.passLength - 1)
        let state = world.state(of: ap, at: .milliseconds(asked))
        guard !isPaused, state.isOn, !state.isFull, state.admission == .admitted,
            world.loss(of: ap, at: asked) < World.deafness
        else { return place }
        place.roamTime = Double(Oracle.association) / 1000
        place.joinTime = state.addressTime.map { Double(Oracle.association + $0.milliseconds) / 1000 }
        return place
    }

    private var times: [Int64] {
        var marks: Set<Int64> = [0, world.passLength]
        for (index, ap) in accessPoints.enumerated() {
            let edges = world.edges(of: ap) + breaks[index].sorted()
            let moves = Set(world.addressTimes(of: ap)).map { Oracle.association + $0 } + [0, Oracle.association]
            for edge in edges { marks.formUnion(moves.map { edge - $0 }) }
        }
        for range in (surprises ?? []).joined() { marks.insert(range.upperBound) }
        for range in pauses { marks.formUnion([range.lowerBound, range.upperBound]) }
        marks.formUnion(burdens.changes)
        marks.formUnion(changingTimes)
        return marks.filter { (0...world.passLength).contains($0) }.sorted()
    }

    private var changingTimes: [Int64] {
        var times: [Int64] = []
        var moment: Int64 = 0
        while moment < world.passLength {
            times.append(moment)
            let steady = accessPoints.map { world.steadyUntil(of: $0, from: .milliseconds(moment)).milliseconds }
            moment = max(moment + Self.step, min(steady.min() ?? world.passLength, world.passLength))
        }
        return times
    }
}

extension Optimum.Candidate {
    /// Cost per second on this access point, in seconds.
    fileprivate var rate: Double { 1 - quality + burden }
}

extension World {
    /// Times without links and joins, because wpa_supplicant is down or the device sleeps.
    fileprivate var pauses: [Range<Int64>] {
        happenings.compactMap { happening in
            let (start, time): (Int64, Duration)
            switch happening.change {
            case .supplicantDies(let backAfter): (start, time) = (happening.at.milliseconds, backAfter)
            case .suspend(let duration): (start, time) = (happening.at.milliseconds, duration)
            default: return nil
            }
            return start..<(start + max(0, time.milliseconds))
        }
    }

    /// Returns the ends of the access point's spans, and the times at which the demand for Wi-Fi changes.
    fileprivate func edges(of accessPoint: Int) -> [Int64] {
        var edges: [Int64] = []
        var moment: Int64 = 0
        while moment < passLength {
            moment = span(of: accessPoint, at: moment).end
            edges.append(moment)
        }
        moment = 0
        while moment < passLength {
            moment = demand.step(at: moment).end
            edges.append(min(moment, passLength))
        }
        return edges
    }

    fileprivate func addressTimes(of accessPoint: Int) -> [Int64] {
        edges(of: accessPoint).compactMap { edge in
            state(of: accessPoint, at: .milliseconds(max(0, edge - 1))).addressTime?.milliseconds
        }
    }

    /// Returns the times at which a link ends because of silence or a changed password.
    fileprivate func linkBreaks(of accessPoint: Int) -> [Int64] {
        var breaks: [Int64] = []
        var from: Int64 = 0
        while from < passLength {
            guard let moment = linkLoss(of: accessPoint, in: from..<passLength).at else { break }
            breaks.append(moment)
            from = audible(accessPoint, from: moment) ?? passLength
        }
        for edge in edges(of: accessPoint) where edge < passLength {
            let before = state(of: accessPoint, at: .milliseconds(edge - 1)).key
            if state(of: accessPoint, at: .milliseconds(edge)).key != before { breaks.append(edge) }
        }
        return breaks
    }

    /// Returns the times from a sudden loss of service to its detection by beacon loss or a failed probe.
    fileprivate func surprises(of accessPoint: Int) -> [Range<Int64>] {
        let probe = scenario.settings.validation?.limit.milliseconds
        return edges(of: accessPoint).filter { $0 < passLength }.compactMap { edge in
            let before = state(of: accessPoint, at: .milliseconds(edge - 1))
            let after = state(of: accessPoint, at: .milliseconds(edge))
            if before.isOn, !after.isOn { return edge..<(edge + Oracle.lossDetection) }
            // Without probes, a device never detects a loss of internet access.
            guard before.internet == .online, after.internet != .online else { return nil }
            return edge..<(probe.map { edge + $0 } ?? passLength)
        }
    }

    private func audible(_ accessPoint: Int, from moment: Int64) -> Int64? {
        firstMoment(of: accessPoint, in: moment..<passLength) { span in
            guard span.state.isOn, span.interference < Self.deafness else { return .never }
            let bearable = 1 - (1 - Self.deafness) / (1 - span.interference)
            return .above(tracks[accessPoint].loss.signal(losing: bearable))
        }
    }
}
