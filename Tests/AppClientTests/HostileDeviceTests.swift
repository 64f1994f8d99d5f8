import AgentModel
import AppClient
import AppProtocol
import Testing

/// Something that has the key and does not keep to the protocol.
@Suite(.timeLimit(.minutes(2))) struct HostileDeviceTests {
    @Test(arguments: [
        "garbage", #"{"v":2,"id":"1","ok":true,"body":{}}"#, #"{"v":1,"id":"1","ok":true,"body":7}"#,
        String(repeating: "x", count: 100_000),
    ])
    func nonsenseIsATypedError(answer: String) async throws {
        try await withImpostor { client, server async throws in
            async let started = client.startScan()
            _ = try await server.request()
            try server.say(answer)
            do {
                _ = try await started
                Issue.record("nonsense was understood")
            } catch {
                guard case .notUnderstood = error as? ClientError else {
                    Issue.record("\(error)")
                    return
                }
            }
        }
    }

    /// Numbers at the ends of their range, in an order that makes no sense: gaps, and no trap.
    @Test func numbersThatNobodyCanCountTo() async throws {
        try await withImpostor { client, server async throws in
            async let subscription = client.events()
            _ = try await server.request()
            try server.say(#"{"v":1,"id":"1","ok":true,"body":{"seq":4,"stream":"x"}}"#)
            var events = try await subscription.makeAsyncIterator()
            let sequence = [Int.max, Int.min, 0, Int.max, 5]
            for seq in sequence {
                let time = "2026-02-03T04:05:06.789Z"
                try server.say(
                    #"{"v":1,"event":"signal","seq":\#(seq),"time":"\#(time)","body":{"signal":-50}}"#)
            }
            var (seen, gaps) = ([Int](), 0)
            while seen.count < sequence.count, let event = try await events.next() {
                if case .gap = event.body { gaps += 1 } else { seen.append(event.seq) }
            }
            #expect(seen == sequence)
            #expect(gaps >= 4)
        }
    }

    private func withImpostor(_ body: (DeviceClient, OpenSSLServer) async throws -> Void) async throws {
        let server = try await OpenSSLServer([
            "-tls1_2", "-psk", "30313233343536373839616263646566", "-psk_identity", House.device.deviceId,
        ])
        let client = try await DeviceClient(
            connectingTo: .network(host: "127.0.0.1", port: server.port, device: House.device))
        try await body(client, server)
        await client.close()
    }
}
