import AgentModel
import AppProtocol
import AppServer
import Linux
import Logging
import Synchronization
import Testing

@testable import Agent

/// The device must stay online, and its own socket answer, whatever becomes of the listener in the network.
@Suite struct ListenerRetryTests {
    private struct Deaf: DeviceService {
        func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body {
            throw ProtocolError(.busy, "deaf")
        }
    }

    /// Keeps how loudly something was logged.
    private final class Notebook: Sendable {
        let levels = Mutex<[Logger.Level]>([])
    }

    private struct Writer: LogHandler {
        let notebook: Notebook
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { notebook.levels.withLock { $0.append(event.level) } }
    }

    private func server(_ name: String, in folder: String, port: Int) throws -> AppServer {
        let device = try DeviceKey(deviceId: "device", localKey: Secret(text: "0123456789abcdef"))
        let credentials = AppCredentials(
            deviceId: device.deviceId, certificate: try .random(), keys: OwnerKey(device.localKey))
        return AppServer(
            unix: UnixListenerSettings(path: "\(folder)/\(name)"),
            lan: LANListenerSettings(port: port, credentials: credentials),
            service: Deaf(), hub: EventHub())
    }

    @Test(.timeLimit(.minutes(10))) func aPortThatIsTakenIsTriedAgain() async throws {
        try await inFolder { folder in
            let other = try server("other", in: folder, port: 0)
            try await other.start()
            let port = try #require(other.lanPort)
            let own = try server("own", in: folder, port: port)
            try await own.start(inNetwork: false)
            #expect(own.lanPort == nil)
            await #expect(throws: AppServerError.self) { try await own.startInNetwork() }

            let notebook = Notebook()
            let log = Logger(label: "test") { _ in Writer(notebook: notebook) }
            await ManualClock().run { clock in
                async let opened: Void = ListenerRetry(server: own, log: log).open()
                await clock.untilTimer(of: ListenerRetry.pause)
                clock.advance(by: ListenerRetry.pause)
                await clock.untilTimer(of: ListenerRetry.pause)
                await other.stop()
                clock.advance(by: ListenerRetry.pause)
                await opened
            }
            #expect(own.lanPort == port)
            #expect(notebook.levels.withLock(\.self) == [.error, .notice], "said once, however often it was tried")
            await own.stop()
            #expect(own.lanPort == nil)
        }
    }
}
