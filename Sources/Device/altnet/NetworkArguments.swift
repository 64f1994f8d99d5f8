import AgentModel
import AppClient
import AppProtocol
import ArgumentParser

/// The properties of a network that the device does not know yet, besides its SSID.
struct NewNetworkOptions: ParsableArguments {
    @Flag(help: "The network has no password.")
    var open = false

    @Flag(help: "The network has WPA3: it is never joined by less, and its password has 1 to 128 bytes.")
    var wpa3 = false

    @Flag(help: "The access point does not beacon the network's name.")
    var hidden = false

    @Flag(help: "Read the password from the first line of standard input instead of asking for it.")
    var passwordStdin = false

    @OptionGroup var enterprise: EnterpriseOptions

    @OptionGroup var fixed: StaticAddressOptions

    func validate() throws {
        if open, passwordStdin { throw ValidationError("--open and --password-stdin exclude each other.") }
        if open, wpa3 { throw ValidationError("--open and --wpa3 exclude each other.") }
        if enterprise.isGiven, open || wpa3 {
            throw ValidationError("--eap excludes \(open ? "--open" : "--wpa3").")
        }
        if enterprise.eap == .tls, passwordStdin {
            throw ValidationError("--eap tls and --password-stdin exclude each other.")
        }
    }

    var isGiven: Bool { open || wpa3 || hidden || passwordStdin || enterprise.isGiven || fixed.isGiven }

    /// - Throws: where the device has an agent that would not hear all that is given.
    func requireFeatures(of device: DeviceClient) async throws {
        if fixed.isGiven { try await device.requireStaticAddresses() }
        if enterprise.isGiven { try await device.requireEnterprise() }
    }

    func network(_ ssid: SSID, _ console: Console) throws -> NewNetwork {
        let address = try fixed.staticAddress
        if enterprise.isGiven {
            let password = enterprise.hasPassword ? try console.password(for: ssid, fromInput: passwordStdin) : nil
            if let credential = try enterprise.credential(password: password) {
                return NewNetwork(
                    ssid: ssid, credential: .enterprise(credential), security: .enterprise, isHidden: hidden,
                    address: address)
            }
        }
        return NewNetwork(
            ssid: ssid, password: open ? nil : try password(for: ssid, console), security: wpa3 ? .wpa3 : nil,
            isHidden: hidden, address: address)
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
    /// - Parameter fromInput: whether it is the first line of standard input; else a user types it.
    func password(for ssid: SSID, fromInput: Bool) throws -> Secret {
        fromInput
            ? Secret(Array(try input(4096).prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }))
            : try askPassword("Password for \(ssid): ")
    }
}

/// The device's own address in a network.
struct StaticAddressOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The device's own address in this network, such as 192.168.1.20/24 (default: a server gives it one).",
            valueName: "address/length"))
    var address: String?

    @Option(help: ArgumentHelp("With --address: the router, in the same network.", valueName: "address"))
    var gateway: AddressArgument?

    @Option(
        help: ArgumentHelp(
            "With --address: a name server; can be repeated, \(StaticAddress.maximumServers) times at most.",
            valueName: "address"))
    var dns: [AddressArgument] = []

    var isGiven: Bool { address != nil || gateway != nil || !dns.isEmpty }

    func validate() throws {
        if isGiven, address == nil { throw ValidationError("--gateway and --dns go with --address.") }
        _ = try staticAddress
    }

    /// Nil where none is given.
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
                throw ValidationError("\(option): \(error).")
            }
        }
    }
}

/// An address of IPv4 or IPv6.
struct AddressArgument: ExpressibleByArgument {
    let address: IPAddress

    init?(argument: String) {
        guard !argument.utf8.contains(UInt8(ascii: "%")), let address = IPAddress(argument) else { return nil }
        self.address = address
    }

    var defaultValueDescription: String { address.description }
}

extension DeviceClient {
    /// - Throws: where the device has an agent that would not hear what it is told of addresses.
    func requireStaticAddresses() async throws {
        guard try await capabilities().features.contains("address") else {
            throw CommandFailure(
                .protocolMismatch, "the device's agent is older and knows no static addresses; nothing was changed")
        }
    }
}

extension DeviceClient {
    /// - Throws: where the device has an agent that would not join such a network.
    func requireEnterprise() async throws {
        guard try await capabilities().features.contains("enterprise") else {
            throw CommandFailure(
                .protocolMismatch, "the device's agent is older and joins no enterprise networks; nothing was changed")
        }
    }
}

/// An SSID as this program prints it: `\xNN` is a byte, and a backslash is doubled.
struct SSIDArgument: ExpressibleByArgument, Equatable {
    let ssid: SSID

    init?(argument: String) {
        guard let ssid = SSID(description: argument) else { return nil }
        self.ssid = ssid
    }

    var defaultValueDescription: String { ssid.description }
}

extension BackupList {
    /// The stored network that a user named by its SSID, its hash, or the hash's first six characters or more.
    /// - Throws: `CommandFailure` if there is none, or more than one.
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
    /// Names of the stored networks, as the agent tells them that the command line asks so far. Nothing where it does
    /// not answer at once.
    static var storedNetwork: CompletionKind {
        .custom { words, index, _ in await StoredNetworkCompletion.words(for: words, at: index) }
    }
}

/// The candidates with which a shell completes the name of a stored network.
enum StoredNetworkCompletion {
    /// How long a user waits who has pressed the Tab key. Tests put their own in its place.
    @TaskLocal static var patience = Duration.seconds(1)

    /// - Parameters:
    ///   - words: the command line, `altnet` included.
    ///   - index: of the word to be completed.
    static func words(for words: [String], at index: Int) async -> [String] {
        var line = words
        // The word is not whole yet, and may be missing: the command is understood as if it were there.
        let word = "network"
        if line.indices.contains(index) { line[index] = word } else { line.append(word) }
        // A message would be printed into the line that is being typed.
        var silent = Console.current
        silent.errors = { _ in }
        guard let command = try? Altnet.parseAsRoot(Array(line.dropFirst())) as? any DeviceCommand,
            let device = try? await command.connect(silent, within: patience)
        else { return [] }
        let list = try? await device.backups()
        await device.close()
        return list.map { Self.words(for: $0) } ?? []
    }

    /// The SSID where no shell takes any of it for something else, the beginning of the hash otherwise: bash, for one,
    /// expands what it is told, and would run the commands in it.
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
