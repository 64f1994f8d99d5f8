import Agent
import AgentModel
import AppProtocol
import ArgumentParser
import Glibc
import Linux
import MQTTBridge
import Terminal

struct AgentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Keep this device online.",
        discussion: """
            Runs until SIGTERM, and reloads its settings on SIGHUP. Environment variables override the settings file. \
            Docs/reference/settings.md and the installed file describe the settings. Their names and defaults:

            \(Setting.overview)

            Needs CAP_NET_ADMIN. Docs/integrator/manufacturing.md describes the messages to systemd and the exit status.
            """)

    @OptionGroup var local: LocalOptions

    @Option(help: ArgumentHelp("The settings file, with one NAME=VALUE per line.", valueName: "file"))
    var settings: String?

    @Flag(help: "Check the settings and exit: 0 if they are valid, 78 if not.")
    var checkConfig = false

    func run() async throws {
        if checkConfig { return try check() }
        try await AgentProcess(settings: settings).run()
    }

    private func check() throws {
        let settings: AgentSettings
        do throws(InvalidSettings) { settings = try AgentProcess(settings: self.settings).source.read() } catch {
            throw complained(of: error.lines)
        }
        let fit = settings.fit()
        for warning in settings.warnings { print("warning: \(warning)") }
        for remark in settings.remarks + fit.remarks { print("note: \(remark)") }
        guard fit.problems.isEmpty else { throw complained(of: fit.problems) }
        print("the settings are valid")
    }

    /// Prints the problems to standard error and returns the exit status.
    private func complained(of problems: [String]) -> ExitCode {
        for problem in problems { try? TextOutput(descriptor: STDERR_FILENO).put(problem.printable + "\n") }
        return ExitCode(ExitStatus.badSettings.rawValue)
    }
}

extension Setting {
    /// All settings with their defaults, one per line.
    fileprivate static var overview: String {
        let groups = Setting.groups + [BridgeOptions.settingGroup]
        let width = all.map(\.name.count).max() ?? 0
        return groups.map { group in
            let lines = group.settings.map { setting in
                let name = setting.name + String(repeating: " ", count: width - setting.name.count)
                return "  \(name)  " + setting.standardText.wrapped(to: 76 - width, indent: width + 4)
            }
            return ([group.title + ":"] + lines).joined(separator: "\n")
        }.joined(separator: "\n\n")
    }
}

extension String {
    /// Wraps the text at this number of characters and indents all lines but the first.
    fileprivate func wrapped(to length: Int, indent: Int) -> String {
        var lines: [String] = []
        for word in split(separator: " ") {
            if let last = lines.last, last.count + 1 + word.count <= length {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines.joined(separator: "\n" + String(repeating: " ", count: indent))
    }
}

struct AgentProcess {
    let settings: String?

    init(settings: String?) { self.settings = settings }

    /// Parses the two command lines of services: `agent` and `agent --settings FILE`. The parser of all commands would
    /// occupy memory for as long as the agent runs.
    init?(arguments: some Collection<String>) {
        let arguments = Array(arguments)
        switch arguments.count {
        case 1 where arguments == ["agent"]: self.init(settings: nil)
        case 3 where arguments.starts(with: ["agent", "--settings"]) && !arguments[2].hasPrefix("-"):
            self.init(settings: arguments[2])
        default: return nil
        }
    }

    func run() async throws(ExitCode) {
        let source = self.source
        let sink = LogSink(journal: source.environment["JOURNAL_STREAM"])
        defer { sink.flush() }
        let signals: ProcessSignals
        do throws(SystemError) { signals = try AgentService.catchSignals() } catch {
            sink.complain("\(error)")
            throw ExitCode(ExitStatus(startFailure: error).rawValue)
        }
        let settings: AgentSettings
        do throws(InvalidSettings) { settings = try source.read() } catch {
            for line in error.lines { sink.complain(line) }
            throw ExitCode(ExitStatus.badSettings.rawValue)
        }
        sink.level = settings.logLevel
        do { try await AgentService.run(settings, from: source, signals, logTo: sink) } catch {
            sink.complain("\(error)")
            throw ExitCode(ExitStatus(startFailure: error).rawValue)
        }
    }

    var source: SettingsSource { SettingsSource(ofThisMachine: settings) }
}

extension SettingsSource {
    /// Reads the settings of this machine. Also checks the settings of `altnet-mqtt`, which are in the same file.
    init(ofThisMachine file: String?, _ environment: [String: String] = AgentSettings.environmentOfProcess) {
        self.init(
            file: file, environment: environment, others: BridgeOptions.settings, accepting: BridgeOptions.accepts)
    }
}

extension AgentSettings {
    /// The process's environment without the command line's variables, which the agent does not read.
    static var environmentOfProcess: [String: String] {
        let variables = ChildProcess.ownEnvironment.compactMap { variable -> (String, String)? in
            guard let equals = variable.firstIndex(of: "=") else { return nil }
            return (String(variable[..<equals]), String(variable[variable.index(after: equals)...]))
        }
        return Dictionary(variables) { first, _ in first }
            .filter { !DeviceOptions.Variable.ofTheCommandLine.contains($0.key) }
    }
}
