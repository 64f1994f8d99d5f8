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

            To change the network you are connected through, add --confirm-within: the device goes back by itself \
            unless you confirm the switch within that time after the new network is up. Log in over the new network \
            and confirm it with the identifier that was printed:

              altnet switch BackupNet --confirm-within 120
              altnet switch --confirm 5e1f09a3c2d4

            Where a cable or another uplink carries the device's traffic, Wi-Fi moves beside it, the traffic stays where it \
            is, and the command says so. To do this to a device in the network, give --beside-uplink.

            A device in the network (--device) is asked again, at the same address, when the switch ends the \
            connection; a name such as lamp.local follows it into its new network. Reaching it there confirms the switch.
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(
        help: ArgumentHelp("A stored network's SSID or hash.", valueName: "network"), completion: .storedNetwork)
    var target: String?

    @Option(help: ArgumentHelp("Join the network with this SSID, which is not stored.", valueName: "ssid"))
    var new: SSIDArgument?

    @OptionGroup var options: NewNetworkOptions

    @Flag(help: "Forget the network when the device leaves it or restarts.")
    var joinOnce = false

    @Flag(help: "Move Wi-Fi also where another uplink carries the traffic; always so on the device itself.")
    var besideUplink = false

    @Option(
        help: ArgumentHelp("Go back unless confirmed within this time after connecting (5-600).", valueName: "seconds"))
    var confirmWithin: Int?

    @Option(help: ArgumentHelp("Confirm the switch that waits for it.", valueName: "identifier"))
    var confirm: String?

    @Flag(help: "Return once the device has accepted the command.")
    var noWait = false

    @Option(
        help: ArgumentHelp(
            "How long to wait for the outcome (default: 120, and the time to confirm).", valueName: "seconds"))
    var timeout: Int?

    func validate() throws {
        if confirm != nil {
            guard target == nil, new == nil, !options.isGiven, !joinOnce, !besideUplink, confirmWithin == nil,
                timeout == nil, !noWait
            else {
                throw ValidationError("--confirm excludes all other options: it names the switch.")
            }
            return
        }
        guard (target == nil) != (new == nil) else {
            throw ValidationError("Name a stored network, or give --new with an SSID.")
        }
        if new == nil, options.isGiven {
            throw ValidationError("--open, --hidden, --password-stdin, --eap and --address go with --new.")
        }
        guard timeout.map((1...3600).contains) ?? true else {
            throw ValidationError("--timeout is 1 to 3600 seconds.")
        }
        guard confirmWithin.map(ProtocolLimits.confirmWithin.contains) ?? true else {
            throw ValidationError("--confirm-within is 5 to 600 seconds.")
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

    /// Whether to switch even if another uplink carries the traffic: always on the device itself.
    private func movesBeside(_ console: Console) throws -> Bool {
        try besideUplink || connection.device.address(console) == nil
    }

    /// End of a sentence if the traffic stays on another uplink.
    private func traffic(_ status: SwitchStatus) -> String {
        status.trafficOver.map { "; its traffic goes on over \(Wording.uplink($0))" } ?? ""
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
        // A command over the network proves that the new network works. The Unix socket proves nothing.
        let confirms = try confirmWithin != nil && connection.device.address(console) != nil
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
                    if !status.phase.isOutcome { progress.show(Wording.phase(status.phase)) }
                }
                return (status, progress.elapsed)
            }
        } catch ClientError.timedOut {
            throw CommandFailure(
                .tryLater,
                "no outcome after \(timeout) s: the switch goes on, 'altnet status' shows where the device is")
        }
    }

    private func instruction(_ status: SwitchStatus) -> [String] {
        confirmWithin.map {
            ["Within \($0) s of being connected, confirm it with: altnet switch --confirm \(status.switchId.printable)"]
        } ?? []
    }

    /// - Throws: `CommandFailure` if the confirmation came too late.
    private func confirmation(_ status: SwitchStatus, _ console: Console) throws -> String {
        switch status.phase {
        case .committed: "Confirmed: \(status.text?.printable ?? "the device stays where it is")."
        case .validating, .waitingForAddress:
            "Confirmed, but not over (\(Wording.phase(status.phase))): 'altnet status' shows where the device is."
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

    /// Returns the error for a failed switch. With --json the outcome is printed, and the exit status reports the
    /// failure.
    /// - Parameter sentence: used if the status has no text.
    private func failure(
        _ status: SwitchStatus, _ sentence: String, after elapsed: String? = nil, _ console: Console
    ) throws -> any Error {
        if connection.json {
            console.print(json: status)
            return ExitCode(ExitStatus.failed.rawValue)
        }
        let time = elapsed.map { " after \($0)" } ?? ""
        return CommandFailure(.failed, "\(Wording.phase(status.phase))\(time): \(status.text ?? sentence)")
    }
}
