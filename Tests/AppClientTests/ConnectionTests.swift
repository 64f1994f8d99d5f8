import AppProtocol
import AppServer
import PipedPrograms
import TestTime
import Testing

@testable import AppClient

/// Requests over one connection, and their time limits.
@Suite(.timeLimit(.minutes(10))) struct ConnectionTests {
    /// `cancelled` means that the request was not sent.
    @Test func whatIsCancelledBeforeItIsSentIsNotSent() async throws {
        let script: ScriptedDevice.Script = { _, id in
            [#"{"v":1,"id":"\#(id)","ok":false,"error":{"code":"scanBusy","message":"busy"}}"#]
        }
        try await ScriptedDevice.with(script) { device async throws in
            let client = try await DeviceClient(connectingTo: device.endpoint, timeout: .seconds(60))
            let cancelled = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                _ = try await client.startScan()
            }
            await #expect(throws: ClientError.cancelled) { try await cancelled.value }
            await #expect(throws: ClientError.self) { try await client.backups() }
            #expect(device.asked == ["backups.get"])
            await client.close()
        }
    }

    @Test(arguments: [(2, 3), (10, 3), (30, 30)])
    func aSlowDeviceIsGivenItsTime(timeout: Int, silence: Int) async throws {
        try await ScriptedDevice.with({ _, _ in [] }) { device async throws in
            let client = try await DeviceClient(connectingTo: device.endpoint, timeout: .seconds(timeout))
            let settings = await DeviceSession(adopting: client).settings
            #expect(settings.timeout == .seconds(timeout))
            #expect(settings.silence == .seconds(silence))
            await client.close()
        }
    }
}

/// Something that has the key and does not keep to the protocol.
@Suite(.enabled(if: PipedProgram.path(of: "openssl") != nil, "openssl is not installed"), .timeLimit(.minutes(10)))
struct HostileDeviceTests {
    @Test(arguments: [
        "garbage", #"{"v":2,"id":"1","ok":true,"body":{}}"#, #"{"v":1,"id":"1","ok":true,"body":7}"#,
        String(repeating: "x", count: 100_000),
    ])
    func nonsenseIsATypedError(answer: String) async throws {
        try await withImpostor { client, server async throws in
            async let started = client.startScan()
            _ = try await server.request()
            try server.send(answer)
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
    @Test func numbersBeyondCounting() async throws {
        try await withImpostor { client, server async throws in
            async let subscription = client.events()
            _ = try await server.request()
            try server.send(#"{"v":1,"id":"1","ok":true,"body":{"seq":4,"stream":"x"}}"#)
            var events = try await subscription.makeAsyncIterator()
            let sequence = [Int.max, Int.min, 0, Int.max, 5]
            for seq in sequence {
                let time = "2026-02-03T04:05:06.789Z"
                try server.send(
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
        let server = try await OpenSSLServer([], AppCredentials.certificate)
        async let connecting = DeviceClient(
            connectingTo: .network(host: "127.0.0.1", port: server.port, device: Fixture.device))
        try await server.open(for: Fixture.device)
        let client = try await connecting
        try await body(client, server)
        await client.close()
    }
}

/// The pauses between attempts.
@Suite struct PauseTests {
    /// Attempts go on until the call's time is over, and no longer.
    @Test(.timeLimit(.minutes(10))) func aCallKeepsToItsTime() async throws {
        let clock = SkippingClock()
        var settings = DeviceSession.Settings()
        settings.clock = clock
        let endpoint = Endpoint.network(host: "127.0.0.1", port: 1, device: Fixture.device)
        let session = DeviceSession(endpoint, settings: settings)
        await #expect(throws: ClientError.unreachable(endpoint)) {
            try await session.ask { client throws(ClientError) in try await client.network() }
        }
        // 0.2 to 5 seconds: at least 4 pauses in 10 seconds, and not more than 8.
        #expect((4...8).contains(clock.pauses.count))
        #expect(clock.pauses.reduce(.zero, +) <= .seconds(10))
    }
}
