import ArgumentParser
import Simulation

/// A scenario that is not in the library, and what may have been meant.
struct UnknownScenario: CustomStringConvertible {
    let description: String

    /// - Returns: nil for a name of the library and for a path.
    init?(_ name: String) {
        guard !name.contains("/"), !name.hasSuffix(".scenario"), !ScenarioLibrary.names.contains(name) else {
            return nil
        }
        let near = NearbyNames(ScenarioLibrary.names).nearest(to: name)
        let hint = near.isEmpty ? "--list shows those that exist" : "did you mean \(near.joined(separator: " or "))?"
        description = "there is no scenario called \(name.debugDescription); \(hint)"
    }
}

/// Who decides in a simulation: altnet, or the model of another connection manager.
struct Decider: ExpressibleByArgument, Hashable, Sendable, CustomStringConvertible {
    let description: String

    static let altnet = Decider(description: "altnet")
    static let names = ([altnet.description] + Peer.all.map(\.name)).joined(separator: ", ")

    init?(argument: String) {
        guard argument == Self.altnet.description || Peer.all.contains(where: { $0.name == argument }) else {
            return nil
        }
        description = argument
    }

    private init(description: String) { self.description = description }

    func run(_ scenario: Scenario, seed: UInt64, duration: Duration, recordsTimeline: Bool) -> RunResult {
        guard let peer = Peer.all.first(where: { $0.name == description }) else {
            return Simulation.run(scenario, seed: seed, duration: duration, recordsTimeline: recordsTimeline)
        }
        return Simulation.run(
            scenario, seed: seed, duration: duration, recordsTimeline: recordsTimeline, policyName: peer.name,
            timing: peer.timing
        ) { _ in peer.makePolicy() }
    }
}
