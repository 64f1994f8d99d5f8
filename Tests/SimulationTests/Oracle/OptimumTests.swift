import Randomness
import Testing

@testable import Simulation

@Suite struct OptimumTests {
    @Test func nothingIsBetter() {
        for seed in 0..<3000 {
            var random = SeededRandom(seed: UInt64(seed))
            let networks = (0..<Int.random(in: 1...3, using: &random)).map { _ in Int.random(in: 0...1, using: &random)
            }
            let cells = Self.course(of: networks.count, cells: 6, using: &random)
            let prices =
                seed % 3 == 0
                ? Optimum.Prices()
                : Optimum.Prices(
                    switching: [0, 0.5, 2][Int.random(in: 0..<3, using: &random)],
                    roaming: [0, 0.125, 1][Int.random(in: 0..<3, using: &random)])
            var optimum = Optimum(networks: networks, prices: prices)
            for cell in cells { optimum.advance(through: cell) }

            let best = Exhaustion(networks: networks, cells: cells, prices: prices).least()
            let way = optimum.best
            let score = way.cost + Optimum.worth * Double(way.switches + way.roams)
            #expect(abs(score - best) < 1e-9, "seed \(seed)")
        }
    }

    @Test func itStaysOffADeadAccessPointAndIsReadyWhenTheOtherOneComes() {
        var optimum = Optimum(networks: [0, 1])
        optimum.advance(through: Self.cell(0, 10, [.alive, .off]))
        optimum.advance(through: Self.cell(10, 20, [.off, .off]))
        optimum.advance(through: Self.cell(20, 30, [.off, .alive]))
        let way = optimum.best
        #expect(abs(way.outage - (0.4 + 10 + 0.4)) < 1e-9)
        #expect(way.switches == 1)
        #expect(way.moves.map(\.accessPoint) == [0, 1])
        #expect(way.moves.map(\.start) == [0, 20])
    }

    @Test func aMoveThatDoesNotPayIsNotMade() {
        var optimum = Optimum(networks: [0, 1])
        optimum.advance(through: Self.cell(0, 10, [.alive, .alive]))
        // 0.3 s are lost here, a move would take 0.4 s there and 0.4 s back.
        optimum.advance(through: Self.cell(10, 11, [Optimum.Candidate(quality: 0.7, joinTime: 0.4), .alive]))
        optimum.advance(through: Self.cell(11, 20, [.alive, Optimum.Candidate(quality: 0.9, joinTime: 0.4)]))
        #expect(optimum.best.switches == 0)
        #expect(abs(optimum.best.outage - 0.7) < 1e-9)
    }

    @Test func withinTheNetworkAMoveIsCheaperAndCountsAsRoam() {
        let other = Optimum.Candidate(quality: 1, joinTime: 0.4, roamTime: 0.1)
        var optimum = Optimum(networks: [0, 0])
        optimum.advance(through: Self.cell(0, 10, [.alive, .off]))
        optimum.advance(through: Self.cell(10, 20, [Optimum.Candidate(quality: 0.5, joinTime: 0.4), other]))
        #expect(optimum.best.roams == 1)
        #expect(optimum.best.switches == 0)
        #expect(abs(optimum.best.outage - 0.5) < 1e-9)
    }

    @Test func aMoveHasToSaveItsPriceToo() {
        // 2 s of burden are saved by a move that takes 0.4 s of dead time.
        func moves(switching: Double) -> Int {
            var optimum = Optimum(networks: [0, 1], prices: Optimum.Prices(switching: switching))
            optimum.advance(through: Self.cell(0, 10, [.alive, .off]))
            let tired = Optimum.Candidate(quality: 1, burden: 0.2, keepsLink: true, joinTime: 0.4)
            optimum.advance(through: Self.cell(10, 20, [tired, .alive]))
            return optimum.best.switches
        }
        #expect(moves(switching: 1.5) == 1)
        #expect(moves(switching: 1.7) == 0)
    }

    @Test func burdensCostAndAreNoOutage() {
        var optimum = Optimum(networks: [0])
        optimum.advance(
            through: Self.cell(0, 10.4, [Optimum.Candidate(quality: 1, burden: 0.5, keepsLink: true, joinTime: 0.4)]))
        #expect(abs(optimum.best.outage - 0.4) < 1e-9)
        #expect(abs(optimum.best.cost - 5.4) < 1e-9)
    }

    @Test func nothingIsLostWhileSomethingElseCarriesTheTraffic() {
        var optimum = Optimum(networks: [0])
        var cell = Self.cell(0, 10, [.off])
        cell.counts = false
        optimum.advance(through: cell)
        #expect(optimum.best.outage == 0)
    }

    @Test func whoComesBackToTheSameNetworkHasNotSwitched() {
        var optimum = Optimum(networks: [0])
        for (start, place) in [(0.0, Optimum.Candidate.alive), (10, .off), (20, .alive)] {
            optimum.advance(through: Self.cell(start, start + 10, [place]))
        }
        #expect(optimum.best.switches == 0)
        #expect(optimum.best.moves.count == 2)
    }

    private static func cell(_ start: Double, _ end: Double, _ places: [Optimum.Candidate]) -> Optimum.Cell {
        Optimum.Cell(start: start, end: end, places: places)
    }

    private static func course(of places: Int, cells: Int, using random: inout SeededRandom) -> [Optimum.Cell] {
        (0..<cells).map { index in
            Optimum.Cell(
                start: Double(index), end: Double(index + 1), counts: Int.random(in: 0..<6, using: &random) > 0,
                places: (0..<places).map { _ in
                    guard Int.random(in: 0..<6, using: &random) > 0 else { return .off }
                    let isJoinable = Int.random(in: 0..<4, using: &random) > 0
                    let roamTime = [0.125, 1.125][Int.random(in: 0..<2, using: &random)]
                    let addressTime = [0, 0.25, 1][Int.random(in: 0..<3, using: &random)]
                    let quality = Double(Int.random(in: 0...4, using: &random)) / 4
                    return Optimum.Candidate(
                        quality: quality, burden: quality * Double(Int.random(in: 0...2, using: &random)) / 8,
                        keepsLink: Int.random(in: 0..<6, using: &random) > 0,
                        joinTime: isJoinable ? roamTime + addressTime : nil, roamTime: isJoinable ? roamTime : nil)
                })
        }
    }
}

extension Optimum.Candidate {
    fileprivate static let off = Optimum.Candidate(quality: 0, keepsLink: false)
    fileprivate static let alive = Optimum.Candidate(quality: 1, joinTime: 0.4, roamTime: 0.1)

    fileprivate init(quality: Double, joinTime: Double?) {
        self.init(quality: quality, keepsLink: true, joinTime: joinTime)
    }

    fileprivate init(quality: Double, joinTime: Double?, roamTime: Double?) {
        self.init(quality: quality, keepsLink: true, joinTime: joinTime, roamTime: roamTime)
    }
}

/// Tries everything, for courses of a few cells.
private struct Exhaustion {
    let networks: [Int]
    let cells: [Optimum.Cell]
    let prices: Optimum.Prices

    private enum State {
        case off(last: Int?)
        case on(Int)
        case moving(to: Int, arrival: Double, from: Int?)
    }

    func least() -> Double { least(.off(last: nil), 0) }

    private func least(_ state: State, _ index: Int) -> Double {
        guard index < cells.count else { return 0 }
        let cell = cells[index]
        var state = state
        switch state {
        case .on(let place) where !cell.places[place].keepsLink: state = .off(last: networks[place])
        case .moving(let place, _, let last) where !cell.places[place].keepsLink: state = .off(last: last)
        default: break
        }
        return choices(state, cell).map { chosen, price in
            let (lost, next) = pass(chosen, cell)
            return price + lost + least(next, index + 1)
        }.min() ?? .infinity
    }

    private func choices(_ state: State, _ cell: Optimum.Cell) -> [(State, Double)] {
        var choices = [(state, 0.0)]
        if case .moving = state { return choices }
        for place in networks.indices {
            let network = networks[place]
            switch state {
            case .on(let present) where present != place && networks[present] == network:
                // Dropping the link and joining anew is as after a loss.
                if let time = cell.places[place].joinTime {
                    choices.append((.moving(to: place, arrival: cell.start + time, from: network), 0))
                }
                guard let time = cell.places[place].roamTime else { continue }
                choices.append(
                    (.moving(to: place, arrival: cell.start + time, from: network), prices.roaming + Optimum.worth))
            case .on(let present) where networks[present] != network:
                guard let time = cell.places[place].joinTime else { continue }
                choices.append(
                    (
                        .moving(to: place, arrival: cell.start + time, from: networks[present]),
                        prices.switching + Optimum.worth
                    ))
            case .off(let last):
                guard let time = cell.places[place].joinTime else { continue }
                let price = last == nil || last == network ? 0 : prices.switching + Optimum.worth
                choices.append((.moving(to: place, arrival: cell.start + time, from: last), price))
            default: break
            }
        }
        return choices
    }

    private func pass(_ state: State, _ cell: Optimum.Cell) -> (lost: Double, next: State) {
        let length = cell.end - cell.start
        let weight = cell.counts ? 1.0 : 0
        switch state {
        case .off: return (weight * length, state)
        case .on(let place): return (weight * length * rate(place, cell), state)
        case .moving(let place, let arrival, _):
            guard arrival <= cell.end else { return (weight * length, state) }
            let rest = cell.end - arrival
            return (weight * (length - rest + rest * rate(place, cell)), .on(place))
        }
    }

    private func rate(_ place: Int, _ cell: Optimum.Cell) -> Double {
        1 - cell.places[place].quality + cell.places[place].burden
    }
}
