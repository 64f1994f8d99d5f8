import AgentModel
import Connectivity
import ConnectivitySupport
import Foundation
import NIOCore
import NIOPosix
import PipedPrograms
import Synchronization
import Testing

/// The library product: one connection, without the agent.
@Suite(.timeLimit(.minutes(10)))
struct ConnectionMonitorTests {
    /// The example in Docs/integrator/connectivity.md, word for word.
    func watch() async throws {
        let monitor = try ConnectionMonitor(of: "mqtts://mqtt.example.com:8883")
        monitor.start()
        for await status in monitor.changes {
            print(status.isOnline ? "online" : "offline", status.state, status.reason?.rawValue ?? "")
        }
    }

    // covers: seed/connection-library
    @Test func theExampleIsTheOneInTheDocumentation() throws {
        let tests = URL(filePath: #filePath)
        let source = try String(contentsOf: tests, encoding: .utf8)
        let page = try String(
            contentsOf: tests.appending(path: "../../../../Docs/integrator/connectivity.md").standardized,
            encoding: .utf8)
        let start = "    func watch() async throws {\n"
        let end = "\n    }\n\n"
        let from = try #require(source.range(of: start))
        let to = try #require(source.range(of: end, range: from.upperBound..<source.endIndex))
        let body = source[from.lowerBound..<to.lowerBound].split(separator: "\n")
        let lines = body.map { String($0.dropFirst(4)) } + ["}"]
        #expect(lines.count <= 10)
        #expect(page.contains(lines.joined(separator: "\n")))
    }

    @Test func endsWhenItsTaskDoes() async throws {
        let task = Task { try await watch() }
        task.cancel()
        try await task.value
    }

    // covers: seed/connection-states, seed/connection-restart, seed/connection-library
    @Test func goesThroughTheStatesAndStartsAnewWhenAsked() async throws {
        let port = try freePort()
        let monitor = try ConnectionMonitor(of: "tcp://127.0.0.1:\(port)", reconnection: Watch.brisk)
        var changes = monitor.changes.makeAsyncIterator()
        #expect(await changes.next()?.state == .setup)
        #expect(await monitor.probe(within: .seconds(1)) == .noAddress)
        monitor.start()
        monitor.start()
        #expect(await changes.next()?.state == .preparing)
        let waiting = await changes.next()
        #expect(waiting?.state == .waiting && waiting?.reason == .connectionRefused && waiting?.isOnline == false)

        let server = try await listen(port)
        #expect(await changes.next()?.state == .ready)
        #expect(monitor.isOnline && monitor.status.isOnline)
        #expect(await monitor.probe(within: .seconds(60)) == nil)

        monitor.cancel()
        #expect(await changes.next()?.state == .cancelled)
        #expect(await changes.next()?.state == .preparing)
        #expect(await changes.next()?.state == .ready)

        monitor.stop()
        monitor.stop()
        #expect(await changes.next()?.state == .cancelled)
        #expect(!monitor.isOnline)
        #expect(await monitor.probe(within: .seconds(1)) == .noAddress)

        monitor.restart()
        #expect(await changes.next()?.state == .preparing)
        #expect(await changes.next()?.state == .ready)
        // Of a connection that stands, too.
        monitor.restart()
        #expect(await changes.next()?.state == .preparing)
        #expect(await changes.next()?.state == .ready)

        try await server.close()
        // As when its program ends.
        for channel in server.taken { try? await channel.close() }
        let failed = await changes.next()
        #expect(failed?.state == .failed && failed?.reason == .connectionRefused)
        monitor.stop()
        #expect(await changes.next()?.state == .cancelled)
        monitor.start()
        #expect(await changes.next()?.state == .preparing)
    }

    @Test func theReadersEndWithTheMonitor() async throws {
        var monitor: ConnectionMonitor? = try ConnectionMonitor(of: "127.0.0.1:9")
        let changes = try #require(monitor?.changes)
        monitor?.start()
        monitor = nil
        var last: ConnectionStatus?
        for await status in changes { last = status }
        #expect(last != nil)
    }

    // covers: seed/bad-host
    @Test(arguments: [
        ("gopher://host:70", ConnectionMonitorError.server(.badScheme("gopher"))),
        ("http://ho st:80", .server(.badHost("ho st"))),
        ("tcp://host:0", .server(.badPort("0"))),
    ])
    func aBadHostIsRefused(server: String, error: ConnectionMonitorError) {
        #expect(throws: error) { try ConnectionMonitor(of: server) }
        #expect(!"\(error)".isEmpty && !"\(error)".contains("\n"))
    }

    @Test func certificatesThatCannotBeReadAreSaidSo() {
        #expect(throws: ConnectionMonitorError.trust(.unreadable(path: "/nowhere"))) {
            try ConnectionMonitor(of: "tls://host:1", authorities: "/nowhere")
        }
    }

    private func listen(_ port: Int) async throws -> Listener {
        let listener = Listener()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                listener.accept(channel)
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: port).get()
        listener.listens(by: channel)
        return listener
    }
}

private final class Listener: Sendable {
    private let channels = Mutex<(listening: (any Channel)?, taken: [any Channel])>((nil, []))

    var taken: [any Channel] { channels.withLock { $0.taken } }

    func accept(_ channel: any Channel) { channels.withLock { $0.taken.append(channel) } }
    func listens(by channel: any Channel) { channels.withLock { $0.listening = channel } }
    func close() async throws { try await channels.withLock { $0.listening }?.close() }
}
