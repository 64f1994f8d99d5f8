import AgentModel
import AppClient
import AppProtocol
import AppServer
import Testing

/// A switch drops the link that its answer goes over, so the device is told when the answer has arrived.
@Suite struct DeliveryTests {
    private struct Watch: DeviceService {
        let device: FakeDevice
        let arrived: AsyncStream<SwitchStatus>.Continuation

        func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body {
            try await device.respond(to: request, from: peer)
        }

        func hasArrived(_ answer: SwitchStatus) async { arrived.yield(answer) }
    }

    /// Asks for other things, for a switch, and for other things again, and returns whose arrival was told.
    private func arrivals(
        _ device: FakeDevice, of client: (Watch) async throws -> Void
    ) async throws -> [SwitchStatus] {
        let (stream, continuation) = AsyncStream.makeStream(of: SwitchStatus.self)
        try await client(Watch(device: device, arrived: continuation))
        continuation.finish()
        return await stream.reduce(into: []) { $0.append($1) }
    }

    private func talk(to endpoint: Endpoint) async throws {
        let client = try await DeviceClient(connectingTo: endpoint, timeout: .seconds(60))
        _ = try? await client.network()
        let accepted = try? await client.switchNetwork(to: .new(NewNetwork(ssid: SSID("Open"), password: nil)))
        _ = try? await client.confirmSwitch(accepted?.switchId ?? "")
        await client.close()
    }

    private let accepted = SwitchStatus(switchId: "s-1", phase: .accepted)

    @Test func isToldOnTheSocket() async throws {
        let told = try await arrivals(FakeDevice()) { watch in
            try await withServer(watch) { path in try await talk(to: .unixSocket(path: path)) }
        }
        #expect(told == [accepted])
    }

    @Test func isToldInTheNetwork() async throws {
        let told = try await arrivals(FakeDevice()) { watch in
            try await withNetworkServer(watch) { _, port in
                try await talk(to: .network(host: "127.0.0.1", port: port, device: .sample))
            }
        }
        #expect(told == [accepted])
    }

    @Test func aRefusalIsNoBeginning() async throws {
        let told = try await arrivals(FakeDevice(error: ProtocolError(.cannotSwitch, "no"))) { watch in
            try await withServer(watch) { path in try await talk(to: .unixSocket(path: path)) }
        }
        #expect(told == [])
    }
}
