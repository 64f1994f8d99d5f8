import AgentModel
import NIOCore
import NIOPosix
import TestTime

@testable import Connectivity

/// A connection that is watched, with settings that make it quick.
package final class Watch: Sendable {
    package let connection: TargetConnection
    package let changes = Changes()
    package let group: any EventLoopGroup

    package static var quick: KeepAlive {
        var settings = KeepAlive(idle: .seconds(1))
        settings.application = .seconds(1)
        settings.applicationLimit = .seconds(1)
        return settings
    }

    package static var brisk: Reconnection {
        var settings = Reconnection()
        settings.waits.first = .milliseconds(50)
        settings.waits.last = .milliseconds(200)
        settings.lastWhileReady = .milliseconds(200)
        settings.settled = .milliseconds(500)
        settings.limit = .seconds(2)
        return settings
    }

    package init(
        _ setting: String, trust: TargetTrust? = nil, keepAlive: KeepAlive = quick, reconnection: Reconnection = brisk,
        on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
    ) throws {
        self.group = group
        let changes = changes
        connection = TargetConnection(
            try Target(setting: setting), trust: trust, keepAlive: keepAlive, reconnection: reconnection, on: group,
            now: { Instant(milliseconds: Int64(NIODeadline.now().uptimeNanoseconds / 1_000_000)) },
            onChange: { changes.report(.now($0.state, $0.reason)) }, onDoubt: { changes.report(.doubt($0)) })
    }

    deinit { connection.stop() }

    package func start() { connection.start(through: InterfaceNetwork(interface: nil, on: group)) }

    /// Starts it and waits until it is ready, whatever may be in between.
    package func ready() async throws {
        start()
        try await becomes(.ready)
    }

    /// Waits for a change, and passes over those before it.
    package func becomes(_ change: Change) async throws {
        while try await changes.next() != change {}
    }
}

/// A report of a connection.
package enum Change: Equatable {
    case now(ConnectionState, ReachProblem?)
    case doubt(ReachProblem)

    package static let preparing = now(.preparing, nil)
    package static let ready = now(.ready, nil)
    package static func waiting(_ reason: ReachProblem) -> Change { now(.waiting, reason) }
    package static func failed(_ reason: ReachProblem) -> Change { now(.failed, reason) }
}

package struct NothingHappened: Error {
    package init() {}
}

/// Collects what is told, and lets one test wait for each change.
package final class Changes: Sendable {
    private let reported = Observed<[Change]>([])

    package func report(_ change: Change) { reported.change { $0.append(change) } }

    /// The next change, in the order in which they were told.
    package func next(within limit: Duration = .seconds(300)) async throws -> Change {
        try await reported.next("a change", within: limit) { $0.isEmpty ? nil : $0.removeFirst() }
    }

    /// Reports that were not read yet.
    package var unread: [Change] { reported.value }
}
