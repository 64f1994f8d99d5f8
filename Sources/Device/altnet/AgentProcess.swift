import Agent
import ArgumentParser
import Linux

/// The agent, which runs until it is told to end.
struct AgentProcess {
    /// The file with the settings.
    let settings: String?

    init(settings: String?) { self.settings = settings }

    /// As a service starts it: `agent`, `agent --settings FILE`.
    ///
    /// It runs for months, and whatever reads the command lines of all commands makes much that they alone need and that
    /// stays in memory (Docs/footprint.md). So these two are read here.
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
        do throws(SystemError) { signals = try AgentService.takeSignals() } catch {
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

    var source: SettingsSource { SettingsSource(file: settings, environment: AgentSettings.environmentOfProcess) }
}

extension AgentSettings {
    /// The process's environment without what is meant for the command line, which is no setting of the agent.
    static var environmentOfProcess: [String: String] {
        let variables = ChildProcess.ownEnvironment.compactMap { variable -> (String, String)? in
            guard let equals = variable.firstIndex(of: "=") else { return nil }
            return (String(variable[..<equals]), String(variable[variable.index(after: equals)...]))
        }
        return Dictionary(variables) { first, _ in first }
            .filter { !DeviceOptions.Variable.ofTheCommandLine.contains($0.key) }
    }
}
