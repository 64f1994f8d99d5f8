import AgentModel
import Logging

struct SettingsReload {
    private(set) var running: AgentSettings
    /// True once a reload has changed `running`.
    private(set) var isPending = false

    /// Reads the settings, applies the changes that need no restart and logs each change. An error changes nothing.
    /// - Parameter agent: the running agent; nil while it is starting.
    mutating func run(_ source: SettingsSource, _ sink: LogSink, _ agent: DeviceAgent?, _ log: Logger) async {
        guard source.file != nil else {
            log.warning("cannot reload: the agent was started without --settings")
            return
        }
        do throws(InvalidSettings) {
            let new = try source.read()
            let changes = try apply(new)
            sink.level = running.logLevel
            for warning in new.warnings { log.warning("\(warning)") }
            if changes.isEmpty { log.notice("reload: no setting has changed") }
            for change in changes { log.notice("\(change)") }
        } catch {
            for line in error.lines { log.error("\(line)") }
            log.error("reload failed: keeping the previous settings")
            return
        }
        await agent?.apply(running)
    }

    /// - Returns: one line for each changed setting.
    mutating func apply(_ new: AgentSettings) throws(InvalidSettings) -> [String] {
        var given = running.given
        var lines: [String] = []
        for setting in Setting.all {
            let (before, after) = (running.given[setting.name], new.given[setting.name])
            guard before?.text != after?.text else { continue }
            switch setting.effect {
            case .onReload:
                given[setting.name] = after
                lines.append("\(setting.name) changed from \(before.text(of: setting)) to \(after.text(of: setting))")
            case .onRestart:
                lines.append(
                    """
                    \(setting.name) stays \(before.text(of: setting)) until a restart of the agent: restart it to use \
                    \(after.text(of: setting))
                    """)
            }
        }
        var collected = SettingsSource.Collected()
        collected.given = given
        let environment = running.credentialsDirectory.map { ["CREDENTIALS_DIRECTORY": $0] } ?? [:]
        running = try AgentSettings(collected, environment: environment)
        isPending = true
        return lines
    }
}

extension SettingsReader.Given? {
    fileprivate func text(of setting: Setting) -> String {
        self?.text.quoted ?? "the default (\(setting.standardText))"
    }
}
