import Glibc
import Synchronization
import Testing

@testable import KeyFile

/// The store of a process that is killed while it commits.
@Suite struct KillTests {
    /// A real process commits one state after the other and is killed with SIGKILL at an arbitrary moment, ten times over.
    /// Each time the store must hold the last state that it acknowledged, or the one after it, whole; and nobody's lock.
    @Test func survivesKillDashNine() async throws {
        let scratch = "/tmp/altnet-keyfile-kill-\(getpid())"
        #expect(mkdir(scratch, 0o700) == 0)
        defer { removeAll(in: scratch) }
        var acknowledged: UInt64 = 0
        for _ in 0..<10 {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                try commitUntilKilled(in: "/tmp/altnet-keyfile-kill-\(getppid())")
            }
            let store = try openStore(at: "\(scratch)/keyfile")
            acknowledged = try readNumber(from: "\(scratch)/acknowledged")
            #expect([acknowledged, acknowledged + 1].contains(store.state.backupsRevision))
            #expect(store.state == (try numberedState(store.state.backupsRevision)))
            #expect(store.report.allSatisfy { $0 == .interruptedWrite })
        }
        #expect(acknowledged >= 20, "each process acknowledged at least two")
    }
}

private func numberedState(_ number: UInt64) throws -> StoredState {
    StoredState(
        home: try network("Home", password: "password \(number)"),
        backups: try (0..<number % 4).map { try network("Backup \($0)") }, backupsRevision: number)
}

/// How many commits of this process were acknowledged.
private let commits = Atomic<Int>(0)

/// Runs in the child: commits for ever, writing down what was acknowledged, until its own second thread kills it.
private func commitUntilKilled(in scratch: String) throws {
    let store = try openStore(at: "\(scratch)/keyfile")
    let log = open("\(scratch)/acknowledged", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    var killer = pthread_t()
    let killAtAnyMoment: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { _ in
        let enough = Int.random(in: 2...40)
        while commits.load(ordering: .relaxed) < enough { sched_yield() }
        for _ in 0..<Int.random(in: 0...2_000) { sched_yield() }
        kill(getpid(), SIGKILL)
        return nil
    }
    guard pthread_create(&killer, nil, killAtAnyMoment, nil) == 0 else { exit(EXIT_FAILURE) }
    for number in (store.state.backupsRevision + 1)... {
        try store.commit(try numberedState(number))
        var acknowledged = number
        guard pwrite(log, &acknowledged, 8, 0) == 8 else { exit(EXIT_FAILURE) }
        commits.add(1, ordering: .relaxed)
    }
}
