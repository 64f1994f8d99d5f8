import AgentModel
import AppProtocol
import ArgumentParser
import Glibc
import Linux

struct EnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable", abstract: "Let altnet manage this board's Wi-Fi, on trial or permanently.",
        discussion: """
            Imports the networks that the board knows, like 'altnet import', and then takes over the Wi-Fi interface. \
            The network in use becomes the home network first, so an SSH session over this Wi-Fi is interrupted for \
            seconds only:

              altnet enable --trial 3min    goes back after 3 minutes, or after a power cut
              altnet enable --confirm       within this time: altnet stays enabled
              altnet disable                gives the interface back

            It also asks once which server the device should ask to check for internet access, and writes the answer \
            into the settings file. On a board with two radios, it also writes there which of them to use, by hardware \
            address or path, because the kernel may swap their names at a start.

            If something is in the way, or altnet would leave the network in use, nothing changes, and a line says \
            what to do.

            EXIT STATUS
              0   done
              1   refused: the user did not agree, altnet would leave the network in use, or no trial is running
              65  the key file is damaged or has no root key
              69  the agent does not answer
              74  a disk or a flash chip failed
              77  only root can do this
              78  something is in the way, or the agent's settings are invalid
            """)

    @OptionGroup var options: KeyFileOptions

    @Option(
        help: ArgumentHelp(
            "Go back after this time unless confirmed: 30s to 24h, such as 3min.",
            valueName: "time"))
    var trial: Trial?

    @Option(
        help: ArgumentHelp(
            "The server of the internet check: a URL such as http://HOST/PATH, debian or none (default: ask once).",
            valueName: "server"))
    var internetCheck: InternetCheck?

    @Flag(help: "Confirm the trial.")
    var confirm = false

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    @Flag(help: "Continue even if altnet would leave the network in use.")
    var force = false

    @Option(help: .hidden)
    var helper = InterfaceProgram.installed

    @Option(help: .hidden)
    var root: String?

    @Option(help: .hidden)
    var stateDir: String?

    func validate() throws {
        if confirm, trial != nil { throw ValidationError("--confirm and --trial exclude each other") }
        if confirm, internetCheck != nil { throw ValidationError("--confirm and --internet-check exclude each other") }
        if confirm, force { throw ValidationError("--confirm and --force exclude each other") }
        if options.json, !yes, !confirm { throw ValidationError("--json cannot ask: give --yes") }
    }

    func run() async throws { try await Console.run(json: options.json) { try await run($0) } }

    private func run(_ console: Console) async throws {
        guard root != nil || geteuid() == 0 else {
            throw CommandFailure(.notPermitted, "only root can take an interface over: run it with sudo")
        }
        let interface = InterfaceProgram(path: helper)
        if confirm {
            try interface.run("confirm")
            if options.json { return console.print(json: EnableReport(state: .enabled)) }
            return console.print("altnet stays enabled. 'altnet disable' gives the interface back.")
        }
        try interface.run("check")
        let done = try await importNetworks(console)
        if !options.json { console.print(done.view.outcome(isStored: done.isStored, isDryRun: false)) }
        if !force, let obstacle = Self.obstacle(lost: done.plan.lost) { throw obstacle }
        if let internetCheck {
            try internetCheck.store(in: options.settingsPath)
        } else if !yes {
            InternetCheck.ask(for: options.settingsPath, console)
        }
        // This step may cut the link and end this program. The service manager then completes the step.
        if let trial {
            if !options.json {
                console.print("Wi-Fi reconnects now. Run 'altnet enable --confirm' within \(trial) to keep altnet.")
            }
            try interface.run("trial", "\(trial.seconds)")
        } else {
            try interface.run("enable")
        }
        if options.json {
            return console.print(
                json: EnableReport(
                    state: trial == nil ? .enabled : .trial, trialSeconds: trial?.seconds, networks: ImportReport(done))
            )
        }
        console.print(
            trial.map {
                """
                altnet runs on trial. Confirm within \($0): sudo altnet enable --confirm
                Otherwise, or after a power cut, the board goes back to its previous setup.
                """
            } ?? "altnet is enabled and starts with the board. 'altnet disable' gives the interface back.")
    }

    private func importNetworks(_ console: Console) async throws -> ImportCommand.Done {
        var networks = try ImportCommand.parse(yes ? ["--yes"] : [])
        (networks.options, networks.root, networks.stateDir) = (options, root, stateDir)
        return try await networks.perform(console)
    }

    /// Returns the reason not to take the interface over; nil if there is none.
    /// - Parameter lost: connected networks that the device does not have.
    static func obstacle(lost: [SSID]) -> CommandFailure? {
        guard let ssid = lost.first else { return nil }
        return CommandFailure(
            .failed,
            "nothing was taken over: the board uses \(ssid), which altnet does not have and would leave. Store it "
                + "('altnet provision'), or give --force")
    }
}

struct DisableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Stop altnet and give the Wi-Fi interface back.",
        discussion: """
            The previous program takes the interface again, with its own settings. The stored networks stay. Also ends \
            a trial.

            EXIT STATUS
              0   done, also if altnet was not enabled
              77  only root can do this
              78  altnet's package is not installed
            """)

    @OptionGroup var local: LocalOptions

    @Flag(help: "Print JSON.")
    var json = false

    @Option(help: .hidden)
    var helper = InterfaceProgram.installed

    func run() throws {
        let console = Console.current
        do {
            guard helper != InterfaceProgram.installed || geteuid() == 0 else {
                throw CommandFailure(.notPermitted, "only root can give an interface back: run it with sudo")
            }
            try InterfaceProgram(path: helper).run("disable")
        } catch let failure as CommandFailure {
            return try console.report(failure, json: json)
        }
        if json { return console.print(json: EnableReport(state: .disabled)) }
        console.print("altnet is stopped, and the interface was given back.")
    }
}

struct Trial: ExpressibleByArgument, CustomStringConvertible, Equatable {
    let seconds: Int

    /// - Parameter argument: whole number with the unit `s`, `min` or `h`, 30 s to 24 h. The default unit is `s`.
    init?(argument: String) {
        let digits = argument.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let units = ["": 1, "s": 1, "min": 60, "h": 3600]
        guard let number = Int(String(digits) ?? ""), let unit = units[String(argument.dropFirst(digits.count))] else {
            return nil
        }
        let (seconds, isTooMuch) = number.multipliedReportingOverflow(by: unit)
        guard !isTooMuch, (30...86400).contains(seconds) else { return nil }
        self.seconds = seconds
    }

    var description: String { seconds % 60 == 0 ? "\(seconds / 60) min" : "\(seconds) s" }
}

/// The package's program that takes over the interface and gives it back (board/systemd/altnet-interface). The program
/// prints messages.
struct InterfaceProgram {
    static let installed = "/usr/lib/altnet/interface"

    let path: String

    /// - Throws: `CommandFailure` if the program fails or is missing.
    func run(_ arguments: String...) throws {
        let child: pid_t
        do throws(SystemError) {
            // Send its messages to standard error: standard output is for the result of this command.
            child = try ChildProcess.start(
                path, arguments, environment: ChildProcess.ownEnvironment, output: .descriptor(STDERR_FILENO))
        } catch {
            throw CommandFailure(.badSettings, "\(error): install altnet's package, which contains this program")
        }
        switch ChildProcess.wait(for: child) {
        case 0: return
        case ExitStatus.badSettings.rawValue:
            throw CommandFailure(.badSettings, "nothing was taken over: see the lines above")
        case let status:
            throw CommandFailure(.failed, "\(path.printable) \(arguments.joined(separator: " ")) ended with \(status)")
        }
    }
}

private struct EnableReport: Encodable {
    enum State: String, Encodable {
        case enabled, trial, disabled
    }

    let state: State
    var trialSeconds: Int?
    var networks: ImportReport?
}
