import AgentModel
import AppClient
import AppProtocol
import ArgumentParser
import Terminal

struct BackupsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backups", abstract: "List and change the stored backup networks.",
        subcommands: [
            List.self, Add.self, SetAddress.self, SetOptions.self, Remove.self, Replace.self, Stage.self, Drop.self,
        ], defaultSubcommand: List.self)

    struct List: DeviceCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the stored networks.",
            discussion: "Passwords are never shown: they do not leave the device.")

        @OptionGroup var connection: ConnectionOptions

        func run(_ device: DeviceClient, _ console: Console) async throws {
            console.show(try await device.backups(), connection)
        }
    }

    struct Add: DeviceCommand {
        static let configuration = CommandConfiguration(
            abstract: "Store one more network, or a new password for a stored one.",
            discussion: """
                Asks for the password without showing it, or reads it from standard input:

                  altnet backups add Attic
                  altnet backups add Attic --address 10.1.0.20/16 --gateway 10.1.0.1
                  altnet backups add Works --eap peap --identity kiosk7 --ca-cert authority.pem
                  pass show wifi/attic | altnet backups add Attic --password-stdin
                """)

        @OptionGroup var connection: ConnectionOptions

        @Argument(help: ArgumentHelp("The network's SSID.", valueName: "ssid"), transform: SSIDArgument.init)
        var ssid: SSIDArgument

        @OptionGroup var options: NewNetworkOptions

        func run(_ device: DeviceClient, _ console: Console) async throws {
            try await options.requireFeatures(of: device)
            let network = try options.network(ssid.ssid, console)
            let list = try await device.changeBackups { list in
                let others = list.networks.filter { $0.ssid != network.ssid }
                return BackupsUpdate(networks: others.map { .stored($0.hash) } + [.new(network)])
            }
            console.show(list, connection)
        }
    }

    struct SetAddress: DeviceCommand {
        static let configuration = CommandConfiguration(
            commandName: "set-address", abstract: "Set a static address for a stored network.",
            discussion: """
                Replaces the device's address, gateway and name servers in this network. With --dhcp, the device uses \
                DHCP again; with --slaac, only the IPv6 addresses that routers announce. --dns belongs to the IPv4 \
                address if --address is given, else to the IPv6 address:

                  altnet backups set-address Attic --address 10.1.0.20/16 --gateway 10.1.0.1
                  altnet backups set-address Attic --dhcp
                  altnet backups set-address Attic --ipv6 2001:db8::20/64 --ipv6-gateway fe80::1
                """)

        @OptionGroup var connection: ConnectionOptions

        @Argument(
            help: ArgumentHelp("The network's SSID or hash.", valueName: "network"), completion: .storedNetwork)
        var target: String

        @OptionGroup var fixed: StaticAddressOptions

        @Flag(help: "Use DHCP.")
        var dhcp = false

        @Flag(help: "Use no static IPv6 address.")
        var slaac = false

        func validate() throws {
            if dhcp, fixed.address != nil { throw ValidationError("--dhcp and --address exclude each other") }
            if slaac, fixed.ipv6 != nil { throw ValidationError("--slaac and --ipv6 exclude each other") }
            guard dhcp || slaac || fixed.isGiven else {
                throw ValidationError("give --address, --dhcp, --ipv6 or --slaac")
            }
        }

        func run(_ device: DeviceClient, _ console: Console) async throws {
            let addressing = try fixed.staticAddress.map { Addressing.fixed($0) } ?? (dhcp ? .dhcp : nil)
            let ipv6 = try fixed.staticIPv6Address.map { NetworkOptions.Setting.to($0) } ?? (slaac ? .unset : nil)
            if addressing != nil { try await device.requireStaticAddresses() }
            if ipv6 != nil { try await device.requireOptions() }
            let list = try await device.changeBackups { list throws(CommandFailure) in
                let target = try list.network(named: target).hash
                return BackupsUpdate(
                    networks: list.networks.map { .stored($0.hash) },
                    addressing: addressing.map { [target: $0] } ?? [:],
                    options: ipv6.map { [target: .init(ipv6: $0)] } ?? [:])
            }
            console.show(list, connection)
        }
    }

    struct SetOptions: DeviceCommand {
        static let configuration = CommandConfiguration(
            commandName: "set-options", abstract: "Set options of a stored network, such as its band.",
            discussion: """
                An option that is not given stays as it is. With --no-automatic, the device joins a backup network only \
                by 'altnet switch'. With --band and --bssid, it does not join the network where only other access \
                points are in range:

                  altnet backups set-options Attic --allow-tkip
                  altnet backups set-options Phone --no-automatic --metered yes
                  altnet backups set-options Attic --band 5
                  altnet backups set-options Attic --band any --bssid 02:00:00:00:01:00
                """)

        @OptionGroup var connection: ConnectionOptions

        @Argument(
            help: ArgumentHelp("The network's SSID or hash.", valueName: "network"), completion: .storedNetwork)
        var target: String

        @OptionGroup var choices: OwnerOptions

        func validate() throws {
            guard !choices.change.isEmpty else {
                throw ValidationError("give an option to change, such as --allow-tkip, --no-automatic or --band 5")
            }
        }

        func run(_ device: DeviceClient, _ console: Console) async throws {
            try await device.requireOptions()
            let list = try await device.changeBackups { list throws(CommandFailure) in
                let target = try list.network(named: target).hash
                return BackupsUpdate(
                    networks: list.networks.map { .stored($0.hash) }, options: [target: choices.change])
            }
            console.show(list, connection)
        }
    }

    struct Remove: DeviceCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a network from the list of backups.",
            discussion: "The home network stays stored: see 'altnet home'.")

        @OptionGroup var connection: ConnectionOptions

        @Argument(
            help: ArgumentHelp("The network's SSID or hash.", valueName: "network"), completion: .storedNetwork)
        var target: String

        func run(_ device: DeviceClient, _ console: Console) async throws {
            let list = try await device.changeBackups { list throws(CommandFailure) in
                let removed = try list.network(named: target).hash
                return BackupsUpdate(networks: list.networks.filter { $0.hash != removed }.map { .stored($0.hash) })
            }
            console.show(list, connection)
        }
    }

    struct Stage: DeviceCommand {
        static let configuration = CommandConfiguration(
            abstract: "Store a new password beside the current one of a stored network.",
            discussion: """
                Use this when a network's password changes. The device keeps both passwords and uses the one that the \
                network accepts. When the network accepts the new one, the device forgets the old one. Repeating the \
                command with the same name changes nothing:

                  altnet backups stage HomeNet --change 2026-12 --keep-for 604800
                  altnet backups drop 2026-12
                """)

        @OptionGroup var connection: ConnectionOptions

        @Argument(help: ArgumentHelp("The network's SSID.", valueName: "ssid"), transform: SSIDArgument.init)
        var ssid: SSIDArgument

        @Option(help: ArgumentHelp("A name for this change, 1 to 64 bytes.", valueName: "name"))
        var change: String

        @Option(
            help: ArgumentHelp(
                "Forget the new password if it has not worked within this time (default: never).",
                valueName: "seconds"))
        var keepFor: Int?

        @Flag(help: "Read the password from the first line of standard input instead of asking for it.")
        var passwordStdin = false

        func validate() throws {
            guard ProtocolLimits.changeIdLength.contains(change.utf8.count) else {
                throw ValidationError("--change must have 1 to \(ProtocolLimits.changeIdLength.upperBound) bytes")
            }
            if let keepFor, !ProtocolLimits.keepFor.contains(keepFor) {
                let range = ProtocolLimits.keepFor
                throw ValidationError("--keep-for must be \(range.lowerBound) to \(range.upperBound) seconds")
            }
        }

        func run(_ device: DeviceClient, _ console: Console) async throws {
            guard try await device.capabilities().features.contains("stage") else {
                throw CommandFailure(
                    .protocolMismatch,
                    "nothing was changed: the device's agent does not support a second password, update it")
            }
            let password = try console.password(for: ssid.ssid, fromInput: passwordStdin)
            let list = try await device.stagePassword(
                password, of: ssid.ssid, changeId: change, keepFor: keepFor)
            console.show(list, connection)
        }
    }

    struct Drop: DeviceCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a new password that the network has not accepted yet.")

        @OptionGroup var connection: ConnectionOptions

        @Argument(help: ArgumentHelp("The name given with --change.", valueName: "name"))
        var change: String

        func run(_ device: DeviceClient, _ console: Console) async throws {
            console.show(try await device.dropPassword(change), connection)
        }
    }

    struct Replace: DeviceCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Replace the whole list at once.",
            discussion: """
                Keeps exactly the networks named, in this order, and forgets the others. With --stdin, the list is the \
                body of the protocol's backups.update, which can contain new networks:

                  altnet backups set Attic BackupNet
                  altnet backups set --none
                  echo '{"networks":[{"ssid":"Cafe","security":"open"}]}' | altnet backups set --stdin

                Either the whole list is stored, or nothing changes. The home network always stays stored: 'altnet \
                home' shows it, 'altnet home forget' forgets it.
                """)

        @OptionGroup var connection: ConnectionOptions

        @Argument(
            help: ArgumentHelp("The networks to keep, by SSID or hash.", valueName: "network"),
            completion: .storedNetwork)
        var targets: [String] = []

        @Flag(help: "Read the list as JSON from standard input.")
        var stdin = false

        @Flag(help: "Empty the list.")
        var none = false

        func validate() throws {
            guard [!targets.isEmpty, stdin, none].count(where: \.self) == 1 else {
                throw ValidationError("name the networks to keep, or give --stdin or --none")
            }
        }

        func run(_ device: DeviceClient, _ console: Console) async throws {
            let list: BackupList
            if stdin {
                let update = try Self.parse(try console.input(ProtocolLimits.lineLength))
                if update.home != nil { try await device.requireHome() }
                if update.saysAddresses { try await device.requireStaticAddresses() }
                if update.saysOptions { try await device.requireOptions() }
                list = try await device.updateBackups(
                    update.networks, ifRevision: update.ifRevision, addressing: update.addressing,
                    options: update.options, home: update.home)
            } else {
                list = try await device.changeBackups { list throws(CommandFailure) in
                    BackupsUpdate(
                        networks: try targets.map { name throws(CommandFailure) in
                            .stored(try list.network(named: name).hash)
                        })
                }
            }
            console.show(list, connection)
        }

        /// Parses the update with the protocol's reader, so that errors are found before anything is sent.
        private static func parse(_ body: [UInt8]) throws -> BackupsUpdate {
            let line = Array(#"{"v":1,"id":"0","type":"backups.update","body":"#.utf8) + body + [UInt8(ascii: "}")]
            do {
                guard case .device(.updateBackups(let update)) = try Request(line: line).content else {
                    throw CommandFailure(.badData, "standard input is not a list of networks")
                }
                return update
            } catch let rejected as RejectedRequest {
                throw CommandFailure(ClientError.refused(rejected.error))
            }
        }
    }
}

extension BackupsUpdate {
    fileprivate var saysAddresses: Bool {
        !addressing.isEmpty
            || networks.contains { if case .new(let network) = $0 { network.address != nil } else { false } }
    }

    fileprivate var saysOptions: Bool {
        !options.isEmpty
            || networks.contains { if case .new(let network) = $0 { !network.options.isEmpty } else { false } }
    }
}

extension DeviceClient {
    /// Reads, changes and writes the list. Tries up to three times if another client changes the list meanwhile.
    func changeBackups(
        _ change: (BackupList) throws(CommandFailure) -> BackupsUpdate
    ) async throws -> BackupList {
        var attempts = 3
        while true {
            attempts -= 1
            let list = try await backups()
            do {
                let update = try change(list)
                return try await updateBackups(
                    update.networks, ifRevision: list.revision, addressing: update.addressing,
                    options: update.options, home: update.home)
            } catch ClientError.refused(let error) where error.code == .revisionConflict && attempts > 0 {
                continue
            }
        }
    }
}

extension Console {
    fileprivate func show(_ list: BackupList, _ connection: ConnectionOptions) {
        if connection.json {
            print(json: list)
        } else {
            print(BackupsView(list: list, now: now()).render(style))
        }
    }
}

struct BackupsView {
    let list: BackupList
    let now: Timestamp

    func render(_ style: Style) -> String {
        let belongs = list.preferred.map { "; preferred: \($0.ssid)" } ?? ""
        let staged = list.staged.map { "\n" + style.paint(DisplayText.staged($0, now: now), .dim) }.joined()
        let summary = style.paint("\(list.networks.count) of \(list.max) stored\(belongs)", .dim) + staged
        guard !list.networks.isEmpty else { return summary }
        var columns: [Table.Column] = [
            .init(title: "SSID", minimum: 12), .init(title: "HASH"), .init(title: "SECURITY", minimum: 6, rank: 2),
            .init(title: "HIDDEN", rank: 1),
        ]
        if hasAddresses { columns.append(.init(title: "ADDRESS", rank: 5)) }
        if hasOptions { columns.append(.init(title: "OPTIONS", rank: 6)) }
        columns += [
            .init(title: "LAST SEEN", minimum: 10, rank: 3), .init(title: "LAST FAILURE", minimum: 8, rank: 4),
        ]
        var table = Table(columns: columns)
        table.rows = list.networks.map(row)
        return table.render(style) + "\n" + summary
    }

    /// Whether any network has a static address. If not, the column is left out.
    private var hasAddresses: Bool { list.networks.contains { $0.address != nil } }

    /// Whether any network has an option. If not, the column is left out.
    private var hasOptions: Bool { list.networks.contains { !$0.options.isEmpty } }

    private func row(_ network: BackupNetwork) -> [Table.Cell] {
        let seen = network.lastSeen.map { seen in
            let signal = network.lastSignal.map { "\($0) dBm, " } ?? ""
            return signal + DisplayText.ago(seen, now: now)
        }
        let address: [Table.Cell] = hasAddresses ? [.init(network.address?.text ?? "by DHCP")] : []
        return [
            .init(network.ssid.description), .init(String(network.hash.base64.prefix(8)), .dim),
            .init(DisplayText.security(network.security)), .init(network.isHidden ? "yes" : ""),
        ] + address + (hasOptions ? [.init(DisplayText.options(network.options))] : []) + [
            .init(seen ?? "never"), .init(network.lastFailure.map(DisplayText.failure) ?? "", .red),
        ]
    }
}
