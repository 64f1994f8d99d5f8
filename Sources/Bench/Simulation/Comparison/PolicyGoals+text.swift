extension PolicyGoals {
    /// Each scenario's standing and the goals, for a terminal.
    public func render(_ style: TextStyle) -> String {
        var table = TextTable(headings: [
            "SCENARIO", "TO ORACLE", "REACTING", "TO BEST PEER", "BEST PEER", "SWITCHES", "RETURNS", "ORACLE'S",
        ])
        table.rows = standings.sorted { $0.overOracle > $1.overOracle }.map { standing in
            [
                .init("  " + standing.scenario + (standing.isHard ? " +" : "")), .init(standing.overOracle.fixed(2)),
                .init(standing.overReacting?.fixed(2) ?? "-"), .init(standing.overBestPeer.fixed(2)),
                .init(standing.bestPeer), .init(standing.switches.fixed(1)),
                .init(standing.returns.fixed(1)), .init(standing.oracleSwitches.fixed(1)),
            ]
        }
        let heading =
            style.bold("altnet's outage over the oracle's and the best peer's") + " (+: weak signal or dead internet)"
        return ([heading] + table.lines(style) + [""] + goals.flatMap { lines($0, style) }).joined(separator: "\n")
    }

    private func lines(_ goal: Goal, _ style: TextStyle) -> [String] {
        let verdict = goal.isMet ? style.green("met    ") : "not met"
        return ["\(verdict)  \(goal.name): \(goal.reached) (wanted: \(goal.wanted))"]
            + (goal.furthest.isEmpty ? [] : ["         " + goal.furthest.joined(separator: ", ")])
    }
}
