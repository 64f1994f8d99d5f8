import AgentModel
import NIOCore
import NIOPosix

@testable import Connectivity

/// A connection that is watched, with settings that make it quick.
final class Watch: Sendable {
    let connection: TargetConnection
    let changes = Changes()
    let group: any EventLoopGroup

    static var quick: KeepAlive {
        var settings = KeepAlive(idle: .seconds(1))
        settings.application = .seconds(1)
        settings.applicationLimit = .seconds(1)
        return settings
    }

    static var brisk: Reconnection {
        var settings = Reconnection()
        settings.waits.first = .milliseconds(50)
        settings.waits.last = .milliseconds(200)
        settings.lastWhileReady = .milliseconds(200)
        settings.settled = .milliseconds(500)
        settings.limit = .seconds(2)
        return settings
    }

    init(
        _ setting: String, trust: TargetTrust? = nil, keepAlive: KeepAlive = quick, reconnection: Reconnection = brisk,
        on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) throws {
        self.group = group
        let changes = changes
        connection = TargetConnection(
            try Target(setting: setting), trust: trust, keepAlive: keepAlive, reconnection: reconnection, on: group,
            now: { Instant(milliseconds: Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000)) },
            onChange: { changes.tell(.now($0.state, $0.reason)) }, onDoubt: { changes.tell(.doubt($0)) })
    }

    deinit { connection.cancel() }

    func start() { connection.start(through: InterfaceNetwork(interface: nil, on: group)) }

    /// Starts it and waits until it is ready, whatever may be in between.
    func ready() async throws {
        start()
        try await becomes(.ready)
    }

    /// Waits for a change, and passes over those before it.
    func becomes(_ change: Change) async throws {
        while try await changes.next() != change {}
    }
}
