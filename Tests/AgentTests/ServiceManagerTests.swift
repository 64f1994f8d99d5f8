import Dispatch
import Glibc
import Linux
import Logging
import NIOCore
import NIOPosix
import PipedPrograms
import Synchronization
import Testing

@testable import Agent

@Suite struct ServiceManagerTests {
    @Test func tellsAtAPathAndAtAnAbstractName() async throws {
        try await inFolder { folder in
            for name in [folder + "/notify", "@altnet-test-\(getpid())-\(folder.suffix(6))"] {
                let manager = try NotifySocket(name)
                let service = try #require(ServiceManager(socket: name))
                service.tell(.ready, .status("online in \"Home\", -58 dBm"))
                #expect(manager.next() == "READY=1\nSTATUS=online in \"Home\", -58 dBm")
                service.tell(.reloading(at: .milliseconds(1500)))
                #expect(manager.next() == "RELOADING=1\nMONOTONIC_USEC=1500000")
                service.tell(.alive)
                #expect(manager.next() == "WATCHDOG=1")
                service.tell(.stopping)
                #expect(manager.next() == "STOPPING=1")
            }
        }
    }

    /// A status cannot be used to say something else to the manager.
    @Test func aStatusIsOneLine() async throws {
        try await inFolder { folder in
            let manager = try NotifySocket(folder + "/notify")
            try #require(ServiceManager(socket: folder + "/notify")).tell(.status("x\nSTOPPING=1\u{1b}"))
            #expect(manager.next() == "STATUS=x\\x0aSTOPPING=1\\x1b")
        }
    }

    @Test(arguments: [nil, "", "@", "/", "vsock:2:1", "relative", "/" + String(repeating: "x", count: 107)])
    func withoutASocketNothingIsSaid(socket: String?) {
        #expect(ServiceManager(socket: socket) == nil || socket == "/")
    }

    @Test func aManagerThatIsGoneIsNoTrouble() throws {
        try #require(ServiceManager(socket: "/nonexistent/notify")).tell(.alive)
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
    @Test(.timeLimit(.minutes(1))) func aStuckLoopGivesNoSign() async throws {
        let gate = Gate()
        try await expectNoSign(from: .agentLoop) {
            Task { @AgentLoop in gate.wait() }
        } release: {
            gate.open()
        }
    }

    @Test(.timeLimit(.minutes(1))) func aStuckEventLoopGivesNoSign() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let gate = Gate()
        // The second of two: each of them counts.
        let loop = Array(group.makeIterator())[1]
        try await expectNoSign(from: .eventLoops(of: group, name: "the connections")) {
            loop.execute { gate.wait() }
        } release: {
            gate.open()
        }
        try await group.shutdownGracefully()
    }

    private func expectNoSign(
        from station: Watchdog.Station, block: () -> Void, release: () -> Void
    ) async throws {
        let log = LineCollector()
        let signs = Mutex(0)
        let watchdog = Watchdog(stations: [station], interval: .milliseconds(20), log: Logger(label: "") { _ in log })
        let run = Task { await watchdog.run { signs.withLock { $0 += 1 } } }
        try await eventually { signs.withLock { $0 } >= 3 }
        block()
        // A round may have passed just before.
        try await eventually { log.text.contains("\(station.name) has not answered") }
        let count = signs.withLock { $0 }
        // As many intervals as would have been enough for a few signs.
        try await Task.sleep(for: .milliseconds(200))
        #expect(signs.withLock { $0 } == count)
        release()
        try await eventually { signs.withLock { $0 } > count }
        run.cancel()
        await run.value
    }
}

/// Keeps a thread until it is opened.
private final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    func wait() { semaphore.wait() }
    func open() { semaphore.signal() }
}

/// Waits for something that happens on another thread, with a deadline.
func eventually(_ isSo: () -> Bool) async throws {
    for _ in 0..<2000 {
        if isSo() { return }
        try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("it did not happen in 10 s")
}

/// Collects log lines.
final class LineCollector: LogHandler, Sendable {
    private let lines = Mutex("")
    var text: String { lines.withLock { $0 } }

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

    func log(event: LogEvent) { lines.withLock { $0 += "\(event.level) \(event.message)\n" } }
}
