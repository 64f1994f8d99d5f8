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

    @OptionGroup var choices: OwnerOptions

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
        if fixed.address != nil { try await device.requireStaticAddresses() }
        if enterprise.isGiven { try await device.requireEnterprise() }
        if fixed.ipv6 != nil || !choices.change.isEmpty { try await device.requireOptions() }
    }

    func network(_ ssid: SSID, _ console: Console) throws -> NewNetwork {
        let address = try fixed.staticAddress
        var options = NetworkOptions().changed(by: choices.change)
        options.ipv6 = try fixed.staticIPv6Address
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
            "A static IPv6 address in this network, such as 2001:db8::20/64, beside those that routers announce.",
            valueName: "ipv6/length"))
    var ipv6: String?

    @Option(
        help: ArgumentHelp(
            "With --ipv6: the gateway, in the same network or link-local (default: the router that announces itself).",
            valueName: "address"))
    var ipv6Gateway: AddressArgument?

    @Option(
        help: ArgumentHelp(
            "With --address or --ipv6: a name server; can be given \(StaticAddress.maximumServers) times.",
            valueName: "address"))
    var dns: [AddressArgument] = []

    var isGiven: Bool { address != nil || gateway != nil || ipv6 != nil || ipv6Gateway != nil || !dns.isEmpty }

    func validate() throws {
        if gateway != nil, address == nil { throw ValidationError("--gateway needs --address") }
        if ipv6Gateway != nil, ipv6 == nil { throw ValidationError("--ipv6-gateway needs --ipv6") }
        if !dns.isEmpty, address == nil, ipv6 == nil { throw ValidationError("--dns needs --address or --ipv6") }
        _ = (try staticAddress, try staticIPv6Address)
    }

    /// Static IPv4 address with the name servers; nil without `--address`.
    var staticAddress: StaticAddress? {
        get throws {
            try address.map { try Self.address($0, of: .ipv4, "--address", gateway, "--gateway", servers: dns) }
        }
    }

    /// Static IPv6 address; nil without `--ipv6`. Has the name servers unless `staticAddress` has them.
    var staticIPv6Address: StaticAddress? {
        get throws {
            let servers = address == nil ? dns : []
            return try ipv6.map {
                try Self.address($0, of: .ipv6, "--ipv6", ipv6Gateway, "--ipv6-gateway", servers: servers)
            }
        }
    }

    private static func address(
        _ text: String, of family: AddressFamily, _ option: String, _ gateway: AddressArgument?,
        _ gatewayOption: String, servers: [AddressArgument]
    ) throws(ValidationError) -> StaticAddress {
        do throws(StaticAddressError) {
            return try StaticAddress(
                text, family: family, gateway: gateway?.address, nameServers: servers.map(\.address))
        } catch {
            let option =
                switch error {
                case .address, .notation, .family, .prefixLength: option
                case .gateway: gatewayOption
                case .nameServer, .tooManyServers: "--dns"
                }
            throw ValidationError("\(option): \(error)")
        }
    }
}

/// Options of a network without its static addresses.
struct OwnerOptions: ParsableArguments {
    @Flag(
        inversion: .prefixedNo,
        help: "Join with first-generation WPA or TKIP too, which an attacker can forge (default: --no-allow-tkip).")
    var allowTkip: Bool?

    @Flag(inversion: .prefixedNo, help: "Join without a command (default: --automatic).")
    var automatic: Bool?

    @Option(
        help: ArgumentHelp(
            "Whether traffic is limited or paid by volume: yes, no, or auto for what the network says (default: auto).",
            valueName: "choice"),
        completion: .list(["yes", "no", "auto"]),
        transform: { try setting($0, or: "auto", "give yes, no or auto") { ["yes": true, "no": false][$0] } })
    var metered: NetworkOptions.Setting<Bool>?

    @Option(
        help: ArgumentHelp(
            "Join only access points in this band, in GHz: 2.4, 5, 6 or any (default: any).", valueName: "band"),
        completion: .list(Band.allCases.map(\.gigahertz) + ["any"]),
        transform: { try setting($0, or: "any", "give 2.4, 5, 6 or any") { Band(gigahertz: $0) } })
    var band: NetworkOptions.Setting<Band>?

    @Option(
        help: ArgumentHelp(
            "Join only this access point, such as 02:00:00:00:01:00, or any (default: any).", valueName: "bssid"),
        transform: {
            try setting($0, or: "any", "give an address such as 02:00:00:00:01:00 or any; 'altnet scan' shows them") {
                BSSID($0).flatMap { $0.isUnicast ? $0 : nil }
            }
        })
    var bssid: NetworkOptions.Setting<BSSID>?

    var change: NetworkOptions.Change {
        .init(allowsTKIP: allowTkip, isAutomatic: automatic, isMetered: metered, band: band, bssid: bssid)
    }

    private static func setting<Value>(
        _ text: String, or none: String, _ instruction: String, _ value: (String) -> Value?
    ) throws(ValidationError) -> NetworkOptions.Setting<Value> {
        if text == none { return .unset }
        guard let value = value(text) else { throw ValidationError(instruction) }
        return .to(value)
    }
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
struct SSIDArgument: Equatable {
    let ssid: SSID

    @Sendable init(_ text: String) throws(ValidationError) {
        guard let ssid = SSID(description: text) else {
            throw ValidationError(
                "an SSID has 1 to \(SSID.maximumLength) bytes; write \\xNN for a byte, \\\\ for a backslash")
        }
        self.ssid = ssid
    }
}

extension BackupList {
    /// Returns the stored network with this SSID or hash. The first six characters of the hash are enough.
    /// - Throws: `CommandFailure` if no network or several networks match.
    func network(named name: String) throws(CommandFailure) -> BackupNetwork {
        let ssid = SSID(description: name)
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
