import AgentModel
import AppClient
import AppProtocol
import ArgumentParser
import Terminal

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys", abstract: "Show, make and revoke the keys of the device's apps.",
        discussion: """
            Each app can have its own key, with a name, a role and an expiry time. Revoking a key ends the connections \
            of that app only.

              altnet keys                                          lists them
              altnet keys add "Anna's phone" --role manage         an invitation as a QR code, valid for 10 minutes
              altnet keys add "Panel" --lasting --output panel.key a key file for a program, valid until revoked
              altnet keys revoke "Anna's phone"

            The roles are see (read the state and events), switch (move the device, scan) and manage (everything).
            """,
        subcommands: [List.self, Add.self, Claim.self, Revoke.self], defaultSubcommand: List.self)

    struct List: DeviceCommand {
        static let configuration = CommandConfiguration(abstract: "Show the keys and the number of their connections.")

        @OptionGroup var connection: ConnectionOptions

        func run(_ device: DeviceClient, _ console: Console) async throws {
            try await device.requireKeys()
            console.show(try await device.keys(), connection)
        }
    }

    struct Add: DeviceCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a key for another app and show its pairing code.",
            discussion: """
                The code is an invitation: the first app that uses it gets its own key, and the code becomes invalid. \
                With --lasting, the code contains the key itself, for a program that cannot use an invitation. The \
                code is shown on a terminal only; use --output to write it elsewhere (- is standard output).
                """)

        @OptionGroup var connection: ConnectionOptions

        @Argument(help: ArgumentHelp("The app's name (default: the app chooses it).", valueName: "name"))
        var name: KeyName?

        @Option(help: ArgumentHelp("The app's role: see, switch or manage.", valueName: "role"))
        var role = Role.see

        @Option(help: ArgumentHelp("How long the key is valid, such as 30d, 12h, 90m or 3600s.", valueName: "time"))
        var expires: SpanArgument?

        @Option(help: ArgumentHelp("How long the invitation is valid (default: 10m).", valueName: "time"))
        var claimWithin: SpanArgument?

        @Flag(help: "Put the key itself into the code.")
        var lasting = false

        @Option(help: ArgumentHelp("Write the code to this file, readable by its owner only.", valueName: "path"))
        var output: String?

        @Flag(help: "Replace the file if it exists.")
        var force = false

        func validate() throws {
            if lasting, claimWithin != nil { throw ValidationError("--lasting and --claim-within exclude each other") }
            if lasting, name == nil { throw ValidationError("--lasting needs a name") }
            if force, output == nil || output == "-" { throw ValidationError("--force needs --output with a file") }
        }

        func run(_ device: DeviceClient, _ console: Console) async throws {
            try console.requirePlace(forCode: output)
            try await device.requireKeys()
            let handout = try await device.addKey(
                KeyRequest(
                    name: name, role: role, expiresIn: expires?.seconds,
                    claimWithin: lasting ? nil : claimWithin?.seconds ?? 600))
            try console.present(handout, to: output, replacing: force, json: connection.json)
        }
    }

    struct Claim: DeviceCommand {
        static let configuration = CommandConfiguration(
            abstract: "Use an invitation to get a key for this program.",
            discussion: """
                The file of --key-file contains an invitation, made by 'altnet keys add'. This command writes the new \
                key to the file of --output, and the invitation becomes invalid.

                  altnet keys claim --device lamp.local --key-file invitation --output lamp.key
                """)

        @OptionGroup var connection: ConnectionOptions

        @Option(
            help: ArgumentHelp("This program's name, if the invitation has none.", valueName: "name"))
        var name: KeyName?

        @Option(help: ArgumentHelp("Write the code to this file, readable by its owner only.", valueName: "path"))
        var output: String?

        @Flag(help: "Replace the file if it exists.")
        var force = false

        func run(_ device: DeviceClient, _ console: Console) async throws {
            try console.requirePlace(forCode: output)
            let handout = try await device.claimKey(as: name)
            try console.present(handout, to: output, replacing: force, json: connection.json)
        }
    }

    struct Revoke: DeviceCommand {
        static let configuration = CommandConfiguration(
            abstract: "Revoke an app's key and end its connections.",
            discussion: "Also revokes an invitation. The owner's key cannot be revoked.")

        @OptionGroup var connection: ConnectionOptions

        @Argument(help: ArgumentHelp("The key's name.", valueName: "name"))
        var name: KeyName

        func run(_ device: DeviceClient, _ console: Console) async throws {
            try await device.requireKeys()
            let report = try await device.revokeKey(name)
            if connection.json { return console.print(json: report) }
            console.print("The key \(name.text.printable) is revoked.")
        }
    }
}

extension Role: ExpressibleByArgument {}

extension KeyName: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}

/// A time span as an argument: `30d`, `12h`, `90m`, `3600s` or `3600`, at least 1 s.
struct SpanArgument: ExpressibleByArgument {
    let seconds: Int

    init?(argument: String) {
        let units = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        let rest = String(argument.dropFirst(digits.count))
        guard let count = Int(digits), let unit = rest.isEmpty ? 1 : units[rest] else { return nil }
        let (seconds, isTooLong) = count.multipliedReportingOverflow(by: unit)
        guard !isTooLong, seconds > 0 else { return nil }
        self.seconds = seconds
    }
}

extension DeviceClient {
    /// - Throws: `CommandFailure` if the device's agent supports the owner's key only.
    fileprivate func requireKeys() async throws {
        guard try await capabilities().features.contains("keys") else {
            throw CommandFailure(.protocolMismatch, "the device's agent supports only the owner's key: update it")
        }
    }
}

extension Console {
    /// - Throws: `CommandFailure` if `output` is nil and standard output is not a terminal.
    func requirePlace(forCode output: String?) throws {
        guard style.goesToTerminal || output != nil else {
            throw CommandFailure(
                .badData,
                "the code contains a key, and standard output is not a terminal: give --output (- is standard output)"
            )
        }
    }

    func present(_ handout: KeyHandout, to output: String?, replacing: Bool, json: Bool) throws {
        let file = output == "-" ? nil : output
        if let file { try handout.code.write(to: file, replacing: replacing) }
        if json {
            return print(
                json: HandoutDocument(key: handout.key, code: file == nil ? handout.code.uri() : nil, file: file))
        }
        if let file {
            print("The key \(handout.key.name.text.printable) is in \(file.printable).")
        } else {
            try handout.code.present(self)
        }
        if let seconds = handout.key.claimableFor {
            let span = Age.duration(milliseconds: Int64(seconds) * 1000) ?? "0 s"
            advise("This code is valid for one app, for \(span).")
        }
    }

    fileprivate func show(_ report: AppKeyReport, _ connection: ConnectionOptions) {
        if connection.json { return print(json: report) }
        print(KeysView(report: report, now: now()).render(style))
    }
}

private struct HandoutDocument: Encodable {
    let key: AppKeyStatus
    /// Code of the key; missing if it was written to a file.
    let code: String?
    let file: String?
}

struct KeysView {
    let report: AppKeyReport
    let now: Timestamp

    func render(_ style: Style) -> String {
        var table = Table(columns: [
            .init(title: "NAME", minimum: 12), .init(title: "ROLE"), .init(title: "STATE"),
            .init(title: "CONNECTED", isRightAligned: true, rank: 1), .init(title: "VALID FOR", rank: 0),
        ])
        table.rows = report.keys.map { key in
            [
                .init(key.name.text.printable), .init(key.role.rawValue),
                .init(key.state.rawValue.printable, key.state == .valid ? .green : .yellow),
                .init(String(key.sessions)), .init(span(key)),
            ]
        }
        return table.render(style)
    }

    private func span(_ key: AppKeyStatus) -> String {
        let milliseconds =
            key.claimableFor.map { Int64($0) * 1000 }
            ?? key.expires.map { $0.millisecondsSince1970 - now.millisecondsSince1970 }
        guard let milliseconds else { return key.state == .valid ? "always" : "-" }
        return Age.duration(milliseconds: milliseconds) ?? "-"
    }
}
