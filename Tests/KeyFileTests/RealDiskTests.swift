import Glibc
import Testing

@testable import KeyFile

/// The store on the machine's own file systems.
@Suite struct RealDiskTests {
    @Test func keepsTheStatePrivateAndAcrossOpenings() throws {
        try withScratchDirectory { scratch in
            let path = "\(scratch)/var/lib//altnet/keyfile"
            for round in 1...3 as ClosedRange<UInt64> {
                let store = try KeyFile.open(path: path, maximumBackups: 3)
                #expect(store.report == [])
                #expect(store.state.backupsRevision == round - 1)
                try store.commit(StoredState(home: try network("Home"), backupsRevision: round))
            }
            #expect(mode("\(scratch)/var") == 0o700)
            #expect(mode("\(scratch)/var/lib/altnet") == 0o700)
            #expect(mode(path) == 0o600)
            #expect(names(in: "\(scratch)/var/lib/altnet") == ["keyfile"])
        }
    }

    @Test func takesAccessAwayFromOthers() throws {
        try withScratchDirectory { scratch in
            let path = "\(scratch)/keyfile"
            try KeyFile.open(path: path, maximumBackups: 3).commit(try fullState())
            #expect(chmod(path, 0o644) == 0)
            #expect(try KeyFile.open(path: path, maximumBackups: 3).report == [.readableByOthers(corrected: true)])
            #expect(mode(path) == 0o600)
            // What others prepare is replaced, neither written into nor followed.
            let store = try KeyFile.open(path: path, maximumBackups: 3)
            try write([1, 2, 3], to: "\(path).new", mode: 0o666)
            try store.commit(StoredState(backupsRevision: 7))
            #expect(mode(path) == 0o600)
            try write([1, 2, 3], to: "\(scratch)/bait")
            #expect(symlink("bait", "\(path).new") == 0)
            try store.commit(StoredState(backupsRevision: 8))
            #expect(names(in: scratch) == ["bait", "keyfile"])
            #expect(mode(path) == 0o600)
        }
    }

    @Test func isOpenOnceOnly() throws {
        try withScratchDirectory { scratch in
            let path = "\(scratch)/keyfile"
            var first: KeyFile? = try KeyFile.open(path: path, maximumBackups: 3)
            #expect(first?.state == StoredState())
            #expect(throws: KeyFileError.inUse(directory: scratch)) { try KeyFile.open(path: path, maximumBackups: 3) }
            first = nil
            _ = try KeyFile.open(path: path, maximumBackups: 3)
        }
    }

    /// A refused opening lets go of its lock and its descriptors.
    @Test func aRefusedOpeningLeavesNothingOpen() throws {
        try withScratchDirectory { scratch in
            let path = "\(scratch)/keyfile"
            try write(sealed([], version: 3), to: path, mode: 0o600)
            for _ in 0..<3 {
                #expect(throws: KeyFileError.newerVersion(path: path, version: 3)) {
                    try KeyFile.open(path: path, maximumBackups: 3)
                }
            }
        }
    }

    @Test func refusesWhatIsNoFile() throws {
        for path in ["", "/", "/var/lib/", "..", "/var/.", "a\0b"] {
            #expect(throws: KeyFileError.invalidPath(path)) { try KeyFile.open(path: path, maximumBackups: 3) }
        }
        try withScratchDirectory { scratch in
            func refused(_ error: KeyFileError, _ name: String) {
                #expect(throws: error) { try KeyFile.open(path: "\(scratch)/\(name)", maximumBackups: 3) }
            }
            #expect(mkdir("\(scratch)/directory", 0o700) == 0)
            refused(.notRegularFile(path: "\(scratch)/directory"), "directory")
            #expect(mkfifo("\(scratch)/pipe", 0o600) == 0)
            refused(.notRegularFile(path: "\(scratch)/pipe"), "pipe")
            #expect(symlink("/nowhere", "\(scratch)/link") == 0)
            refused(.system(.open, path: "\(scratch)/link", errno: ELOOP), "link")
            refused(.system(.open, path: "\(scratch)/link", errno: ENOENT), "link/keyfile")
            try write([], to: "\(scratch)/file", mode: 0o600)
            refused(.system(.open, path: "\(scratch)/file", errno: ENOTDIR), "file/keyfile")
        }
    }

    @Test(.enabled(if: canMount, "needs root and the right to mount"))
    func aFullDiskIsAnErrorAndTheOldStateStands() throws {
        try withTinyFileSystem { directory in
            let store = try KeyFile.open(path: "\(directory)/keyfile", maximumBackups: 3)
            try store.commit(try fullState())
            #expect(throws: ScratchError(errno: ENOSPC)) {
                try write(Array(repeating: 0, count: 1 << 20), to: "\(directory)/fill")
            }
            do throws(KeyFileError) {
                try store.commit(StoredState(backupsRevision: 9))
                Issue.record("a full disk took a commit")
            } catch {
                guard case .system(.write, _, ENOSPC) = error else { throw error }
                #expect(error.description.contains("free some space"))
            }
            #expect(store.state == (try fullState()))
            #expect(names(in: directory) == ["fill", "keyfile"])
            #expect(unlink("\(directory)/fill") == 0)
            try store.commit(StoredState(backupsRevision: 9))
        }
    }

    @Test(.enabled(if: canMount, "needs root and the right to mount"))
    func aReadOnlyDiskCanBeReadAndRefusesCommits() throws {
        try withTinyFileSystem { directory in
            let path = "\(directory)/keyfile"
            try KeyFile.open(path: path, maximumBackups: 3).commit(try fullState())
            #expect(mount("none", directory, nil, UInt(MS_REMOUNT) | UInt(MS_RDONLY), nil) == 0)
            let store = try KeyFile.open(path: path, maximumBackups: 3)
            #expect(store.state == (try fullState()))
            do throws(KeyFileError) {
                try store.commit(StoredState(backupsRevision: 9))
                Issue.record("a read-only disk took a commit")
            } catch {
                guard case .system(_, _, EROFS) = error else { throw error }
                #expect(error.description.contains("remount"))
            }
            #expect(store.state == (try fullState()))
            #expect(mount("none", directory, nil, UInt(MS_REMOUNT), nil) == 0)
            try store.commit(StoredState(backupsRevision: 9))
        }
    }
}
