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
              altnet switch --new Cafe --open --join-once
              altnet switch --new Lab --address 10.1.2.3/16 --gateway 10.1.0.1

            To change the network that you are connected through, add --confirm-within: the device goes back unless \
            you confirm the switch within this time after it has connected. Log in over the new network and confirm \
            with the printed identifier:

              altnet switch BackupNet --confirm-within 120
              altnet switch --confirm 5e1f09a3c2d4

            If a cable or another uplink carries the device's traffic, only Wi-Fi switches and the traffic stays. From \
            another machine, this needs --beside-uplink.

            With --device, the command reconnects to the same address after the switch; a name such as lamp.local also \
            works in the new network. Reaching the device there confirms the switch.
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(
        help: ArgumentHelp("A stored network's SSID or hash.", valueName: "network"), completion: .storedNetwork)
    var target: String?

    @Option(
        help: ArgumentHelp("Join a new network, with this SSID.", valueName: "ssid"), transform: SSIDArgument.init)
    var new: SSIDArgument?

    @OptionGroup var options: NewNetworkOptions

    @Flag(help: "Forget the network when the device leaves it or restarts.")
    var joinOnce = false

    @Flag(help: "Switch even if another uplink carries the traffic. Implied on the device itself.")
    var besideUplink = false

    @Option(
        help: ArgumentHelp(
            "Go back unless confirmed within this time after connecting, 5 to 600.", valueName: "seconds"))
    var confirmWithin: Int?

    @Option(help: ArgumentHelp("Confirm the switch with this identifier.", valueName: "identifier"))
    var confirm: String?

    @Flag(help: "Return as soon as the device has accepted the command.")
    var noWait = false

    @Option(
        help: ArgumentHelp(
            "How long to wait for the outcome (default: 120, plus the time to confirm).", valueName: "seconds"))
    var timeout: Int?

    func validate() throws {
        if confirm != nil {
            guard target == nil, new == nil, !options.isGiven, !joinOnce, !besideUplink, confirmWithin == nil,
                timeout == nil, !noWait
            else {
                throw ValidationError("--confirm excludes all other options")
            }
            return
        }
        guard (target == nil) != (new == nil) else {
            throw ValidationError("name a stored network, or give --new with an SSID")
        }
        if new == nil, options.isGiven {
            throw ValidationError("--open, --hidden, --password-stdin, --eap, --address and options need --new")
        }
        guard timeout.map((1...3600).contains) ?? true else {
            throw ValidationError("--timeout must be 1 to 3600 seconds")
        }
        guard confirmWithin.map(ProtocolLimits.confirmWithin.contains) ?? true else {
            throw ValidationError("--confirm-within must be 5 to 600 seconds")
        }
    }

    func run(_ device: DeviceClient, _ console: Console) async throws {
        if let confirm {
            let status = try await device.confirmSwitch(confirm)
            return show(status, try confirmation(status, console), console)
        }
        let (reference, ssid) = try await network(device, console)
        if noWait {
            let status = try await device.switchNetwork(
                to: reference, confirmWithin: confirmWithin, joinOnce: joinOnce, besideUplink: movesBeside(console))
            let sentence =
                "The device will move to \(ssid)\(traffic(status)); 'altnet status' shows where it is."
            return show(status, ([sentence] + instruction(status)).joined(separator: "\n"), console)
        }
        let (status, elapsed) = try await outcome(device, reference, console)
        guard status.phase == .committed else {
            let sentence = "\(ssid): \(status.reason?.rawValue ?? "no reason was given")"
            throw try failure(status, sentence, after: elapsed, console)
        }
        show(status, console.style.paint("Connected to \(ssid) in \(elapsed)\(traffic(status)).", .green), console)
    }

    /// Whether to switch even if another uplink carries the traffic. Always true on the device itself.
    private func movesBeside(_ console: Console) throws -> Bool {
        try besideUplink || !connection.device.isRemote(console)
    }

    /// Returns the end of a sentence about the uplink on which the traffic stays; empty if the traffic moves.
    private func traffic(_ status: SwitchStatus) -> String {
        status.trafficOver.map { "; its traffic stays on \(DisplayText.uplink($0))" } ?? ""
    }

    private func network(_ device: DeviceClient, _ console: Console) async throws -> (NetworkReference, SSID) {
        if let new {
            try await options.requireFeatures(of: device)
            return (.new(try options.network(new.ssid, console)), new.ssid)
        }
        let stored = try await device.backups().network(named: target ?? "")
        return (.stored(stored.hash), stored.ssid)
    }

    private func outcome(_ device: DeviceClient, _ reference: NetworkReference, _ console: Console) async throws
        -> (status: SwitchStatus, elapsed: String)
    {
        let timeout = timeout ?? 120 + (confirmWithin ?? 0)
        // A command over the network proves that the new network works, unlike a command over the Unix socket.
        let confirms = try confirmWithin != nil && connection.device.isRemote(console)
        let movesBeside = try movesBeside(console)
        do {
            return try await console.showingProgress { progress in
                let status = try await device.switchNetwork(
                    to: reference, confirmWithin: confirmWithin, confirms: confirms, joinOnce: joinOnce,
                    besideUplink: movesBeside, within: .seconds(timeout)
                ) { status in
                    // Advise before the network changes: the terminal may be lost afterwards.
                    if status.phase == .accepted, !confirms {
                        for line in instruction(status) { progress.advise(line) }
                    }
                    if !status.phase.isOutcome { progress.show(DisplayText.phase(status.phase)) }
                }
                return (status, progress.elapsed)
            }
        } catch ClientError.timedOut {
            throw CommandFailure(
                .tryLater,
                "no outcome after \(timeout) s: the switch continues, 'altnet status' shows the result")
        }
    }

    private func instruction(_ status: SwitchStatus) -> [String] {
        confirmWithin.map {
            ["Confirm within \($0) s after connecting: altnet switch --confirm \(status.switchId.printable)"]
        } ?? []
    }

    /// - Throws: `CommandFailure` if the confirmation was too late.
    private func confirmation(_ status: SwitchStatus, _ console: Console) throws -> String {
        switch status.phase {
        case .committed: "Confirmed: \(status.text?.printable ?? "the device stays where it is")."
        case .validating, .waitingForAddress:
            "Confirmed, but still in progress (\(DisplayText.phase(status.phase))): see 'altnet status'."
        case .accepted, .joining, .waitingForConfirmation, .rolledBack, .failed:
            throw try failure(status, "the switch was not confirmed in time", console)
        }
    }

    private func show(_ status: SwitchStatus, _ sentence: String, _ console: Console) {
        if connection.json {
            console.print(json: status)
        } else {
            console.print(sentence)
        }
    }

    /// Returns the error for a failed switch. With `--json`, prints the status and returns only an exit status.
    /// - Parameter sentence: message if the status has no text.
    private func failure(
        _ status: SwitchStatus, _ sentence: String, after elapsed: String? = nil, _ console: Console
    ) throws -> any Error {
        if connection.json {
            console.print(json: status)
            return ExitCode(ExitStatus.failed.rawValue)
        }
        let time = elapsed.map { " after \($0)" } ?? ""
        return CommandFailure(.failed, "\(DisplayText.phase(status.phase))\(time): \(status.text ?? sentence)")
    }
}
