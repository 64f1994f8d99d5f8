import AgentModel
import AppClient
import AppProtocol
import ArgumentParser

struct NewNetworkOptions: ParsableArguments {
    @Flag(help: "The network has no password.")
    var open = false

    @Flag(help: "Join only with WPA3; the password has 1 to 128 bytes.")
    var wpa3 = false

    @Flag(help: "The network is hidden.")
    var hidden = false

    @Flag(help: "Read the password from the first line of standard input instead of asking for it.")
    var passwordStdin = false

    @OptionGroup var enterprise: EnterpriseOptions

    @OptionGroup var fixed: StaticAddressOptions

    @OptionGroup var choices: OptionFlags

    func validate() throws {
        if choices.allowTkip == true, open || wpa3 || enterprise.isGiven {
            throw ValidationError("--allow-tkip needs a network with a WPA2 password")
        }
        if open, passwordStdin { throw ValidationError("--open and --password-stdin exclude each other") }
        if open, wpa3 { throw ValidationError("--open and --wpa3 exclude each other") }
        if enterprise.isGiven, open || wpa3 {
            throw ValidationError("--eap excludes \(open ? "--open" : "--wpa3")")
        }
        if enterprise.eap == .tls, passwordStdin {
            throw ValidationError("--eap tls and --password-stdin exclude each other")
        }
    }

    var isGiven: Bool {
        open || wpa3 || hidden || passwordStdin || enterprise.isGiven || fixed.isGiven
            || !choices.change.isEmpty
    }

    /// - Throws: `CommandFailure` if the device's agent does not support the given options.
    func requireFeatures(of device: DeviceClient) async throws {
        if fixed.isGiven { try await device.requireStaticAddresses() }
        if enterprise.isGiven { try await device.requireEnterprise() }
        if !choices.change.isEmpty { try await device.requireOptions() }
    }

    func network(_ ssid: SSID, _ console: Console) throws -> NewNetwork {
        let address = try fixed.staticAddress
        let options = NetworkOptions().changed(by: choices.change)
        if enterprise.isGiven {
            let password = enterprise.hasPassword ? try console.password(for: ssid, fromInput: passwordStdin) : nil
            if let credential = try enterprise.credential(password: password) {
                return NewNetwork(
                    ssid: ssid, credential: .enterprise(credential), security: .enterprise, isHidden: hidden,
                    address: address, options: options)
            }
        }
        return NewNetwork(
            ssid: ssid, password: open ? nil : try password(for: ssid, console), security: wpa3 ? .wpa3 : nil,
            isHidden: hidden, address: address, options: options)
    }

    private func password(for ssid: SSID, _ console: Console) throws -> Secret {
        let password = try console.password(for: ssid, fromInput: passwordStdin)
        do {
            try Passphrase.validate(password, for: wpa3 ? .wpa3 : nil)
        } catch {
            throw CommandFailure(.badData, "\(error)")
        }
        return password
    }
}

extension Console {
    /// - Parameter fromInput: whether to read the first line of standard input instead of asking the user.
    func password(for ssid: SSID, fromInput: Bool) throws -> Secret {
        fromInput
            ? Secret(Array(try input(4096).prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }))
            : try askPassword("Password for \(ssid): ")
    }
}

struct StaticAddressOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A static address in this network, such as 192.168.1.20/24 (default: DHCP).",
            valueName: "address/length"))
    var address: String?

    @Option(help: ArgumentHelp("With --address: the gateway, in the same network.", valueName: "address"))
    var gateway: AddressArgument?

    @Option(
        help: ArgumentHelp(
            "With --address: a name server; can be given \(StaticAddress.maximumServers) times.",
            valueName: "address"))
    var dns: [AddressArgument] = []

    var isGiven: Bool { address != nil || gateway != nil || !dns.isEmpty }

    func validate() throws {
        if isGiven, address == nil { throw ValidationError("--gateway and --dns need --address") }
        _ = try staticAddress
    }

    /// Static address; nil without `--address`.
    var staticAddress: StaticAddress? {
        get throws {
            do throws(StaticAddressError) {
                return try address.map { text throws(StaticAddressError) in
                    try StaticAddress(text, gateway: gateway?.address, nameServers: dns.map(\.address))
                }
            } catch {
                let option =
                    switch error {
                    case .address, .notation, .prefixLength: "--address"
                    case .gateway: "--gateway"
                    case .nameServer, .tooManyServers: "--dns"
                    }
                throw ValidationError("\(option): \(error)")
            }
        }
    }
}

struct OptionFlags: ParsableArguments {
    @Flag(
        inversion: .prefixedNo,
        help: "Join with first-generation WPA or TKIP too, which an attacker can forge (default: --no-allow-tkip).")
    var allowTkip: Bool?

    @Flag(inversion: .prefixedNo, help: "Join without a command (default: --automatic).")
    var automatic: Bool?

    var change: NetworkOptions.Change { .init(allowsTKIP: allowTkip, isAutomatic: automatic) }
}

struct AddressArgument: ExpressibleByArgument {
    let address: IPAddress

    init?(argument: String) {
        guard !argument.utf8.contains(UInt8(ascii: "%")), let address = IPAddress(argument) else { return nil }
        self.address = address
    }

    var defaultValueDescription: String { address.description }
}

extension DeviceClient {
    func requireStaticAddresses() async throws { try await require("address", "static addresses") }

    func requireOptions() async throws { try await require("options", "options of networks") }

    func requireEnterprise() async throws { try await require("enterprise", "enterprise networks") }

    /// - Throws: `CommandFailure` if the device's agent does not have a feature.
    private func require(_ feature: String, _ name: String) async throws {
        guard try await capabilities().features.contains(feature) else {
            throw CommandFailure(
                .protocolMismatch, "nothing was changed: the device's agent does not support \(name), update it")
        }
    }
}

/// An SSID in this program's notation: `\xNN` for a byte, `\\` for a backslash.
struct SSIDArgument: ExpressibleByArgument, Equatable {
    let ssid: SSID

    init?(argument: String) {
        guard let ssid = SSID(description: argument) else { return nil }
        self.ssid = ssid
    }

    var defaultValueDescription: String { ssid.description }
}

extension BackupList {
    /// Returns the stored network with this SSID or hash. The first six characters of the hash are enough.
    /// - Throws: `CommandFailure` if no network or several networks match.
    func network(named name: String) throws(CommandFailure) -> BackupNetwork {
        let ssid = SSIDArgument(argument: name)?.ssid
        let bySSID = networks.filter { $0.ssid == ssid }
        let found = bySSID.isEmpty ? networks.filter { name.count >= 6 && $0.hash.base64.hasPrefix(name) } : bySSID
        switch found.count {
        case 1: return found[0]
        case 0:
            throw CommandFailure(
                .badData, "no stored network is named \(name.printable): 'altnet backups list' shows them")
        default:
            let hashes = found.map { String($0.hash.base64.prefix(8)) }.joined(separator: ", ")
            throw CommandFailure(
                .badData, "several stored networks are named \(name.printable): name one by its hash, \(hashes)")
        }
    }
}

extension CompletionKind {
    /// Completes the names of stored networks. Asks the agent that the command line selects, and offers no names if the
    /// agent does not answer within ``StoredNetworkCompletion/patience``.
    static var storedNetwork: CompletionKind {
        .custom { words, index, _ in await StoredNetworkCompletion.words(for: words, at: index) }
    }
}

enum StoredNetworkCompletion {
    /// Time limit for the agent's answers after the user pressed Tab. Tests replace it.
    @TaskLocal static var patience = Duration.seconds(1)

    /// - Parameters:
    ///   - words: the command line, including `altnet`.
    ///   - index: index of the word to complete.
    static func words(for words: [String], at index: Int) async -> [String] {
        var line = words
        // Replace the incomplete or missing word, so that the command can be parsed.
        let word = "network"
        if line.indices.contains(index) { line[index] = word } else { line.append(word) }
        // Print no messages: they would appear in the line that the user types.
        var silent = Console.current
        silent.errors = { _ in }
        guard let command = try? await Altnet.asyncParseAsRoot(Array(line.dropFirst())) as? any DeviceCommand,
            let device = try? await command.connect(silent, within: patience)
        else { return [] }
        let list = try? await device.backups()
        await device.close()
        return list.map { Self.words(for: $0) } ?? []
    }

    /// Returns the SSID of each network, or the first characters of its hash if the SSID is not unique or a shell could
    /// interpret it. bash would run commands in an SSID.
    static func words(for list: BackupList) -> [String] {
        list.networks.map { network in
            let name = "\(network.ssid)"
            let isUnique = list.networks.count { $0.ssid == network.ssid } == 1
            return isUnique && isHarmless(name) ? name : String(network.hash.base64.prefix(8))
        }
    }

    private static func isHarmless(_ name: String) -> Bool {
        !name.hasPrefix("-")
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
