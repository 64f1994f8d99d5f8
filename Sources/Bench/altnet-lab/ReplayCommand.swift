import AgentModel
import ArgumentParser
import Failover
import Glibc
import Simulation

struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay", abstract: "Runs this build's policy on an agent's record.",
        discussion: """
            Prints each decision with its time since the start of the run, and the recorded one where it differs. The \
            exit status is 0 if this policy decides as recorded, 1 if not, and 65 if the file is not a record.

            Events answer the recorded policy. After the first difference the result is hypothetical.

              ALTNET_RECORD=/var/lib/altnet/record         makes the agent record
              altnet-lab replay record
              altnet-lab replay record --set margin=12 --set betweenSwitches=30s
            """)

    @Argument(help: "The recorded file.")
    var file: String

    @Option(
        name: .customLong("set"),
        help: ArgumentHelp(
            "Change a setting of the policy, as in a scenario.", valueName: "setting=value"))
    var changes: [SettingChange] = []

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        for warning in changes.compactMap(\.warning) { Self.report(warning) }
        let reports = try Self.runs(in: file).map { run in ReplayReport(run, settings: try settings(of: run)) }
        if json {
            print(try JSONText.of(reports))
        } else {
            for (number, report) in reports.enumerated() {
                print("run \(number + 1) of \(reports.count): \(report.text)")
            }
        }
        guard reports.allSatisfy(\.isSame) else { throw ExitCode(1) }
    }

    /// Reads a recording. If this fails, ends the program with exit status 65.
    static func runs(in file: String) throws -> [RecordedRun] {
        do throws(RecordError) {
            return try RecordReader.read(file)
        } catch {
            report("\(error)")
            throw ExitCode(65)
        }
    }

    private static func report(_ message: String) {
        var line = "altnet-lab: \(message)\n"
        line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    private func settings(of run: RecordedRun) throws -> PolicySettings {
        var settings = run.settings
        for change in changes {
            guard change.setting.set(change.value, in: &settings) else {
                throw ValidationError("\(change.setting.name) is \(change.setting.form), not \(change.value).")
            }
        }
        if let contradiction = settings.contradiction { throw ValidationError("\(contradiction).") }
        return settings
    }
}

/// A setting and its value, such as `margin=12`.
struct SettingChange: ExpressibleByArgument {
    let setting: PolicySetting
    let value: String
    let warning: String?

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, let setting = PolicySetting.named(parts[0]) else { return nil }
        self.setting = setting
        value = String(parts[1])
        warning = PolicySetting.warning(about: parts[0])
    }
}

/// Replay of a recorded run with this build's policy.
struct ReplayReport: Encodable {
    let agent: String
    let events: Int
    let decisions: [Entry]
    /// Steps in which the policy's actions differ from the recorded actions. After the first, they are hypothetical.
    let differences: [Difference]
    /// Why the recording is incomplete; nil if it is complete.
    let end: String?

    var isSame: Bool { differences.isEmpty }

    struct Entry: Encodable {
        /// Time since the first event.
        let milliseconds: Int64
        let decision: String
    }

    struct Difference: Encodable {
        let milliseconds: Int64
        let line: Int
        let recorded: [PolicyAction]
        let now: [PolicyAction]
    }

    init(_ run: RecordedRun, settings: PolicySettings) {
        var replay = Replay(of: run, settings: settings)
        let start = run.steps.first?.at.milliseconds ?? 0
        var decisions: [Entry] = []
        var differences: [Difference] = []
        for step in run.steps {
            let outcome = replay.handle(step)
            let time = step.at.milliseconds - start
            decisions += outcome.actions.compactMap { action in
                Self.decision(action).map { Entry(milliseconds: time, decision: $0) }
            }
            guard outcome.isDifferent else { continue }
            differences.append(
                Difference(milliseconds: time, line: step.line, recorded: step.actions, now: outcome.actions))
        }
        agent = run.agent
        events = run.steps.count
        self.decisions = decisions
        self.differences = differences
        end = run.end.map(Self.sentence)
    }

    private static func sentence(_ end: RecordedRun.End) -> String {
        switch end {
        case .gap(let line, let missed): "line \(line): \(missed) events are missing, the rest is not compared"
        case .full: "the file reached its limit"
        case .cut(let line): "line \(line) was cut short"
        }
    }

    /// Returns a decision's text, without the reasons against other networks; nil for any other action.
    private static func decision(_ action: PolicyAction) -> String? {
        guard case .record(let decision) = action else { return nil }
        func place(_ ssid: SSID?, _ bssid: BSSID?) -> String {
            (ssid.map(\.description) ?? "-") + (bssid.map { " (\($0))" } ?? "")
        }
        let cause =
            if case .failure(let failure) = decision.cause { "failure:\(failure.rawValue)" } else {
                "\(decision.cause)"
            }
        let signal = decision.signal.map { " at \($0) dBm" } ?? ""
        let places = "\(place(decision.from, decision.fromBSSID)) -> \(place(decision.to, decision.toBSSID))"
        return "\(decision.kind.rawValue): \(cause)\(signal), \(places)"
    }
}

extension ReplayReport {
    var text: String {
        var lines = ["altnet \(agent.printable), \(events) events"]
        var rest = decisions[...]
        for (number, difference) in differences.enumerated() {
            let before = rest.prefix { $0.milliseconds < difference.milliseconds }
            lines += before.map(Self.line)
            rest = rest.dropFirst(before.count)
            lines.append("\(Self.time(difference.milliseconds))  DIFFERENT, line \(difference.line)")
            lines += difference.recorded.map { "              recorded: \(Self.json($0))" }
            lines += difference.now.map { "              now:      \(Self.json($0))" }
            if number == 0 { lines.append("              the rest is hypothetical") }
        }
        lines += rest.map(Self.line)
        if let end { lines.append("the record ends early: \(end)") }
        lines.append(isSame ? "decides as recorded" : "decides otherwise \(differences.count) times")
        return lines.joined(separator: "\n")
    }

    private static func line(_ entry: Entry) -> String { "\(time(entry.milliseconds))  \(entry.decision)" }

    /// Returns an action as in a recording, with printable characters only.
    private static func json(_ action: PolicyAction) -> String {
        ((try? OutsideJSON.encode(action)).map { String(decoding: $0, as: UTF8.self) } ?? "\(action)").printable
    }

    static func time(_ milliseconds: Int64) -> String {
        let fraction = String(1000 + milliseconds % 1000).dropFirst()
        let text = "\(milliseconds / 1000).\(fraction)"
        return String(repeating: " ", count: max(0, 12 - text.count)) + text
    }
}
