import AppClient
import AppProtocol
import ArgumentParser

struct HomeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "home", abstract: "Show and change the home network.",
        discussion: """
            The device prefers the network that it was last switched to (chosen), else the one that it was provisioned \
            with (home), and returns to it when it is back in range. Both stay stored, also if they are not in the \
            list of backups.
            """,
        subcommands: [Show.self, Replace.self, Forget.self], defaultSubcommand: Show.self)

    struct Show: DeviceCommand {
        static let configuration = CommandConfiguration(abstract: "Show the home network and the network last chosen.")

        @OptionGroup var connection: ConnectionOptions

        func run(_ device: DeviceClient, _ console: Console) async throws {
            try await device.requireHome()
            console.show(homeOf: try await device.backups(), connection)
        }
    }

    struct Replace: DeviceCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Make another network the device's home.",
            discussion: """
                Stores the network in place of the home and of the network last chosen. The device does not move now; \
                use 'altnet switch' for that:

                  altnet home set Attic
                  altnet home set --new HomeNet
                """)

        @OptionGroup var connection: ConnectionOptions

        @Argument(
            help: ArgumentHelp("A stored network's SSID or hash.", valueName: "network"), completion: .storedNetwork)
        var target: String?

        @Option(
            help: ArgumentHelp("Use a new network, with this SSID.", valueName: "ssid"), transform: SSIDArgument.init)
        var new: SSIDArgument?

        @OptionGroup var options: NewNetworkOptions

        func validate() throws {
            guard (target == nil) != (new == nil) else {
                throw ValidationError("name a stored network, or give --new with an SSID")
            }
            if new == nil, options.isGiven {
                throw ValidationError("--open, --hidden, --password-stdin, --eap, --address and options need --new")
            }
        }

        func run(_ device: DeviceClient, _ console: Console) async throws {
            try await device.requireHome()
            let home: NetworkReference
            if let new {
                try await options.requireFeatures(of: device)
                home = .new(try options.network(new.ssid, console))
            } else {
                home = .stored(try await device.backups().network(named: target ?? "").hash)
            }
            console.show(homeOf: try await device.changeHome(.replace(home)), connection)
        }
    }

    struct Forget: DeviceCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forget the home and the network last chosen.",
            discussion: "Also deletes their passwords, unless the networks are in the list of backups.")

        @OptionGroup var connection: ConnectionOptions

        func run(_ device: DeviceClient, _ console: Console) async throws {
            try await device.requireHome()
            console.show(homeOf: try await device.changeHome(.forget), connection)
        }
    }
}

extension DeviceClient {
    /// - Throws: `CommandFailure` if the device's agent does not support a home network.
    func requireHome() async throws {
        guard try await capabilities().features.contains("home") else {
            throw CommandFailure(
                .protocolMismatch, "nothing was changed: the device's agent cannot change its home, update it")
        }
    }

    /// Changes the home network and leaves the backups unchanged.
    func changeHome(_ home: HomeUpdate) async throws -> BackupList {
        try await changeBackups { BackupsUpdate(networks: $0.networks.map { .stored($0.hash) }, home: home) }
    }
}

extension Console {
    fileprivate func show(homeOf list: BackupList, _ connection: ConnectionOptions) {
        if connection.json { return print(json: HomeDocument(home: list.home, chosen: list.chosen)) }
        let lines = [list.chosen.map { "Chosen  \($0.ssid)" }, list.home.map { "Home    \($0.ssid)" }]
            .compactMap(\.self)
        print(lines.isEmpty ? "The device has no home network." : lines.joined(separator: "\n"))
    }
}

private struct HomeDocument: Encodable {
    let home: BackupNetwork?
    let chosen: BackupNetwork?
}
