import AgentModel
import ConnectivitySupport
import NIOCore
import NIOPosix
import PipedPrograms
import TestTime
import Testing

@testable import Connectivity

/// Asking whether a server answers, now.
@Suite(.timeLimit(.minutes(10)))
struct ProbeTests {
    @Test func whatWasHeardLatelyIsNotAskedAgain() async throws {
        let server = try await CountingServer()
        let watch = try Watch("a=127.0.0.1:\(server.port)")
        try await watch.ready()
        for _ in 0..<100 { #expect(await watch.connection.probe(within: .seconds(60)) == nil) }
        #expect(server.count == 1)
        #expect(await watch.connection.lastHeard != nil)
    }

    /// Several want to know at once while it is paused: one attempt tells all of them.
    @Test func callersShareAnAttempt() async throws {
        let port = try freePort()
        var patient = Watch.brisk
        patient.waits.first = .seconds(3600)
        patient.waits.last = .seconds(3600)
        let watch = try Watch("a=http://127.0.0.1:\(port)", reconnection: patient)
        watch.start()
        try await watch.becomes(.waiting(.connectionRefused))
        let server = try await CountingServer(port: port)
        let answers = await withTaskGroup(of: ReachProblem?.self) { group in
            for _ in 0..<20 { group.addTask { await watch.connection.probe(within: .seconds(1)) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: .timedOut, count: 20))
        #expect(server.count == 1)
    }

    /// A connection that has been silent too long for those who ask: another one is made beside it.
    @Test func aSilentConnectionGetsASecondOpinion() async throws {
        let server = try await CountingServer()
        let watch = try Watch("a=127.0.0.1:\(server.port)")
        try await watch.ready()
        let answers = await withTaskGroup(of: ReachProblem?.self) { group in
            for _ in 0..<20 {
                group.addTask { await watch.connection.probe(within: .seconds(60), freshness: .seconds(-1)) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == 20 && answers.allSatisfy { $0 == nil })
        try await server.hasTaken(2)
        #expect(watch.changes.unread.isEmpty && watch.connection.status.isOnline)
    }

    @Test func aProbeEndsThePause() async throws {
        let port = try freePort()
        var patient = Reconnection()
        patient.waits.first = .seconds(3600)
        patient.waits.last = .seconds(3600)
        let watch = try Watch("a=127.0.0.1:\(port)", reconnection: patient)
        watch.start()
        try await watch.becomes(.waiting(.connectionRefused))
        #expect(await watch.connection.probe(within: .seconds(60)) == .connectionRefused)
        let server = try await CountingServer(port: port)
        #expect(await watch.connection.probe(within: .seconds(60)) == nil)
        #expect(try await watch.changes.next() == .ready)
        // The kernel lets the device in before the server takes note.
        try await server.hasTaken(1)
        #expect(server.count == 1)
    }

    @Test func thereIsNothingToAskBeforeTheStartAndAfterTheEnd() async throws {
        let watch = try Watch("a=127.0.0.1:9")
        #expect(await watch.connection.probe(within: .seconds(5)) == .noAddress)
        #expect(await watch.connection.lastHeard == nil)
        watch.connection.stop()
        #expect(await watch.connection.probe(within: .seconds(5)) == .noAddress)
        watch.start()
        #expect(try await watch.changes.next() == .now(.cancelled, nil))
        #expect(watch.changes.unread.isEmpty)
    }

    /// It is connected to and says nothing: only the limit ends that.
    @Test func aSilentServerIsGivenUp() async throws {
        let server = try await CountingServer()
        let watch = try Watch("a=http://127.0.0.1:\(server.port)")
        watch.start()
        try await watch.becomes(.waiting(.timedOut))
        #expect(await watch.connection.probe(within: .milliseconds(300)) == .timedOut)
    }

    /// It takes its time to answer, more than those have who ask again and again: they do not begin anew each time.
    @Test func aSlowAnswerIsWaitedFor() async throws {
        let server = try await CountingServer(
            greeting: ByteBuffer(string: "HTTP/1.1 204 x\r\n\r\n"), after: .seconds(3))
        var patient = Watch.brisk
        patient.limit = .seconds(600)
        let watch = try Watch("a=http://127.0.0.1:\(server.port)", reconnection: patient)
        watch.start()
        // Before that a probe in a hurry begins anew.
        try await server.hasTaken(1)
        var answers = 0
        while watch.connection.status.state != .ready {
            answers += 1
            _ = await watch.connection.probe(within: .milliseconds(300))
        }
        #expect(answers > 1)
        #expect(server.count == 1)
    }

    @Test func aNameServerThatSaysNothingIsTheReason() async throws {
        let silent = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        defer { silent.close(promise: nil) }
        let port = try #require(silent.localAddress?.port)
        // The next attempt is the probe's own, in the time that it has.
        var patient = Watch.brisk
        patient.waits.first = .seconds(3600)
        patient.waits.last = .seconds(3600)
        let watch = try Watch("broker=mqtt.example.com:1883", reconnection: patient)
        watch.connection.start(
            through: InterfaceNetwork(interface: "lo", on: watch.group, asking: [("127.0.0.1", port)]))
        #expect(try await watch.changes.next() == .preparing)
        #expect(try await watch.changes.next() == .waiting(.nameServerSilent))
        // A tenth of the time is left for the answer to come back.
        #expect(await watch.connection.probe(within: .seconds(20)) == .nameServerSilent)
    }

    @Test func aFloodIsReadAndEnded() async throws {
        let flood = ByteBuffer(repeating: 0x20, count: AnswerGate.largestUnasked + 1)
        let server = try await CountingServer(greeting: flood)
        let watch = try Watch("a=127.0.0.1:\(server.port)")
        try await watch.ready()
        try await server.hasTaken(4)
        #expect(watch.connection.status.isOnline, "it lets the device in each time")
    }
}

/// Takes connections, counts them, and says one thing or nothing.
final class CountingServer: Sendable {
    let port: Int
    private let channel: any Channel
    private let counter: Observed<Int>

    var count: Int { counter.value }

    /// Returns once there have been so many connections.
    func hasTaken(_ connections: Int) async throws {
        try await counter.wait("connection \(connections)", within: .seconds(600)) { $0 >= connections }
    }

    init(port: Int = 0, greeting: ByteBuffer? = nil, after delay: TimeAmount = .zero) async throws {
        let counter = Observed(0)
        self.counter = counter
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { child in
                counter.change { $0 += 1 }
                if let greeting {
                    child.eventLoop.scheduleTask(in: delay) { child.writeAndFlush(greeting, promise: nil) }
                }
                return child.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: port).get()
        guard let port = channel.localAddress?.port else { throw NothingHappened() }
        self.port = port
    }

    deinit { channel.close(promise: nil) }
}
