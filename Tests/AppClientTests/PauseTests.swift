import AgentModel
import AppClient
import Testing

/// The pauses between attempts.
@Suite struct PauseTests {
    /// Attempts go on until the call's time is over, and no longer.
    @Test(.timeLimit(.minutes(1))) func aCallKeepsToItsTime() async throws {
        let clock = SkippingClock()
        var settings = DeviceSession.Settings()
        settings.clock = clock
        let endpoint = Endpoint.network(host: "127.0.0.1", port: 1, device: House.device)
        let session = DeviceSession(endpoint, settings: settings)
        await #expect(throws: ClientError.unreachable(endpoint)) {
            try await session.ask { client throws(ClientError) in try await client.network() }
        }
        // 0.2 to 5 seconds: at least 4 pauses in 10 seconds, and not more than 8.
        #expect((4...8).contains(clock.pauses.count))
        #expect(clock.pauses.reduce(.zero, +) <= .seconds(10))
    }
}
