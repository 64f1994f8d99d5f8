import AppProtocol
import Testing

@testable import AppClient

/// What is sent over one connection, and for how long it is waited for.
@Suite(.timeLimit(.minutes(1))) struct ConnectionTests {
    /// Whoever asks and hears `cancelled` may rely on it that nothing was asked.
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
