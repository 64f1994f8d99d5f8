import Failover

/// One pass of a scenario, run by altnet and by every peer in the same air, and by the oracle.
public struct Heat: Sendable {
    public let seed: UInt64
    /// altnet's first.
    public let results: [RunResult]
    public let oracle: Oracle.Outcome
    /// The oracle without foresight.
    public let reacting: Oracle.Outcome

    public init(_ scenario: Scenario, seed: UInt64) {
        self.seed = seed
        let altnet = Simulation.run(scenario, seed: seed, policyName: Comparison.altnet) {
            FailoverPolicy(settings: $0)
        }
        let peers = Peer.all.map { peer in
            Simulation.run(scenario, seed: seed, policyName: peer.name, timing: peer.timing) { _ in peer.makePolicy() }
        }
        results = [altnet] + peers
        oracle = Oracle.run(scenario, seed: seed)
        reacting = Oracle.run(scenario, seed: seed, foresight: .none)
    }
}

extension Comparison {
    /// - Parameter heats: of one scenario, one for each seed; at least one.
    public init(of scenario: Scenario, _ heats: [Heat]) {
        let perDay = 86_400 / scenario.duration.inSeconds / Double(max(heats.count, 1))
        func mean(_ figure: (Heat) -> Double) -> Double { heats.map(figure).reduce(0, +) * perDay }

        let optimum = mean { $0.oracle.outage.inSeconds }
        var rows = (heats.first?.results.indices ?? 0..<0).map { index in
            let outage = mean { $0.results[index].outage.inSeconds }
            return Row(
                policy: heats[0].results[index].policy, outagePerDay: outage,
                switchesPerDay: mean { Double($0.results[index].switches) },
                returnsPerDay: mean { Double($0.results[index].returns) },
                roamsPerDay: mean { Double($0.results[index].roams) }, regretPerDay: outage - optimum)
        }
        rows.append(
            Row(
                policy: Self.oracle, outagePerDay: optimum, switchesPerDay: mean { Double($0.oracle.switches) },
                returnsPerDay: 0, roamsPerDay: mean { Double($0.oracle.roams) }, regretPerDay: 0))
        self.init(
            scenario: scenario.name, title: scenario.title, seeds: heats.count, duration: scenario.duration, rows: rows,
            reactingOutagePerDay: mean { $0.reacting.outage.inSeconds })
    }
}
