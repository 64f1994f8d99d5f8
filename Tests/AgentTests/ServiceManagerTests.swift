import Dispatch
import Glibc
import Linux
import Logging
import NIOCore
import NIOPosix
import PipedPrograms
import TestTime
import Testing

@testable import Agent

@Suite struct ServiceManagerTests {
    @Test func tellsAtAPathAndAtAnAbstractName() async throws {
        try await inFolder { folder in
            for name in [folder + "/notify", "@altnet-test-\(getpid())-\(folder.suffix(6))"] {
                let manager = try NotifySocket(name)
                let service = try #require(ServiceManager(socket: name))
                service.notify(.ready, .status("online in \"Home\", -58 dBm"))
                #expect(manager.next() == "READY=1\nSTATUS=online in \"Home\", -58 dBm")
                service.notify(.reloading(at: .milliseconds(1500)))
                #expect(manager.next() == "RELOADING=1\nMONOTONIC_USEC=1500000")
                service.notify(.alive)
                #expect(manager.next() == "WATCHDOG=1")
                service.notify(.stopping)
                #expect(manager.next() == "STOPPING=1")
            }
        }
    }

    /// A status cannot be used to say something else to the manager.
    @Test func aStatusIsOneLine() async throws {
        try await inFolder { folder in
            let manager = try NotifySocket(folder + "/notify")
            try #require(ServiceManager(socket: folder + "/notify")).notify(.status("x\nSTOPPING=1\u{1b}"))
            #expect(manager.next() == "STATUS=x\\x0aSTOPPING=1\\x1b")
        }
    }

    @Test(arguments: [nil, "", "@", "/", "vsock:2:1", "relative", "/" + String(repeating: "x", count: 107)])
    func withoutASocketNothingIsSaid(socket: String?) {
        #expect(ServiceManager(socket: socket) == nil || socket == "/")
    }

    @Test func aManagerThatIsGoneIsNoTrouble() throws {
        try #require(ServiceManager(socket: "/nonexistent/notify")).notify(.alive)
    }

    // MARK: Watchdog

    @Test func theIntervalIsHalfOfTheLimit() {
        #expect(Watchdog.interval(limit: "30000000", process: nil, ownProcess: 7) == .seconds(15))
        #expect(Watchdog.interval(limit: "30000000", process: "7", ownProcess: 7) == .seconds(15))
        #expect(Watchdog.interval(limit: "30000000", process: "8", ownProcess: 7) == nil)
        for limit in [nil, "", "0", "-1", "x"] {
            #expect(Watchdog.interval(limit: limit, process: nil, ownProcess: 7) == nil)
        }
    }

    /// The agent's own loop, blocked as by a defect.
    @Test(.timeLimit(.minutes(10))) func aStuckLoopGivesNoSign() async throws {
        try await expectNoSign(from: .agentLoop) { block in
            Task { @AgentLoop in block.holdThread() }
        }
    }

    @Test(.timeLimit(.minutes(10))) func aStuckEventLoopGivesNoSign() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        // The second of two: each of them counts.
        let loop = Array(group.makeIterator())[1]
        try await expectNoSign(from: .eventLoops(of: group, name: "the connections")) { block in
            loop.execute { block.holdThread() }
        }
        try await group.shutdownGracefully()
    }

    private func expectNoSign(
        from station: Watchdog.Check, whileStuckBy stick: (ThreadBlock) -> Void
    ) async throws {
        let block = ThreadBlock()
        let log = LineCollector()
        let signs = Observed(0)
        let clock = SteppedClock()
        let interval = Duration.seconds(15)
        let watchdog = Watchdog(
            stations: [station], interval: interval, clock: clock, log: Logger(label: "") { _ in log })
        let run = Task { await watchdog.run { signs.change { $0 += 1 } } }
        for count in 1...3 {
            try await signs.wait("sign \(count)") { $0 == count }
            try await clock.sleeps(for: interval)
            if count < 3 { clock.advance(by: interval) }
        }
        stick(block)
        try await block.isInForce()
        // The next round begins, and gets stuck.
        clock.advance(by: interval)
        try await clock.sleeps(for: interval)
        clock.advance(by: interval)
        try await log.contains("\(station.name) has not answered")
        clock.advance(by: interval * 10)
        #expect(signs.value == 3)
        block.end()
        try await signs.wait("a sign after all") { $0 == 4 }
        run.cancel()
        await run.value
    }
}

/// Holds a thread until it is ended.
private final class ThreadBlock: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let hasBegun = Observed(false)

    func holdThread() {
        hasBegun.change { $0 = true }
        semaphore.wait()
    }

    func isInForce() async throws { try await hasBegun.wait("the thread is held") { $0 } }
    func end() { semaphore.signal() }
}

/// Collects log lines.
final class LineCollector: LogHandler, Sendable {
    private let lines = Observed("")
    var text: String { lines.value }

    /// Returns once a line has this.
    func contains(_ part: String) async throws { try await lines.wait("in the log: \(part)") { $0.contains(part) } }

    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { .trace }
        set {}
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) { lines.change { $0 += "\(event.level) \(event.message)\n" } }
}
