import AddressIO
import AgentModel
import ArgumentParser
import DHCP
import Glibc
import Lab
import Linux

struct AddressCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "address", abstract: "Asks the DHCP server of a network for an address, and prints the exchange.",
        discussion: """
            Runs altnet's DHCP client alone. It sets no address, so it can run beside the agent or another client. Each \
            row has the time, a message sent (->) or received (<-), and its options by number. Needs root. The exit \
            status is 1 if no server gives an address in time.

              sudo altnet-lab address wlan0

            Please attach the output to a report about a server from which altnet takes no address.
            """)

    @Argument(help: "A Wi-Fi interface that is connected, or an Ethernet interface.")
    var interface: String

    @Option(help: ArgumentHelp("Maximum time.", valueName: "s"))
    var seconds = 10

    func validate() throws {
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds is from 1 to 600.") }
    }

    func run() async throws {
        let index = Int(if_nametoindex(interface))
        guard index > 0,
            let hardware = BSSID(ofInterface: interface).flatMap({ HardwareAddress(bytes: $0.bytes) })
        else {
            throw ValidationError("There is no Ethernet or Wi-Fi interface \(interface).")
        }
        let (events, teller) = AsyncStream.makeStream(of: AddressTrial.Event?.self)
        let start = Instant.now
        let trial = try await AddressTrial(interface: index, hardware: hardware) { teller.yield($0) }
        let end = await LoopTimer(after: .seconds(seconds)) { teller.yield(nil) }
        await trial.begin()
        for await event in events {
            let time = "\((Instant.now - start).milliseconds) ms".padded(to: 9)
            guard let event else {
                print("\(time) no address. \(interface) has to be connected; a server may also be slow (--seconds).")
                throw ExitCode.failure
            }
            print("\(time) \(event.text)")
            if case .lease = event { break }
        }
        withExtendedLifetime((trial, end)) {}
    }
}

extension AddressTrial.Event {
    fileprivate var text: String {
        switch self {
        case .sent(let message): "-> \(message)"
        case .received(let message): "<- \(message)  from \(message.sender)"
        case .problem(let problem): "   \(problem)"
        case .failed(let error): "   \(error)"
        case .lease(let lease):
            "   \(lease.address)/\(lease.prefixLength) by \(lease.server), "
                + (lease.gateway.map { "gateway \($0)" } ?? "no router")
        }
    }
}
