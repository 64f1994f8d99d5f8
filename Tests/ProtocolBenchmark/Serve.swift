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
        let server = AppServer(
            unix: UnixListenerSettings(path: socket), lan: LANListenerSettings(port: 0, device: try Bench.device()),
            service: try PromptDevice(), hub: EventHub(), limits: Self.limits)
        try await server.start()
        FileHandle.standardOutput.write(Data("\(server.lanPort ?? 0)\n".utf8))
        _ = FileHandle.standardInput.readDataToEndOfFile()
        await server.stop()
    }
}

extension Serve {
    /// Those of a device would end a load like this at once, which is what they are for.
    private static var limits: AppServer.Limits {
        let plenty = 10_000
        var lan = AppServer.LANLimits()
        lan.connections = plenty
        lan.connectionsPerAddress = plenty
        lan.handshakes = plenty
        lan.handshakesPerAddress = plenty
        lan.requests = .init(perSecond: plenty * 100, burst: plenty * 100)
        lan.requestsPerAddress = lan.requests
        return AppServer.Limits(connections: plenty, lan: lan)
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
