import AgentModel
import Testing

@testable import KeyFile

/// What apps set beside networks, in cells that an altnet of before keeps as they are.
@Suite struct AppCellTests {
    private var state = StoredState()

    @Test mutating func theLayoutIsAsDocumented() throws {
        let cafe = try SSID("Cafe")
        state.targets = ["a=tcp://h:1"]
        state.providersOff = ["x"]
        state.signIns = [StoredSignIn(ssid: cafe, security: .open, provider: "p")]
        state.name = try DeviceName("Küche")
        let cells = state.cells(keepingSlotsOf: [:]).mapValues { $0.withBytes { Array($0) } }
        #expect(
            cells == [
                CellID(kind: 140, index: 0): [0, 11] + Array("a=tcp://h:1".utf8),
                CellID(kind: 140, index: 1): [0, 1] + Array("x".utf8),
                CellID(kind: 140, index: 2): [4] + Array("Cafe".utf8) + [4] + Array("open".utf8) + [1]
                    + Array("p".utf8),
                CellID(kind: 140, index: 3): [0, 6] + Array("Küche".utf8),
            ])
        let read = try #require(StoredState(cells: state.cells(keepingSlotsOf: [:])))
        #expect(read == state && read.targets == ["a=tcp://h:1"] && read.providersOff == ["x"])
        #expect(read.signIns == state.signIns && read.name?.text == "Küche")
    }

    /// No targets at all are something else than those of the settings.
    @Test mutating func anEmptyListIsKept() throws {
        #expect(state.targets == nil && state.cells(keepingSlotsOf: [:]).isEmpty)
        state.targets = []
        #expect(try #require(StoredState(cells: state.cells(keepingSlotsOf: [:]))).targets == [])
        state.targets = nil
        (state.providersOff, state.signIns, state.name) = (["a"], [], try DeviceName("a"))
        (state.providersOff, state.name) = ([], nil)
        #expect(state.cells(keepingSlotsOf: [:]).isEmpty)
    }

    /// They say nothing, and keep no state from being read.
    @Test(arguments: [[0], [0, 5, 1], [0, 1, 0xff], [9, 1, 2], [0xff], [1, 0x41, 3, 0x6f]] as [[UInt8]])
    func garbageIsNone(bytes: [UInt8]) throws {
        let cells = Dictionary(uniqueKeysWithValues: (0...3).map { (CellID(kind: 140, index: $0), Secret(bytes)) })
        let state = try #require(StoredState(cells: cells))
        #expect(state.targets == nil && state.providersOff == [] && state.signIns == [] && state.name == nil)
    }

    @Test func theySurviveAnyChangeOfNetworks() throws {
        var state = StoredState(home: try network("Home"))
        state.targets = ["a=tcp://h:1"]
        let before = state.cells(keepingSlotsOf: [:])
        state.backups = [try network("Garden")]
        state.home = nil
        #expect(try #require(StoredState(cells: state.cells(keepingSlotsOf: before))).targets == ["a=tcp://h:1"])
    }
}
