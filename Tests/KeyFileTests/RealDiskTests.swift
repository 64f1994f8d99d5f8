import Glibc
import Synchronization
import Testing

@testable import KeyFile

/// The store on the machine's own file systems.
@Suite struct RealDiskTests {
    @Test func keepsTheStatePrivateAndAcrossOpenings() throws {
        try withScratchDirectory { scratch in
            let path = "\(scratch)/var/lib//altnet/keyfile"
            for round in 1...3 as ClosedRange<UInt64> {
                let store = try openStore(at: path)
                #expect(store.report == [])
                #expect(store.state.backupsRevision == round - 1)
                try store.commit(StoredState(home: try network("Home"), backupsRevision: round))
            }
            #expect(mode("\(scratch)/var") == 0o700)
            #expect(mode("\(scratch)/var/lib/altnet") == 0o700)
            #expect(mode(path) == 0o600)
            #expect(names(in: "\(scratch)/var/lib/altnet") == ["keyfile", "root-key"])
        }
    }

    @Test func takesAccessAwayFromOthers() throws {
        try withScratchDirectory { scratch in
            let path = "\(scratch)/keyfile"
            try openStore(at: path).commit(try fullState())
            #expect(chmod(path, 0o644) == 0)
            #expect(try openStore(at: path).report == [.readableByOthers(path: path, corrected: true)])
            #expect(mode(path) == 0o600)
        }
    }

    /// An object that others put in the place of a file that is about to be made is replaced, neither written into nor
    /// followed.
    @Test func followsNoBait() throws {
        try withScratchDirectory { scratch in
            try write([1, 2, 3], to: "\(scratch)/bait")
            for name in ["keyfile.new", "root-key.new"] { #expect(symlink("bait", "\(scratch)/\(name)") == 0) }
            try openStore(at: "\(scratch)/keyfile").commit(try fullState())
            #expect(names(in: scratch) == ["bait", "keyfile", "root-key"])
            #expect(mode("\(scratch)/keyfile") == 0o600)
            #expect(try contents(of: "\(scratch)/bait") == [1, 2, 3])
        }
    }

    @Test func isOpenOnceOnly() throws {
        try withScratchDirectory { scratch in
            let path = "\(scratch)/keyfile"
            var first: KeyFile? = try openStore(at: path)
            #expect(first?.state == StoredState())
            #expect(throws: KeyFileError.inUse(path: scratch)) { try openStore(at: path) }
            first = nil
            _ = try openStore(at: path)
        }
    }

    /// A refused opening lets go of its lock and its descriptors.
    @Test func aRefusedOpeningLeavesNothingOpen() throws {
        try withScratchDirectory { scratch in
            let path = "\(scratch)/keyfile"
            var prologue = Array("ALTNETKF".utf8) + [0, 4, 0, 0]
            let checksum = prologue.withUnsafeBytes { CRC32.checksum($0) }
            prologue += withUnsafeBytes(of: checksum.bigEndian) { Array($0) }
            try write(prologue + Array(repeating: 0, count: 32_752), to: path, mode: 0o600)
            for _ in 0..<3 {
                #expect(throws: KeyFileError.otherVersion(path: path, version: 4)) {
                    try openStore(at: path)
                }
            }
        }
    }

    @Test func refusesWhatIsNoFile() throws {
        for path in ["", "/", "/var/lib/", "..", "/var/.", "a\0b"] {
            #expect(throws: KeyFileError.invalidPath(path)) { try openStore(at: path) }
        }
        try withScratchDirectory { scratch in
            func refused(_ error: KeyFileError, _ name: String) {
                #expect(throws: error) { try openStore(at: "\(scratch)/\(name)") }
            }
            #expect(mkdir("\(scratch)/directory", 0o700) == 0)
            refused(.notRegularFile(path: "\(scratch)/directory"), "directory")
            #expect(mkfifo("\(scratch)/pipe", 0o600) == 0)
            refused(.notRegularFile(path: "\(scratch)/pipe"), "pipe")
            #expect(symlink("missing", "\(scratch)/link") == 0)
            refused(.system(.open, path: "\(scratch)/link", errno: ELOOP), "link")
            refused(.system(.open, path: "\(scratch)/link", errno: ENOENT), "link/keyfile")
            try write([], to: "\(scratch)/file", mode: 0o600)
            refused(.system(.open, path: "\(scratch)/file", errno: ENOTDIR), "file/keyfile")
        }
    }

    @Test(.enabled(if: canMount, "needs root and the right to mount"))
    func aFullDiskRefusesTheFirstCommitAndNoOther() throws {
        try withTinyFileSystem { directory in
            func fill() {
                #expect(throws: ScratchError(errno: ENOSPC)) {
                    try write(Array(repeating: 0, count: 1 << 20), to: "\(directory)/fill")
                }
            }
            let store = try openStore(at: "\(directory)/keyfile")
            fill()
            do throws(KeyFileError) {
                try store.commit(StoredState(backupsRevision: 9))
                Issue.record("a full disk took a first commit")
            } catch {
                guard case .system(_, _, ENOSPC) = error else { throw error }
                #expect(error.description.contains("free some space"))
            }
            #expect(store.state == StoredState())
            #expect(!names(in: directory).contains("keyfile.new"))
            #expect(unlink("\(directory)/fill") == 0)
            try store.commit(StoredState(backupsRevision: 9))
            // From now on it overwrites what it has, so that nothing can take its room.
            fill()
            for revision in 10...300 as ClosedRange<UInt64> { try store.commit(StoredState(backupsRevision: revision)) }
            #expect(store.state.backupsRevision == 300)
        }
    }

    @Test(.enabled(if: canMount, "needs root and the right to mount"))
    func aReadOnlyDiskCanBeReadAndRefusesCommits() throws {
        try withTinyFileSystem { directory in
            let path = "\(directory)/keyfile"
            try openStore(at: path).commit(try fullState())
            #expect(mount("none", directory, nil, UInt(MS_REMOUNT) | UInt(MS_RDONLY), nil) == 0)
            let store = try openStore(at: path)
            #expect(store.state == (try fullState()))
            do throws(KeyFileError) {
                try store.commit(StoredState(backupsRevision: 9))
                Issue.record("a read-only disk took a commit")
            } catch {
                guard case .system(_, _, EROFS) = error else { throw error }
                #expect(error.description.contains("writable"))
            }
            #expect(store.state == (try fullState()))
            #expect(mount("none", directory, nil, UInt(MS_REMOUNT), nil) == 0)
            try store.commit(StoredState(backupsRevision: 9))
        }
    }
}

/// A store whose root key is beside it.
func openStore(at path: String) throws(KeyFileError) -> KeyFile {
    guard let (directory, _) = KeyFile.split(path) else { throw .invalidPath(path) }
    return try KeyFile.open(path: path, maximumBackups: 3, rootKey: RootKeyFile(path: "\(directory)/root-key"))
}

/// The store of a process that is killed while it commits.
@Suite struct KillTests {
    /// A real process commits one state after the other and is killed with SIGKILL at an arbitrary moment, ten times
    /// over. Each time the store must hold the last state that it acknowledged, or the one after it, whole; and no
    /// lock.
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

/// Properties of devices on any machine; `Tests/LabTests/KeyFileDeviceTests.swift` has flash and disks.
@Suite struct DeviceMediumTests {
    @Test(arguments: ["/", "/etc/passwd", "/nowhere/keyfile", ""])
    func whatIsNoDeviceIsLeftToOthers(path: String) throws {
        #expect(try DeviceMedium.open(path: path) == nil)
    }

    /// Other character devices are not even opened: some do something then.
    @Test(arguments: ["/dev/null", "/dev/tty", "/dev/ptmx"])
    func onlyFlashHoldsAStore(path: String) {
        let error = #expect(throws: KeyFileError.self) { try DeviceMedium.open(path: path) }
        guard case .unsuitableDevice(path, let problem)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(problem.contains("flash"))
    }
}
