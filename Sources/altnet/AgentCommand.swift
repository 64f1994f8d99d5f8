import Agent
import ArgumentParser
import FoundationEssentials
import Logging

struct AgentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Keep this device online.",
        discussion: """
            Runs until it is told to end. It is set by environment variables, which systemd reads from a file:

              ALTNET_INTERFACE        the Wi-Fi interface (wlan0)
              ALTNET_SUPPLICANT_DIR   folder of wpa_supplicant's control sockets (/run/wpa_supplicant)
              ALTNET_STATE_DIR        folder of the device's identity, key file and root key (/var/lib/altnet)
              ALTNET_KEYFILE          the key file, or a partition for it such as /dev/mtd3 (keyfile in the above)
              ALTNET_ROOT_KEY         file of the key file's root key (systemd's credential altnet.root-key where
                                      there is one, else root-key in the above)
              ALTNET_KEYFILE_ANCHOR   file by which an older image of the key file is noticed (none)
              ALTNET_SOCKET           socket of the app protocol (/run/altnet/altnet.sock)
              ALTNET_SOCKET_MODE      its permissions, in octal (0660)
              ALTNET_SOCKET_GROUP     group whose members may do everything over it, by name or number (the agent's own)
              ALTNET_SOCKET_READERS   group whose members may ask and listen, but change nothing (none)
              ALTNET_LAN_PORT         TCP port on which apps in the network are answered, 0 for none (25863)
              ALTNET_LAN_CONNECTIONS  how many of them may be connected at a time, 1 to 1024 (32)
              ALTNET_MAX_BACKUPS      how many backup networks are stored at most, 1 to 10 (3)
              ALTNET_LOG_LEVEL        trace, debug, info, notice, warning, error or critical (notice)

            The thresholds of the failover are described in Docs/failover.md. Needs CAP_NET_ADMIN.
            """)

    @OptionGroup var local: LocalOptions

    @Flag(help: "Check the settings and end.")
    var checkConfig = false

    func run() async throws {
        let settings: AgentSettings
        do { settings = try AgentSettings(environment: AgentSettings.environmentOfProcess) } catch {
            throw ValidationError("\(error)")
        }
        guard !checkConfig else {
            print("the settings are in order")
            return
        }
        let log = Logger(label: "altnet") { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = settings.logLevel
            return handler
        }
        do { try await AgentService.run(settings, log: log) } catch {
            log.critical("\(error)")
            throw ExitCode(1)
        }
    }
}

extension AgentSettings {
    /// The process's environment without what is meant for the command line, which is no setting of the agent.
    static var environmentOfProcess: [String: String] {
        ProcessInfo.processInfo.environment.filter { !DeviceOptions.Variable.ofTheCommandLine.contains($0.key) }
    }
}
