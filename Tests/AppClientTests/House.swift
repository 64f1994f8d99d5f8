import AgentModel
import AppClient
import AppProtocol
import AppServer
import Foundation
import Testing

/// A device, its server in the network, a relay in front of it, and what an app knows of it.
struct House {
    let board: Board
    let relay: Relay
    let socket: String

    static let device: DeviceKey = {
        guard let key = try? DeviceKey(deviceId: "board-1", localKey: Secret(text: "0123456789abcdef")) else {
            preconditionFailure("the key for the tests is none")
        }
        return key
    }()

    var endpoint: Endpoint { .network(host: "127.0.0.1", port: relay.port, device: Self.device) }

    func manager(_ settings: DeviceSession.Settings = .quick) -> DeviceNetworkManager {
        DeviceNetworkManager(device: Self.device, host: "127.0.0.1", port: relay.port, settings: settings)
    }

    /// Runs `body`, and checks that no connection is left when it has ended.
    static func with(
        _ board: Board = Board(House.device), isolation: isolated (any Actor)? = #isolation,
        _ body: (House) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "altnet-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let socket = folder.path + "/s"
        let server = AppServer(
            unix: UnixListenerSettings(path: socket), lan: LANListenerSettings(port: 0, device: device),
            service: board, hub: board.hub)
        try await server.start()
        let relay = try await Relay(to: try #require(server.lanPort))
        do {
            try await body(House(board: board, relay: relay, socket: socket))
            try await eventually("every connection is closed") { relay.connections == 0 }
        } catch {
            await relay.stop()
            await server.stop()
            throw error
        }
        await relay.stop()
        await server.stop()
    }
}

extension DeviceSession.Settings {
    /// For a network without distances, on a machine that may be busy: short where it is a matter of pauses only. What
    /// ends a call or a connection takes longer than a test waits.
    static var quick: Self {
        var settings = Self()
        settings.timeout = .seconds(60)
        settings.silence = .seconds(60)
        settings.attempt = .seconds(60)
        settings.watch = .milliseconds(40)
        settings.pauses = BackOff(first: .milliseconds(5), last: .milliseconds(50))
        return settings
    }

    /// For a device that says nothing any more.
    static var impatient: Self {
        var settings = Self.quick
        settings.silence = .seconds(2)
        return settings
    }
}

struct Overdue: Error, CustomStringConvertible {
    let description: String
}

/// Returns once that is so; fails after 20 seconds. For what nobody tells.
func eventually(
    _ what: String, isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(20)
    while try await !condition() {
        guard ContinuousClock.now < end else { throw Overdue(description: "not within 20 s: \(what)") }
        try await Task.sleep(for: .milliseconds(2))
    }
}

/// Holds tasks up until it is opened.
actor Gate {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    var isReached: Bool { !waiting.isEmpty }

    func pass() async {
        guard !isOpen else { return }
        await withCheckedContinuation { waiting.append($0) }
    }

    func open() {
        isOpen = true
        for continuation in waiting { continuation.resume() }
        waiting = []
    }
}
