import AgentModel
import AppClient
import AppProtocol
import ArgumentParser
import Terminal

struct PortalCommand: DeviceCommand {
    static let configuration = CommandConfiguration(
        commandName: "portal", abstract: "Sign the device in to a network with a login page.",
        discussion: """
            Shows the state of the sign-in. If a sign-in needs input, such as a room number, this command asks for it \
            on the terminal, without showing passwords.

              altnet portal
              altnet portal --answer room=214 --answer terms=true --password-stdin
              altnet portal --cancel
              altnet portal --providers
              altnet portal --off click-through

            Answer a checkbox with true or false. Passwords are never arguments: with --password-stdin, each password \
            field takes one line of standard input, in order. 'altnet status' shows the outcome.
            """)

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("Answer a field, but not a password.", valueName: "name=value"))
    var answer: [PortalFieldArgument] = []

    @Flag(help: "Read the passwords from standard input, one per line.")
    var passwordStdin = false

    @Flag(help: "Cancel the request.")
    var cancel = false

    @Flag(help: "List the hotspot providers and show which are enabled.")
    var providers = false

    @Option(help: ArgumentHelp("Disable this hotspot provider.", valueName: "provider"))
    var off: String?

    @Option(help: ArgumentHelp("Enable this hotspot provider.", valueName: "provider"))
    var on: String?

    func validate() throws {
        let choices = [providers, off != nil, on != nil, cancel || isAnswered]
        guard choices.count(where: \.self) <= 1 else {
            throw ValidationError("give only one of --providers, --off and --on, without an answer")
        }
        if cancel, isAnswered { throw ValidationError("--cancel excludes --answer and --password-stdin") }
        guard Set(answer.map(\.name)).count == answer.count else {
            throw ValidationError("give --answer once for each field")
        }
    }

    private var isAnswered: Bool { !answer.isEmpty || passwordStdin }

    func run(_ device: DeviceClient, _ console: Console) async throws {
        if providers || off != nil || on != nil { return try await runProviders(device, console) }
        let status = try await device.portal()
        guard let request = status.request else {
            guard !isAnswered, !cancel else { throw CommandFailure(.failed, "no sign-in request is open") }
            return show(status, PortalView.status(status), console)
        }
        if cancel {
            let after = try await device.answerPortal(PortalAnswer(id: request.id, values: nil))
            return show(after, "The request was cancelled.", console)
        }
        if connection.json, !isAnswered { return console.print(json: status) }
        if !connection.json { console.print(PortalView.request(request, console.style)) }
        let values = isAnswered ? try given(request, console) : try asked(request, console)
        let after = try await device.answerPortal(PortalAnswer(id: request.id, values: values))
        show(after, "Answer sent; 'altnet status' shows the outcome.", console)
    }

    private func runProviders(_ device: DeviceClient, _ console: Console) async throws {
        let list =
            if let name = off ?? on {
                try await device.setProvider(name, on: on != nil)
            } else {
                try await device.providers()
            }
        if connection.json { return console.print(json: list) }
        guard !list.providers.isEmpty else { return console.print("There are no hotspot providers.") }
        console.print(
            list.providers.map { "\($0.name.printable) \($0.isOn ? "on" : "off")" }.joined(separator: "\n"))
    }

    private func show(_ status: PortalStatus, _ sentence: String, _ console: Console) {
        if connection.json {
            console.print(json: status)
        } else {
            console.print(sentence)
        }
    }

    /// Returns the answers from arguments and standard input. The device checks them.
    private func given(_ request: PortalRequest, _ console: Console) throws -> [String: Secret] {
        let passwords = request.fields.filter { $0.kind == .password }
        if let field = passwords.first(where: { field in answer.contains { $0.name == field.name } }) {
            throw CommandFailure(
                .badData, "a password cannot be an argument, give it with --password-stdin: \(field.name.printable)")
        }
        var values = Dictionary(uniqueKeysWithValues: answer.map { ($0.name, Secret(text: $0.value)) })
        if passwordStdin {
            let input = try console.input(ProtocolLimits.portalFields * (ProtocolLimits.portalValueLength + 2))
            for (field, line) in zip(passwords, input.lines) { values[field.name] = Secret(line) }
        }
        return values
    }

    private func asked(_ request: PortalRequest, _ console: Console) throws -> [String: Secret] {
        var values: [String: Secret] = [:]
        if request.fields.isEmpty, request.url != nil {
            _ = try console.askText("Press Enter when you have finished there: ")
        }
        for field in request.fields {
            let label = (field.label.isEmpty ? field.name : field.label).printable
            let optional = field.isRequired ? "" : " (optional)"
            let value =
                switch field.kind {
                case .text: Secret(text: try console.askText("\(label)\(optional): "))
                case .password: try console.askPassword("\(label)\(optional): ")
                case .checkbox: try checkbox(label, console)
                }
            guard !field.isRequired || (value.count > 0 && value != Self.unchecked) else {
                throw CommandFailure(.badData, "the sign-in needs an answer: \(label)")
            }
            if value.count > 0 { values[field.name] = value }
        }
        return values
    }

    private func checkbox(_ label: String, _ console: Console) throws -> Secret {
        let answer = try console.askText("\(label) [y/N]: ").lowercased()
        return ["y", "yes"].contains(answer) ? Self.checked : Self.unchecked
    }

    private static let checked = Secret(text: "true")
    private static let unchecked = Secret(text: "false")
}

/// A form field with its value, such as `room=214`.
struct PortalFieldArgument: ExpressibleByArgument, Sendable {
    let name: String
    let value: String

    init?(argument: String) {
        guard let equals = argument.firstIndex(of: "=") else { return nil }
        name = String(argument[..<equals])
        value = String(argument[equals...].dropFirst())
        guard ProtocolLimits.portalNameLength.contains(name.utf8.count),
            value.utf8.count <= ProtocolLimits.portalValueLength
        else { return nil }
    }
}

extension [UInt8] {
    fileprivate var lines: [[UInt8]] {
        split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
            Array(line.last == UInt8(ascii: "\r") ? line.dropLast() : line)
        }
    }
}

enum PortalView {
    static func status(_ status: PortalStatus) -> String {
        guard let portal = status.portal else { return "This network needs no sign-in." }
        let provider = portal.provider.map { " with \($0.printable)" } ?? ""
        let problem = status.problem.map { " The sign-in failed: \($0.printable)." } ?? ""
        let page = portal.url.map { " Open this page in a browser: \($0.printable)" } ?? ""
        return switch portal.state {
        case .inactive, .presentingUI: "This network needs a sign-in.\(problem)\(page)"
        case .evaluating: "The device is searching for a hotspot provider that knows this network."
        case .authenticating: "The device is signing in\(provider)."
        case .authenticated where portal.isUnclaimed:
            "No hotspot provider claims this network, so it is used as it is.\(problem)"
        case .authenticated, .maintaining:
            "The device is signed in\(provider)\(ConnectivityDisplayText.rest(of: portal))."
        }
    }

    static func request(_ request: PortalRequest, _ style: Style) -> String {
        let words = [request.title] + request.message.split(whereSeparator: \.isNewline).map(String.init)
        let open = request.fields.isEmpty ? "Open" : "Or open"
        let url = request.url.map { ["\(open) this page in a browser: \($0.printable)"] } ?? []
        let asking = style.heading("\(request.provider.printable) asks for \(request.network.ssid):")
        return ([asking] + (words.map(\.printable) + url).map { "  " + $0 }).joined(separator: "\n")
    }
}
