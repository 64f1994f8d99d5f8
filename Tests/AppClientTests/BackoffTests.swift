import AgentModel
import AppClient
import Testing

/// The pauses between attempts.
@Suite struct BackoffTests {
    @Test func pausesDoubleUpToTheLongest() {
        var firsts: Set<Duration> = []
        for _ in 1...100 {
            var pauses = Backoff(from: .milliseconds(200), to: .seconds(5))
            for (index, longest) in [200, 400, 800, 1600, 3200, 5000, 5000].enumerated() {
                let pause = pauses.next()
                #expect(pause <= .milliseconds(longest))
                #expect(pause >= .milliseconds(longest / 2))
                if index == 0 { firsts.insert(pause) }
            }
        }
        #expect(firsts.count > 50, "many devices shall not come at the same moment")
    }

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
