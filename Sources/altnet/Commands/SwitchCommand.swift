import AgentModel
import AppClient
import AppProtocol
import ArgumentParser

struct SwitchCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "switch", abstract: "Move the device to another network.",
        discussion: """
            Joins a stored network, or with --new one that is not stored, and waits for the outcome. If the network \
            cannot be joined, the device returns to the one it came from, and the exit status is 1.

              altnet switch BackupNet
              altnet switch --new Attic
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: ArgumentHelp("A stored network's SSID or hash.", valueName: "network"))
    var target: String?

    @Option(help: ArgumentHelp("Join the network with this SSID, which is not stored.", valueName: "ssid"))
    var new: SSIDArgument?

    @OptionGroup var options: NewNetworkOptions

    @Flag(help: "Return once the device has accepted the command.")
    var noWait = false

    @Option(help: ArgumentHelp("How long to wait for the outcome.", valueName: "seconds"))
    var timeout = 120

    func validate() throws {
        guard (target == nil) != (new == nil) else {
            throw ValidationError("Name a stored network, or give --new with an SSID.")
        }
        if new == nil, options.isGiven {
            throw ValidationError("--open, --hidden and --password-stdin go with --new.")
        }
        guard (1...3600).contains(timeout) else { throw ValidationError("--timeout is 1 to 3600 seconds.") }
    }

    func run(_ device: DeviceClient, _ console: Console) async throws {
        let (reference, ssid) = try await network(device, console)
        if noWait {
            let status = try await device.switchNetwork(to: reference)
            return show(status, "The device will move to \(ssid); 'altnet status' shows where it is.", console)
        }
        let status = try await outcome(device, reference, console)
        guard status.phase == .committed else { throw try failure(status, ssid, console) }
        show(status, console.style.paint("Connected to \(ssid).", .green), console)
    }

    private func network(_ device: DeviceClient, _ console: Console) async throws -> (NetworkReference, SSID) {
        if let new { return (.new(try options.network(new.ssid, console)), new.ssid) }
        let stored = try await device.backups().network(named: target ?? "")
        return (.stored(stored.hash), stored.ssid)
    }

    private func outcome(_ device: DeviceClient, _ reference: NetworkReference, _ console: Console) async throws
        -> SwitchStatus
    {
        do {
            return try await device.switchNetwork(to: reference, within: .seconds(timeout)) { status in
                if !status.phase.isOutcome { console.progress("  \(Wording.phase(status.phase))...") }
            }
        } catch {
            guard error == .timedOut else { throw error }
            throw CommandFailure(
                .tryLater,
                "no outcome after \(timeout) s: the switch goes on, 'altnet status' shows where the device is")
        }
    }

    private func show(_ status: SwitchStatus, _ sentence: String, _ console: Console) {
        if connection.json {
            console.print(json: status)
        } else {
            console.print(sentence)
        }
    }

    /// With --json the outcome is the document, and only the exit status says that it is not the one hoped for.
    private func failure(_ status: SwitchStatus, _ ssid: SSID, _ console: Console) throws -> any Error {
        if connection.json {
            console.print(json: status)
            return ExitCode(ExitStatus.failed.rawValue)
        }
        let reason = status.text ?? "\(ssid): \(status.reason?.rawValue ?? "no reason was given")"
        return CommandFailure(.failed, "\(Wording.phase(status.phase)): \(reason)")
    }
}
