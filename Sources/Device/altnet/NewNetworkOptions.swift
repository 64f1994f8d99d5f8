import AgentModel
import AppProtocol
import ArgumentParser

/// What describes a network that the device does not know yet, besides its SSID.
struct NewNetworkOptions: ParsableArguments {
    @Flag(help: "The network has no password.")
    var open = false

    @Flag(help: "The access point does not beacon the network's name.")
    var hidden = false

    @Flag(help: "Read the password from the first line of standard input instead of asking for it.")
    var passwordStdin = false

    func validate() throws {
        if open, passwordStdin { throw ValidationError("--open and --password-stdin exclude each other.") }
    }

    var isGiven: Bool { open || hidden || passwordStdin }

    func network(_ ssid: SSID, _ console: Console) throws -> NewNetwork {
        NewNetwork(ssid: ssid, password: open ? nil : try password(for: ssid, console), isHidden: hidden)
    }

    private func password(for ssid: SSID, _ console: Console) throws -> Secret {
        let password =
            passwordStdin
            ? Secret(Array(try console.input(4096).prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }))
            : try console.askPassword("Password for \(ssid): ")
        do {
            try Passphrase.validate(password)
        } catch {
            throw CommandFailure(.badData, "\(error)")
        }
        return password
    }
}
