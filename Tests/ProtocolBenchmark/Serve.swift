import AgentModel
import AppProtocol
import AppServer
import ArgumentParser
import Foundation

/// The server in a process of its own, until its standard input ends.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve", shouldDisplay: false)

    @Argument var socket: String

    func run() async throws {
        var limits = AppServer.Limits()
        limits.lift()
        let server = AppServer(
            unix: UnixListenerSettings(path: socket), lan: LANListenerSettings(port: 0, device: try Bench.device()),
            service: try PromptDevice(), hub: EventHub(), limits: limits)
        try await server.start()
        print(server.lanPort ?? 0)
        fflush(stdout)
        _ = FileHandle.standardInput.readDataToEndOfFile()
        await server.stop()
    }
}

/// What both processes know.
enum Bench {
    /// No secret: it lives as long as the benchmark.
    static func device() throws -> DeviceKey {
        try DeviceKey(deviceId: "bench", localKey: Secret(text: "0123456789abcdef0123456789abcdef"))
    }
}

/// Answers at once, as a device that is online does.
struct PromptDevice: DeviceService {
    private let network: NetworkStatus

    init() throws {
        network = NetworkStatus(
            state: .online, uplink: .wifi, flags: [.canSwitch, .canUpdateBackups], ssid: try SSID("HomeNet"),
            bssid: BSSID("02:00:00:00:01:00"), signal: -52, frequency: Frequency(megahertz: 2412),
            addresses: ["192.168.10.23", "fe80::ff:fe00:0"], since: .now)
    }

    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body {
        guard case .getNetwork = request else {
            throw ProtocolError(.unsupported, "this device answers network.get and nothing else")
        }
        return .network(network)
    }
}
