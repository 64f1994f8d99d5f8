import AgentModel
import Simulation

enum ScenarioTable {
    static func text() throws -> String {
        Markdown.table(
            ["scenario", "lasts", "what it is"],
            try ScenarioLibrary.all().map { scenario in
                let minutes = scenario.duration.milliseconds / 60_000
                let lasts = minutes.isMultiple(of: 60) ? "\(minutes / 60) h" : "\(minutes) min"
                return [Markdown.code(scenario.name), lasts, scenario.title]
            })
    }
}
