import AgentModel
import Glibc
import Testing

@testable import KeyFile

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
