import KeyFileSimulation
import Randomness
import Testing

@testable import KeyFile

/// A bounded share of what `altnet-lab torture` does.
@Suite struct PowerCutTests {
    @Test(arguments: Scenario.allCases) func losesNothingAcknowledgedAndInventsNothing(scenario: Scenario) throws {
        let run = try PowerCutRun(scenario, seed: 1)
        try run.run(cuts: scenario.ballast > 0 ? 300 : 1_000)
        print("key file: \(run.totals.allCuts) power cuts, \(scenario)")
    }

    /// What a chip's very first write leaves, cut short, is one of three: nothing yet, the first state, or something that
    /// is refused until a person has looked at it, for it may be somebody else's.
    @Test func aFirstWriteThatIsCutShortOverwritesNothing() throws {
        var random = SeededRandom(seed: 2)
        let geometry = try #require(Geometry(sectorSize: 4096, sectorCount: 4, writeUnit: 16))
        let board = SimulatedBoard(SimulatedFlash(geometry))
        let state = try fullState()
        var copies: [SimulatedBoard] = []
        board.onOperation = {
            copies += CutOutcome.allCases.map { board.afterPowerCut($0, using: &random) }
        }
        try board.open().commit(state)
        for copy in copies {
            let store = try copy.open()
            #expect([state, StoredState()].contains(store.state))
            do throws(KeyFileError) {
                try store.commit(state)
                #expect(try copy.afterPowerCut(using: &random).open().state == state)
            } catch {
                guard case .foreignContent = error else { throw error }
                #expect(store.report == [.unreadable(keptAs: nil)])
                #expect(store.state == StoredState())
            }
        }
        #expect(copies.count >= 20)
    }
}
