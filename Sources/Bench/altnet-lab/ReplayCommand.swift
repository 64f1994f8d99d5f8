import AgentModel
import ArgumentParser
import Failover
import Glibc
import Simulation

struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay", abstract: "Run this build's policy on what an agent recorded.",
        discussion: """
            Prints each decision with its time, counted from the start of the run, and beside it what was recorded where \
            that is something else. Ends with 0 if this policy does what was recorded, with 1 if not, with 65 if the file \
            is no record.

            An event is an answer to what the recorded policy did, so what follows the first difference is hypothetical.

              ALTNET_RECORD=/var/lib/altnet/record         has the agent record
              altnet-lab replay record
              altnet-lab replay record --set margin=12 --set weakConfirmation=30s
            """)

    @Argument(help: "The recorded file.")
    var file: String

    @Option(
        name: .customLong("set"),
        help: ArgumentHelp(
            "Another value for a setting of the policy, as in a scenario.", valueName: "setting=value"))
    var changes: [SettingChange] = []

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        for warning in changes.compactMap(\.warning) { tell(warning) }
        let runs: [RecordedRun]
        do throws(RecordError) {
            runs = try RecordReader.read(file)
        } catch {
            tell("\(error)")
            throw ExitCode(65)
        }
        let reports = try runs.map { run in ReplayReport(run, settings: try settings(of: run)) }
        if json {
            print(try JSONText.of(reports))
        } else {
            for (number, report) in reports.enumerated() {
                print("run \(number + 1) of \(reports.count): \(report.text)")
            }
        }
        guard reports.allSatisfy(\.isSame) else { throw ExitCode(1) }
    }

    private func tell(_ message: String) {
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

/// `margin=12`
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
