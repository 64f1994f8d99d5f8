import AgentModel
import Randomness
import Testing

@testable import KeyFile

/// The store on a disk that does as it is told.
@Suite struct KeyFileTests {
    @Test func startsEmptyAndKeepsWhatIsCommitted() throws {
        let disk = SimulatedDisk()
        let store = try KeyFile(disk)
        #expect(store.state == StoredState())
        #expect(store.report == [])
        #expect(disk.files.isEmpty, "opening makes no file")
        try store.commit(try fullState())
        #expect(store.state == (try fullState()))
        let again = try KeyFile(disk.afterKill())
        #expect(again.state == (try fullState()))
        #expect(again.report == [])
        #expect(Array(disk.files.keys) == ["keyfile"])
        #expect(disk.openDescriptors == 0)
    }

    @Test func writesNothingWhenNothingIsDifferent() throws {
        let disk = SimulatedDisk()
        let store = try KeyFile(disk)
        try store.commit(try fullState())
        let writes = disk.writes
        try store.commit(try fullState())
        #expect(disk.writes == writes)
    }

    @Test func writesInAsManyPiecesAsTheDiskTakes() throws {
        let disk = SimulatedDisk()
        disk.longestWrite = 7
        try KeyFile(disk).commit(try fullState())
        #expect(try KeyFile(disk.afterKill()).state == fullState())
    }

    /// Impossible states are refused with the reason, before anything is written.
    @Test func refusesImpossibleStates() throws {
        let disk = SimulatedDisk()
        let store = try KeyFile(disk)
        try store.commit(try fullState())
        let (before, writes) = (disk.files, disk.writes)
        let ssid = try SSID("Attic")
        func refused(_ expected: KeyFileError, _ change: (inout StoredState) throws -> Void) throws {
            var state = try fullState()
            try change(&state)
            #expect(throws: expected) { try store.commit(state) }
            #expect(store.state == (try fullState()))
        }
        try refused(.tooManyBackups(count: 4, maximum: 3)) { $0.backups += [try network("A"), try network("B")] }
        try refused(.duplicateBackup(ssid)) { $0.backups.append(try network("Attic", password: nil)) }
        try refused(.invalidPassphrase(ssid, .length(7))) { $0.backups[0] = try network("Attic", password: "1234567") }
        try refused(.invalidPassphrase(ssid, .length(64))) {
            $0.home = try network("Attic", password: String(repeating: "x", count: 64))
        }
        try refused(.invalidPassphrase(ssid, .notPrintableASCII)) {
            $0.chosen = try network("Attic", password: "12345678\n")
        }
        try refused(.invalidKey(ssid, bytes: 31)) {
            let psk = Secret(repeatElement(1, count: 31))
            let target = StoredNetwork(ssid: ssid, credential: .passphrase(Secret(text: "12345678"), psk: psk))
            $0.pendingSwitch = PendingSwitch(id: "1", target: target, cameFrom: nil)
        }
        try refused(.switchIdentifierTooLong(bytes: 66)) { $0.pendingSwitch?.id = String(repeating: "é", count: 33) }
        #expect(disk.files == before)
        #expect(disk.writes == writes)
    }

    @Test(arguments: [-1, 0, 11, Int.max]) func refusesAnImpossibleMaximum(maximum: Int) {
        #expect(throws: KeyFileError.maximumOutOfRange(maximum)) {
            try KeyFile(SimulatedDisk(), maximumBackups: maximum)
        }
    }

    /// A setting that was lowered takes no network away from the device, and does not stop other changes.
    @Test func keepsALongerListUntilItIsChanged() throws {
        let disk = SimulatedDisk()
        var state = try fullState()
        try KeyFile(disk, maximumBackups: 2).commit(state)
        let store = try KeyFile(disk.afterKill(), maximumBackups: 1)
        #expect(store.state == state)
        state.pendingSwitch = nil
        try store.commit(state)
        state.backups.swapAt(0, 1)
        #expect(throws: KeyFileError.tooManyBackups(count: 2, maximum: 1)) { try store.commit(state) }
        state.backups.removeLast()
        try store.commit(state)
        #expect(try KeyFile(disk.afterKill()).state == state)
    }

    /// Each of all bits: never read as if it were right, never taken for a newer version, kept to be looked into.
    @Test func noticesEveryFlippedBit() throws {
        let bytes = Image(generation: 1, state: try fullState()).bytes
        for bit in 0..<bytes.count * 8 {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            let disk = SimulatedDisk(files: ["keyfile": flipped])
            let store = try KeyFile(disk)
            #expect(store.state == StoredState())
            #expect(store.report.count == 1)
            guard case .damaged(_, keptAs: "/store/keyfile.damaged") = store.report.first else {
                Issue.record("bit \(bit): \(store.report)")
                continue
            }
            #expect(disk.files == ["keyfile.damaged": flipped])
        }
    }

    @Test func startsWithAnyFileAndWorksOn() throws {
        var random = SeededRandom(seed: 4)
        let valid = Image(generation: 9, state: try fullState()).bytes
        func anything() -> [UInt8]? {
            switch Int.random(in: 0..<4, using: &random) {
            case 0: nil
            case 1: (0..<Int.random(in: 0...100, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            case 2: Array(repeatElement(UInt8.random(in: 0...255, using: &random), count: 3_000))
            default: Array(valid.prefix(Int.random(in: 0..<valid.count, using: &random)))
            }
        }
        for _ in 0..<5_000 {
            var files: [String: [UInt8]] = [:]
            for name in ["keyfile", "keyfile.new", "keyfile.damaged"] { files[name] = anything() }
            let disk = SimulatedDisk(files: files)
            let store = try KeyFile(disk)
            #expect(store.state == StoredState())
            #expect(store.report.isEmpty == (files["keyfile"] == nil))
            #expect(disk.files["keyfile.damaged"] == files["keyfile"] ?? files["keyfile.damaged"])
            try store.commit(try fullState())
            #expect(try KeyFile(disk.afterKill()).state == fullState())
        }
    }

    @Test func leavesANewerVersionUntouched() throws {
        let newer = sealed([1, 2, 3], version: 2)
        let current = Image(generation: 1, state: try fullState()).bytes
        func refused(_ files: [String: [UInt8]], _ path: String) {
            let disk = SimulatedDisk(files: files)
            #expect(throws: KeyFileError.newerVersion(path: path, version: 2)) { try KeyFile(disk) }
            #expect(disk.files == files)
            #expect(disk.writes == 0)
            #expect(disk.openDescriptors == 0)
        }
        refused(["keyfile": newer], "/store/keyfile")
        refused(["keyfile": newer, "keyfile.new": current], "/store/keyfile")
        refused(["keyfile.new": newer], "/store/keyfile.new")
        refused(["keyfile": [1], "keyfile.new": newer], "/store/keyfile.new")
        // A newer altnet that was rolled back before its first commit was done: the old file is what counts.
        #expect(try KeyFile(SimulatedDisk(files: ["keyfile": current, "keyfile.new": newer])).state == fullState())
    }

    @Test func takesTheNewerOfFileAndLeftover() throws {
        func image(_ generation: UInt64) -> Image {
            Image(generation: generation, state: StoredState(backupsRevision: generation))
        }
        func opened(_ file: [UInt8]?, _ leftover: [UInt8]) throws -> (revision: UInt64, report: [Finding]) {
            var files = ["keyfile.new": leftover]
            files["keyfile"] = file
            let disk = SimulatedDisk(files: files)
            let store = try KeyFile(disk)
            #expect(disk.files["keyfile.new"] == nil)
            return (store.state.backupsRevision, store.report)
        }
        #expect(try opened(image(4).bytes, image(5).bytes) == (5, [.interruptedCommitFinished]))
        #expect(try opened(image(5).bytes, image(4).bytes) == (5, []))
        #expect(try opened(image(5).bytes, Array(image(6).bytes.dropLast())) == (5, []))
        #expect(try opened(nil, image(1).bytes) == (1, [.interruptedCommitFinished]))
        let damaged = Finding.damaged(.notKeyFile, keptAs: "/store/keyfile.damaged")
        #expect(try opened([], image(6).bytes) == (6, [damaged, .interruptedCommitFinished]))
    }

    @Test func reportsAFileThatOthersCouldRead() throws {
        let disk = SimulatedDisk(files: ["keyfile": Image(generation: 1, state: try fullState()).bytes])
        disk.openToOthers("keyfile")
        #expect(try KeyFile(disk).report == [.readableByOthers(corrected: true)])
        #expect(try KeyFile(disk.afterKill()).report == [])
    }

    @Test func errorsAndFindingsSayWhatToDoAndNoSecret() throws {
        let ssid = try SSID(bytes: [0x1b, 0x5b])
        let errors: [KeyFileError] = [
            .inUse(directory: "/d"), .newerVersion(path: "/d/k", version: 2), .invalidPath(""),
            .notRegularFile(path: "/d"),
            .maximumOutOfRange(0), .tooManyBackups(count: 4, maximum: 3), .duplicateBackup(ssid),
            .invalidPassphrase(ssid, .length(1)), .invalidKey(ssid, bytes: 1), .switchIdentifierTooLong(bytes: 65),
            .system(.write, path: "/d", errno: 28),
        ]
        for error in errors {
            #expect(error.description.contains(":") || error.description.contains("at most"))
            #expect(!error.description.contains("\u{1b}"))
        }
        #expect(
            errors.last?.description == "cannot write /d: No space left on device: free some space on its file system")
        #expect("\(Finding.damaged(.wrongChecksum, keptAs: "/d/k.damaged"))".contains("(wrong checksum)"))
        var dumped = ""
        dump(try fullState(), to: &dumped)
        #expect(!dumped.contains("horse"))
    }
}
