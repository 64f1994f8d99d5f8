import AgentModel
import Glibc
import Randomness
import Testing

@testable import KeyFile

@Suite struct ExaminationTests {
    private static let sectorSize = Geometry.file.sectorSize

    /// Fewer sectors than there are, and all of them several times.
    @Test(arguments: [200, 1500])
    func aStoreInOrder(records: Int) throws {
        let states = try StoredState.seen(times: records)
        try SampleStore.with(states) { store in
            let examination = try store.place.examine()
            #expect(examination.verdict == .inOrder)
            #expect(examination.isPresent)
            guard case .state(let state, let generation) = examination.content else {
                Issue.record("no state: \(examination.content)")
                return
            }
            #expect(state == states.last)
            let current = try #require(examination.sectors.first { $0.state == .current })
            #expect(current.generations?.upperBound == generation)
            let older = examination.sectors.filter { $0.state == .older }
            #expect(older.count + examination.sectors.count { $0.state == .blank } == 7)
            #expect(older.count >= 2)
            for sector in older {
                #expect(sector.isClosed)
                #expect(sector.used > sector.usedByBeginning)
                #expect((sector.header?.sequence ?? .max) < (current.header?.sequence ?? 0))
            }
            #expect(try !store.place.isInUse())
        }
    }

    @Test func looksBesideARunningAgentAndChangesNothing() throws {
        try SampleStore.with(try StoredState.seen(times: 5), anchored: true) { store in
            // A fault that opening for use would correct.
            chmod(store.rootKeyPath, 0o644)
            chmod(store.path, 0o644)
            let before = try store.everything()
            let examination = try store.anchored.examine()
            #expect(try store.everything() == before)
            #expect(examination.verdict == .remarks)
            #expect(examination.findings.contains(.readableByOthers(path: store.path, corrected: false)))
            #expect(examination.findings.contains(.readableByOthers(path: store.rootKeyPath, corrected: false)))

            let agent = try store.anchored.open(maximumBackups: 3)
            let opened = try store.everything()
            #expect(try store.anchored.isInUse())
            #expect(try store.anchored.examine().verdict == .inOrder)
            #expect(try store.everything() == opened)
            // The look did not take the agent's lock away.
            #expect(throws: KeyFileError.inUse(path: store.folder)) { try store.place.open(maximumBackups: 3) }
            withExtendedLifetime(agent) {}
        }
    }

    @Test func nothingThere() throws {
        try withScratchDirectory { folder in
            let store = SampleStore(folder: folder + "/none")
            let examination = try store.anchored.examine()
            #expect(!examination.isPresent)
            #expect(try !store.anchored.isInUse())
            #expect(names(in: folder).isEmpty)
        }
    }

    @Test func withoutTheKeyOnlyChecksumsAreChecked() throws {
        try SampleStore.with(try StoredState.seen(times: 60)) { store in
            let examination = try store.place.examine(usingRootKey: false)
            #expect(examination.content == .sealed)
            #expect(examination.verdict == .inOrder)
            #expect(examination.sectors == (try store.place.examine().sectors))
            unlink(store.rootKeyPath)
            #expect(try store.place.examine() == examination)
        }
    }

    @Test func underAnotherKey() throws {
        try SampleStore.with(try StoredState.seen(times: 3)) { store in
            unlink(store.rootKeyPath)
            _ = try store.place.rootKey.source().makeFirst()
            let examination = try store.place.examine()
            #expect(examination.content == .refused(.wrongRootKey(path: store.path)))
            #expect(examination.sectors.map(\.state) == [.otherKey] + Array(repeating: .blank, count: 7))
            #expect(examination.verdict == .damaged)
        }
    }

    @Test func aRecordThatWasCutShort() throws {
        let states = try StoredState.seen(times: 3)
        try SampleStore.with(states) { store in
            let sector = try #require(try store.place.examine().sectors.first)
            try store.edit { $0.replaceSubrange(sector.used..<sector.used + 5, with: [2, 0, 0, 9, 9]) }
            let examination = try store.place.examine()
            #expect(examination.sectors.first?.problems == [.incompleteRecord])
            #expect(examination.findings == [.interruptedWrite])
            #expect(examination.verdict == .remarks)
            #expect(examination.state == states.last)
        }
    }

    @Test func aSectorThatWasBeingBegun() throws {
        let states = try StoredState.seen(times: 3)
        try SampleStore.with(states) { store in
            try store.edit { $0.replaceSubrange(Self.sectorSize..<Self.sectorSize + 9, with: 1...9) }
            let examination = try store.place.examine()
            #expect(examination.sectors[1].state == .unfinished)
            #expect(examination.findings == [.interruptedWrite])
            #expect(examination.verdict == .remarks)
            #expect(examination.state == states.last)
        }
    }

    @Test func aChangeOfKeysThatWasCutShort() throws {
        let states = try StoredState.seen(times: 80)
        try SampleStore.with(states) { store in
            let source = try store.place.rootKey.source()
            let former = try #require(try source.load()).current
            let next = Secret(repeatElement(0x5b, count: RootKeys.size))
            try source.prepare(next)
            let log = try RecordLog(
                medium: try FileMedium(name: "keyfile", in: try StoreDirectory(path: store.folder)), roots: [former],
                path: store.path, random: SeededRandom(seed: 1), now: { 1_700_000_000 })
            try log.rekey(to: next)
            let examination = try store.place.examine()
            #expect(examination.sectors.compactMap(\.header).count == 3)
            #expect(examination.sectors.flatMap(\.problems) == [.formerKey, .formerKey])
            #expect(examination.verdict == .remarks)
            #expect(examination.state == states.last)
        }
    }

    @Test func singleBitsArePutRight() throws {
        let states = try StoredState.seen(times: 3)
        try SampleStore.with(states) { store in
            try store.edit { $0[100] ^= 4 }
            let examination = try store.place.examine()
            #expect(examination.sectors.first?.problems == [.bitsCorrected(1)])
            #expect(examination.verdict == .remarks)
            #expect(examination.state == states.last)
        }
    }

    /// For any damage, the verdict says so, and the state is one that was committed.
    @Test func everyDamageIsSeen() throws {
        let states = try StoredState.seen(times: 80)
        try SampleStore.with(states) { store in
            let whole = try content(of: store.path)
            let sectors = try store.place.examine().sectors.filter { $0.header != nil }
            #expect(sectors.count >= 2)
            for sector in sectors {
                for offset in stride(from: 0, to: sector.used, by: 191) {
                    try store.edit { bytes in
                        bytes = whole
                        bytes[sector.index * Self.sectorSize + offset] ^= 0xff
                    }
                    let examination = try store.place.examine()
                    #expect(examination.verdict != .inOrder, "byte \(offset) of sector \(sector.index)")
                    if let state = examination.state { #expect(states.contains(state)) }
                }
            }
        }
    }

    @Test func sectorsThatWereMoved() throws {
        try SampleStore.with(try StoredState.seen(times: 80)) { store in
            try store.edit { bytes in
                let first = Array(bytes[..<Self.sectorSize])
                bytes.replaceSubrange(..<Self.sectorSize, with: bytes[Self.sectorSize..<2 * Self.sectorSize])
                bytes.replaceSubrange(Self.sectorSize..<2 * Self.sectorSize, with: first)
            }
            let examination = try store.place.examine()
            #expect(examination.sectors[0].problems == [.moved(from: 1)])
            #expect(examination.sectors[1].problems == [.moved(from: 0)])
            #expect(examination.verdict == .damaged)
        }
    }

    /// Two sectors of one age, from two histories that began alike: every record is authentic, only the chain is not.
    @Test func sectorsOfAnotherHistory() throws {
        try SampleStore.with(try StoredState.seen(times: 30)) { store in
            let fork = try content(of: store.path)
            try store.commit(try StoredState.seen(times: 90, first: 1000))
            let other = try content(of: store.path)
            try store.edit { $0 = fork }
            try store.commit(try StoredState.seen(times: 90, first: 2000))
            let current = try #require(try store.place.examine().sectors.first { $0.state == .current }).index
            #expect(current >= 2)
            let range = current * Self.sectorSize..<(current + 1) * Self.sectorSize
            try store.edit { $0.replaceSubrange(range, with: other[range]) }
            let examination = try store.place.examine()
            #expect(examination.sectors[current].problems == [.linkBroken(predecessor: current - 1)])
            #expect(examination.sectors[current - 1].problems == [.successorReplaced(current)])
            #expect(examination.verdict == .damaged)
        }
    }

    @Test func theNewestSectorIsErased() throws {
        try SampleStore.with(try StoredState.seen(times: 80)) { store in
            let current = try #require(try store.place.examine().sectors.first { $0.state == .current }).index
            let range = current * Self.sectorSize..<(current + 1) * Self.sectorSize
            try store.edit { $0.replaceSubrange(range, with: repeatElement(0xff, count: Self.sectorSize)) }
            let examination = try store.place.examine()
            #expect(examination.findings == [.newestSectorLost])
            #expect(examination.sectors[current - 1].problems == [.successorMissing])
            #expect(examination.verdict == .damaged)
            // The loss is made good by the next start, and is history then.
            _ = try store.place.open(maximumBackups: 3)
            #expect(try store.place.examine().verdict == .inOrder)
        }
    }

    @Test func anOlderImage() throws {
        try SampleStore.with(try StoredState.seen(times: 3), anchored: true) { store in
            let image = try content(of: store.path)
            try store.commit(try StoredState.seen(times: 5, first: 100), anchored: true)
            try store.edit { $0 = image }
            let examination = try store.anchored.examine()
            #expect(examination.findings.map(\.isSerious) == [true])
            #expect(examination.verdict == .damaged)
            #expect(try store.place.examine().verdict == .inOrder)
        }
    }

    @Test(arguments: 0..<12)
    func anyBytes(seed: Int) throws {
        try SampleStore.with(try StoredState.seen(times: 3)) { store in
            var random = SeededRandom(seed: UInt64(seed))
            let count = Int.random(in: 0...40_000, using: &random)
            try store.edit { $0 = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) } }
            let examination = try store.place.examine()
            #expect(examination.verdict == .damaged)
            #expect(examination.content == .empty)
        }
    }

    @Test func whatIsNoStore() throws {
        try withScratchDirectory { folder in
            let store = SampleStore(folder: folder)
            mkdir(store.path, 0o700)
            #expect(throws: KeyFileError.notRegularFile(path: store.path)) { try store.place.examine() }
            #expect(throws: KeyFileError.self) {
                try StorePlace(path: "/dev/null", rootKey: .file(path: "/k")).examine()
            }
            #expect(throws: KeyFileError.invalidPath("")) {
                try StorePlace(path: "", rootKey: .file(path: "/k")).examine()
            }
        }
    }
}

extension Examination {
    fileprivate var state: StoredState? {
        if case .state(let state, _) = content { state } else { nil }
    }
}

extension SampleStore {
    fileprivate func edit(_ change: (inout [UInt8]) -> Void) throws {
        var bytes = try content(of: path)
        change(&bytes)
        try write(bytes, to: path)
    }
}
