import AgentModel
import Failover

/// A history as a user reads it: what happened, and what the policy did about it.
struct Story {
    private var lines: [String] = []

    mutating func add(_ now: Instant, _ events: [PolicyEvent], _ actions: [PolicyAction]) {
        let what = events.map { Self.short(String(describing: $0)) }.joined(separator: " + ")
        if events == [.tick], actions.isEmpty { return }
        lines.append("  \(now.inSeconds)  \(what)")
        for action in actions {
            switch action {
            case .record(let decision):
                lines.append(
                    "      \(decision.kind): \(decision.from.map(\.description) ?? "-") -> "
                        + "\(decision.to.map(\.description) ?? "-"), \(decision.cause), "
                        + (decision.signal.map { "\($0) dBm" } ?? "no signal")
                )
            default: lines.append("      => " + Self.short(String(describing: action)))
            }
        }
    }

    var text: String { lines.joined(separator: "\n") }

    /// Without the names of modules and of types that the reader can guess.
    private static func short(_ text: String) -> String {
        var short = text
        for noise in [
            "FailoverPolicy.", "AgentModel.", "NetworkID(rawValue: ", "Frequency(megahertz: ", "Swift.", "Optional",
            "PolicyAction.", "JoinFailure.",
        ] {
            short = short.split(separator: noise, omittingEmptySubsequences: false).joined()
        }
        return short
    }
}

extension HostileHistory {
    /// The steps as Swift, and what came of them.
    package var story: String {
        var run = HostileRun(settings: settings)
        let told = Told()
        run.watched.trace = { told.story.add($0, $1, $2) }
        do {
            for step in steps { try run.perform(step) }
            try run.finish()
        } catch {
            return "\(error)\n\(code)\n\(told.story.text)"
        }
        return "\(code)\n\(told.story.text)"
    }

    private var code: String {
        let validation = settings.validation == nil ? "without" : "with"
        return "\(validation) validation:\n" + steps.map { "  \($0)" }.joined(separator: "\n")
    }
}

/// Collects the lines of a trace.
final class Told {
    var story = Story()
}
