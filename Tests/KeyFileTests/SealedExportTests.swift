import AgentModel
import Randomness
import Testing

@testable import KeyFile

@Suite struct SealedExportTests {
    private static let passphrase = Secret(text: "open sesame")
    /// Made once, for making the key takes its time on purpose.
    private static let sample = Result { try SealedExport.seal(try .sample(), under: passphrase) }

    @Test func opensAgain() throws {
        for state in [StoredState(), try StoredState.sample()] {
            let export = try SealedExport.seal(state, under: Self.passphrase)
            #expect(try SealedExport.open(export, with: Self.passphrase) == state)
            #expect(export.count <= SealedExport.maximumSize)
        }
    }

    /// RFC 7914, clause 12: the first half of its 64 bytes, which is what a key of 32 bytes is.
    @Test func makesTheKeyByScrypt() throws {
        let cost = try #require(SealedExport.Cost(exponent: 14, blockSize: 8, parallelism: 1))
        let key = try SealedExport.key(from: Secret(text: "pleaseletmein"), salt: Array("SodiumChloride".utf8), cost)
        #expect(
            key.withUnsafeBytes { Hex.string(Array($0)) }
                == "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2")
    }

    /// A state of as many bytes as a store can hold.
    @Test func takesTheLargestState() throws {
        var state = try StoredState.sample()
        let size = CellChanges.size(of: state.cells(keepingSlotsOf: [:]))
        state.kept[CellID(kind: 131)] = Secret(repeatElement(7, count: CellChanges.maximumSize - size - 4))
        let export = try SealedExport.seal(state, under: Self.passphrase)
        #expect(export.count == SealedExport.maximumSize)
        #expect(try SealedExport.open(export, with: Self.passphrase) == state)
        state.kept[CellID(kind: 132)] = Secret([])
        #expect(throws: ExportError.impossibleContent) { try SealedExport.seal(state, under: Self.passphrase) }
    }

    @Test func showsNothing() throws {
        let export = try Self.sample.get()
        for secret in [SampleNames.password, "Home", "phone", "open sesame"] {
            #expect(!export.contains(Array(secret.utf8)))
        }
        #expect(try SealedExport.seal(try .sample(), under: Self.passphrase) != export)
    }

    @Test func needsItsPassphrase() throws {
        let export = try Self.sample.get()
        #expect(throws: ExportError.wrongPassphrase) {
            try SealedExport.open(export, with: Secret(text: "open sesamf"))
        }
        for short in ["", "1234567"] {
            let passphrase = Secret(text: short)
            #expect(throws: ExportError.passphraseTooShort(short.count)) {
                try SealedExport.seal(StoredState(), under: passphrase)
            }
            #expect(throws: ExportError.passphraseTooShort(short.count)) {
                try SealedExport.open(export, with: passphrase)
            }
        }
    }

    /// Without the work of making a key, for the checksum tells.
    @Test func everyFlippedBitIsSeen() throws {
        let export = try Self.sample.get()
        for index in export.indices {
            for bit in 0..<8 {
                var damaged = export
                damaged[index] ^= 1 << bit
                #expect(throws: index < 8 ? ExportError.notAnExport : .damaged) {
                    try SealedExport.open(damaged, with: Self.passphrase)
                }
            }
        }
    }

    @Test func everyTruncationIsSeen() throws {
        let export = try Self.sample.get()
        for count in export.indices {
            #expect(throws: count < 8 ? ExportError.notAnExport : .damaged) {
                try SealedExport.open(Array(export.prefix(count)), with: Self.passphrase)
            }
        }
        #expect(throws: ExportError.damaged) { try SealedExport.open(export + [0], with: Self.passphrase) }
        let endless = export + Array(repeating: 0, count: 1 << 20)
        #expect(throws: ExportError.damaged) { try SealedExport.open(endless, with: Self.passphrase) }
    }

    /// An attacker who can make a checksum cannot make the device run out of memory or time.
    @Test func aHostileCostIsRefused() throws {
        let export = try Self.sample.get()
        for offset in 10...12 {
            for value in UInt8.min ... .max where value != export[offset] {
                // Its neighbours cost a quarter of a second each, and fail as a wrong passphrase does.
                if offset == 10, (14...16).contains(value) { continue }
                let forged = Self.forged(export) { $0[offset] = value }
                #expect(throws: ExportError.unacceptableCost) { try SealedExport.open(forged, with: Self.passphrase) }
            }
        }
    }

    @Test func aForgedExportIsNotOpened() throws {
        let export = try Self.sample.get()
        let body = SealedExport.headerSize
        // Cost, salt, nonce, ciphertext, tag.
        for offset in [10, 31, 32, body, export.count - 5] {
            let forged = Self.forged(export) { $0[offset] ^= 1 }
            #expect(throws: ExportError.wrongPassphrase) {
                try SealedExport.open(forged, with: Self.passphrase)
            }
        }
        for version in [UInt8(0), 2] {
            let forged = Self.forged(export) { $0[9] = version }
            #expect(throws: ExportError.otherVersion(UInt16(version))) {
                try SealedExport.open(forged, with: Self.passphrase)
            }
        }
        // The bytes that must be zero, and the size.
        for offset in [13, 14, 15, 44, 45, 46, 47] {
            let forged = Self.forged(export) { $0[offset] ^= 1 }
            #expect(throws: ExportError.damaged) { try SealedExport.open(forged, with: Self.passphrase) }
        }
    }

    @Test func anyBytes() throws {
        var random = SeededRandom(seed: 3)
        let magic = Array("ALTNETSX".utf8)
        for _ in 0..<5000 {
            let count = Int.random(in: 0...300, using: &random)
            let bytes = magic + (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(throws: ExportError.self) { try SealedExport.open(bytes, with: Self.passphrase) }
        }
    }

    /// Changed, and with the checksum that goes with it.
    private static func forged(_ export: [UInt8], _ change: (inout [UInt8]) -> Void) -> [UInt8] {
        var bytes = Array(export.dropLast(SealedExport.checksumSize))
        change(&bytes)
        let checksum = bytes.withUnsafeBytes { CRC32.checksum($0) }
        return bytes + withUnsafeBytes(of: checksum.bigEndian) { Array($0) }
    }
}

@Suite struct ImportTests {
    @Test func intoAnEmptyStore() throws {
        try withScratchDirectory { folder in
            let keyFile = try SampleStore(folder: folder).place.open(maximumBackups: 3)
            var expected = try StoredState.sample()
            try keyFile.importState(expected, replacing: false)
            expected.pendingSwitch = nil
            #expect(keyFile.state == expected)
            #expect(keyFile.usage.commits == 1)
        }
    }

    @Test func replacesOnlyWhenAsked() throws {
        try SampleStore.with([StoredState(home: try sampleNetwork(SampleNames.attic))]) { store in
            let keyFile = try store.place.open(maximumBackups: 3)
            let before = (keyFile.state, try content(of: store.path))
            #expect(throws: ImportError.notEmpty(networks: 1)) { try keyFile.importState(.sample(), replacing: false) }
            #expect(keyFile.state == before.0)
            #expect(try content(of: store.path) == before.1)
            try keyFile.importState(.sample(), replacing: true)
            #expect(keyFile.state.home?.ssid == SampleNames.home)
            #expect(keyFile.usage.commits == 1)
        }
    }

    @Test func countersDoNotGoBack() throws {
        let stored = StoredState(replayCounters: ["phone": 9, "cloud": 3])
        try SampleStore.with([stored]) { store in
            let keyFile = try store.place.open(maximumBackups: 3)
            var imported = try StoredState.sample()
            imported.replayCounters = ["phone": 7, "cloud": 5, "other": 1]
            try keyFile.importState(imported, replacing: false)
            #expect(keyFile.state.replayCounters == ["phone": 9, "cloud": 5, "other": 1])
        }
    }

    @Test(arguments: [(UInt64(0), UInt64(4)), (1, 5), (9, 10), (.max, .max)])
    func anotherListHasAnotherRevision(stored: UInt64, expected: UInt64) throws {
        try SampleStore.with([StoredState(backupsRevision: stored, replayCounters: ["a": 1])]) { store in
            let keyFile = try store.place.open(maximumBackups: 3)
            try keyFile.importState(.sample(), replacing: false)
            #expect(keyFile.state.backupsRevision == expected)
        }
    }

    @Test func tooManyBackupsChangeNothing() throws {
        try SampleStore.with([StoredState(replayCounters: ["a": 1])]) { store in
            let keyFile = try store.place.open(maximumBackups: 1)
            let before = try content(of: store.path)
            #expect(throws: ImportError.store(.tooManyBackups(count: 2, maximum: 1))) {
                try keyFile.importState(.sample(), replacing: true)
            }
            #expect(keyFile.state == StoredState(replayCounters: ["a": 1]))
            #expect(try content(of: store.path) == before)
        }
    }

    @Test func aNewRootKeyAtRandom() throws {
        let states = try StoredState.seen(times: 80)
        try SampleStore.with(states) { store in
            let former = try content(of: store.rootKeyPath)
            try store.place.open(maximumBackups: 3).renewRootKey()
            #expect(try content(of: store.rootKeyPath) != former)
            let examination = try store.place.examine()
            #expect(examination.verdict == .inOrder)
            #expect(examination.sectors.count { $0.state == .blank } == 7)
            try write(former, to: store.rootKeyPath)
            #expect(try store.place.examine().content == .refused(.wrongRootKey(path: store.path)))
        }
    }
}
