import AgentModel
import Glibc
import KeyFileSimulation
import Testing

@testable import KeyFile

/// The store on a disk that does as it is told.
@Suite struct KeyFileTests {
    @Test func startsEmptyAndKeepsWhatIsCommitted() throws {
        let board = SimulatedBoard(SimulatedDisk())
        let store = try board.open()
        #expect(store.state == StoredState())
        #expect(store.report == [])
        #expect(board.disk.files.isEmpty, "opening makes no file")
        try store.commit(try fullState())
        #expect(store.state == (try fullState()))
        let again = try board.open()
        #expect(again.state == (try fullState()))
        #expect(again.report == [])
        #expect(board.disk.files.keys.sorted() == ["keyfile", "root-key"])
    }

    @Test func writesInAsManyPiecesAsTheDiskTakes() throws {
        let board = SimulatedBoard(SimulatedDisk())
        board.disk.longestWrite = 7
        try board.open().commit(try fullState())
        #expect(try board.open().state == fullState())
    }

    /// Nothing of what is stored can be read without the root key.
    // covers: seed/no-plain-password
    @Test func showsNothingOfWhatItHolds() throws {
        let board = SimulatedBoard(SimulatedDisk())
        try board.open().commit(try fullState())
        for word in ["Home", "Attic", "horse", "12345678", "app", "s-1"] {
            #expect(!board.store.contains(Array(word.utf8)), "\(word)")
        }
    }

    /// Impossible states are refused with the reason, before anything is written.
    @Test func refusesImpossibleStates() throws {
        let board = SimulatedBoard(SimulatedDisk())
        let store = try board.open()
        try store.commit(try fullState())
        let (before, writes) = (board.disk.files, board.disk.writes)
        let ssid = try SSID("Attic")
        func refused(_ expected: KeyFileError, _ change: (inout StoredState) throws -> Void) throws {
            var state = try fullState()
            try change(&state)
            #expect(throws: expected) { try store.commit(state) }
            #expect(store.state == (try fullState()))
        }
        try refused(.tooManyBackups(count: 4, maximum: 3)) { $0.backups += [try network("A"), try network("B")] }
        try refused(.duplicateBackup(ssid)) { $0.backups.append($0.backups[0]) }
        try refused(.invalidPassphrase(ssid, .length(7))) { $0.backups[0] = try network("Attic", password: "1234567") }
        try refused(.counterWouldGoBack(name: "app")) { $0.replayCounters["app"] = 6 }
        try refused(.switchIdentifierTooLong(bytes: 66)) { $0.pendingSwitch?.id = String(repeating: "é", count: 33) }
        #expect(board.disk.files == before)
        #expect(board.disk.writes == writes)
    }

    /// Passwords that SAE alone takes, in every network that there can be, and a key in place of a password.
    @Test func keepsPasswordsOfWPA3AndKeys() throws {
        let board = SimulatedBoard(SimulatedDisk())
        var state = try fullState()
        for index in state.backups.indices {
            state.backups[index] = try network("W\(index)", password: String(repeating: "é", count: 64))
            state.backups[index].minimumSecurity = [.sae, .pmf]
        }
        state.home = try network("Key", password: String(repeating: "0f", count: 32))
        try board.open().commit(state)
        #expect(try board.open().state == state)
        state.backups[0].minimumSecurity = .pmf
        #expect(throws: KeyFileError.invalidPassphrase(state.backups[0].ssid, .length(128))) {
            try board.open().commit(state)
        }
    }

    @Test(arguments: [-1, 0, 11, Int.max]) func refusesAnImpossibleMaximum(maximum: Int) {
        #expect(throws: KeyFileError.maximumOutOfRange(maximum)) {
            try SimulatedBoard(SimulatedDisk()).open(maximumBackups: maximum)
        }
    }

    /// A setting that was lowered takes no network away from the device, and does not stop other changes.
    @Test func keepsALongerListUntilItIsChanged() throws {
        let board = SimulatedBoard(SimulatedDisk())
        var state = try fullState()
        try board.open(maximumBackups: 2).commit(state)
        let store = try board.open(maximumBackups: 1)
        #expect(store.state == state)
        state.pendingSwitch = nil
        try store.commit(state)
        state.backups.swapAt(0, 1)
        #expect(throws: KeyFileError.tooManyBackups(count: 2, maximum: 1)) { try store.commit(state) }
        state.backups.removeLast()
        try store.commit(state)
        #expect(try board.open().state == state)
    }

    // MARK: Root keys

    @Test func doesNotOpenWithoutItsRootKey() throws {
        let (board, states) = try usedBoard(commits: 10)
        let key = try #require(board.disk.files["root-key"])
        func opening(_ rootKey: [UInt8]?) throws -> KeyFile {
            var files = board.disk.files
            files["root-key"] = rootKey
            let copy = SimulatedBoard(SimulatedDisk(files: files))
            defer { #expect(copy.store == board.store, "it was not touched") }
            return try copy.open()
        }
        #expect(try opening(key).state == states.last)
        #expect(throws: KeyFileError.noRootKey(source: "/store/root-key")) { try opening(nil) }
        let other = Array(String(repeating: "5", count: 64).utf8) + [0x0a]
        #expect(throws: KeyFileError.wrongRootKey(path: "/store/keyfile")) { try opening(other) }
    }

    /// After a change of keys nothing is left that the former key opens.
    @Test func aChangeOfTheRootKeyLeavesNothingUnderTheFormerOne() throws {
        let (board, states) = try usedBoard(commits: 120, isAnchored: true)
        let former = try #require(board.disk.files["root-key"])
        try board.open().changeRootKey(to: board.anotherRootKey())
        #expect(board.disk.files["root-key"] != former)
        let again = try board.open()
        #expect(again.state == states.last)
        #expect(again.report == [])
        let formerRoot = Secret(try #require(Hex.bytes(String(decoding: former.dropLast(), as: UTF8.self))))
        let medium = try board.storage.medium()
        for sector in 0..<medium.geometry.sectorCount {
            guard let header = SectorScan(sector, of: medium).header else { continue }
            #expect(SectorKeys(root: formerRoot, salt: header.salt).check != header.keyCheck)
        }
    }

    // MARK: Words

    @Test func reportsAFileThatOthersCouldRead() throws {
        let (board, _) = try usedBoard(commits: 3)
        board.disk.openToOthers(SimulatedDisk.storeName)
        #expect(try board.open().report == [.readableByOthers(path: "/store/keyfile", corrected: true)])
        #expect(try board.open().report == [])
    }

    @Test func errorsAndFindingsSayWhatToDoAndNoSecret() throws {
        let ssid = try SSID(bytes: [0x1b, 0x5b])
        let errors: [KeyFileError] = [
            .inUse(path: "/d"), .otherVersion(path: "/d/k", version: 3), .wrongRootKey(path: "/d"),
            .noRootKey(source: "/r"), .invalidRootKey(source: "/r", problem: "too short"), .invalidPath(""),
            .notRegularFile(path: "/d"), .tooSmall(path: "/d", bytes: 1, needed: 2),
            .unsuitableDevice(path: "/d", problem: "pages"), .maximumOutOfRange(0),
            .tooManyBackups(count: 4, maximum: 3), .duplicateBackup(ssid), .invalidPassphrase(ssid, .length(1)),
            .invalidKey(ssid, bytes: 1), .counterWouldGoBack(name: "app"), .foreignContent(path: "/d"),
            .badSector(path: "/d", number: 1), .anchorDamaged(path: "/a"), .encryptionFailed,
            .system(.write, path: "/d", errno: 28),
        ]
        for error in errors {
            #expect(error.description.contains(":"), "\(error)")
            #expect(!error.description.contains("\u{1b}"))
        }
        let full = errors.last?.description ?? ""
        #expect(full.contains("/d: \(String(cString: strerror(28)))"))
        var dumped = ""
        dump(try fullState(), to: &dumped)
        #expect(!dumped.contains("horse"))
    }
}
