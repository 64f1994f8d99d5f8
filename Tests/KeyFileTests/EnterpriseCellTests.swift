import AgentModel
import KeyFileSimulation
import Testing

@testable import KeyFile

/// Certificates and a key of so many bytes, which are none of anything.
private func pem(_ label: String, bytes count: Int) -> String {
    // A sequence with an integer in it, 3 bytes of which are 4 characters, 64 of which are a line of 65.
    let content = (count - 2 * label.utf8.count - 34) * 64 / 65 / 4 * 3
    let der: [UInt8] = [0x30, 0x82, UInt8((content - 4) >> 8), UInt8((content - 4) & 0xff)]
    let base64 = Base64.text(der + Array(repeating: 0x41, count: content - 4))
    var lines = "-----BEGIN \(label)-----\n"
    for start in stride(from: 0, to: base64.count, by: 64) {
        lines += String(decoding: base64[start..<min(start + 64, base64.count)], as: UTF8.self) + "\n"
    }
    return lines + "-----END \(label)-----\n"
}

private enum Base64 {
    static func text(_ bytes: [UInt8]) -> [UInt8] {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        return stride(from: 0, to: bytes.count, by: 3).flatMap { start in
            let value = (0..<3).reduce(0) { $0 << 8 | Int(bytes[start + $1]) }
            return [18, 12, 6, 0].map { digits[value >> $0 & 63] }
        }
    }
}

private func peap(_ name: String, password: String = "p") throws -> StoredNetwork {
    StoredNetwork(
        ssid: try SSID(name),
        credential: .enterprise(
            try EnterpriseCredential(
                method: .peap, identity: "kiosk7", password: Secret(text: password),
                caCertificate: pem("CERTIFICATE", bytes: 1200), serverName: "radius.example.com")),
        security: .enterprise)
}

private func tls(_ name: String) throws -> StoredNetwork {
    StoredNetwork(
        ssid: try SSID(name),
        credential: .enterprise(
            try EnterpriseCredential(
                method: .tls, identity: name, clientCertificate: pem("CERTIFICATE", bytes: 3990),
                privateKey: Secret(text: pem("PRIVATE KEY", bytes: 3990)),
                caCertificate: pem("CERTIFICATE", bytes: 3990))),
        security: .enterprise, minimumSecurity: .pmf)
}

@Suite struct EnterpriseCellTests {
    private func state() throws -> StoredState {
        var state = StoredState(
            home: try network("Home"), current: try peap("Works"),
            backups: [try peap("Works"), try tls("Lab"), try network("Attic")], backupsRevision: 4,
            pendingSwitch: PendingSwitch(id: "s", target: try peap("Works", password: "other"), cameFrom: nil))
        state.backups[0].staticAddress = try StaticAddress("10.1.0.20/16", gateway: nil, nameServers: [])
        return state
    }

    // covers: seed/enterprise
    @Test func areKept() throws {
        let state = try state().normalised()
        let cells = state.cells(keepingSlotsOf: [:])
        #expect(cells.keys.count { $0.kind == 150 } == 3)
        #expect(StoredState(cells: cells) == state)
        #expect(state.cells(keepingSlotsOf: cells) == cells)

        let board = SimulatedBoard(SimulatedDisk())
        try board.open().commit(state)
        #expect(try board.open().state == state)
        let store = try board.open()
        let writes = board.disk.writes
        try store.commit(state)
        #expect(board.disk.writes == writes, "nothing has changed")
    }

    /// Four of the largest, which take more than a file has at first.
    @Test func theLargestFit() throws {
        let board = SimulatedBoard(SimulatedDisk())
        var state = StoredState(home: try network("Home"), backups: try ["A", "B", "C", "D"].map { try tls($0) })
        state.backups[1].isHidden = true
        try board.open(maximumBackups: 8).commit(state)
        #expect(try board.open(maximumBackups: 8).state == state)
        state.backups += try ["E", "F"].map { try tls($0) }
        #expect(throws: KeyFileError.self) { try board.open(maximumBackups: 8).commit(state) }
        #expect(try board.open(maximumBackups: 8).state.backups.count == 4, "nothing has changed")
    }

    /// An altnet that does not know kind 150 keeps its cells, and takes the network for one with a password that no
    /// access point offers enough for.
    @Test func anAltnetOfBeforeStepsOver() throws {
        let state = try state().normalised()
        let all = state.cells(keepingSlotsOf: [:])
        let older = try #require(StoredState(cells: all.filter { $0.key.kind != 150 }))
        #expect(older.backups.map(\.ssid) == state.backups.map(\.ssid))
        for network in older.backups.prefix(2) {
            guard case .passphrase(let password, let psk) = network.credential else {
                Issue.record("no password")
                continue
            }
            #expect(password.count == 32 && psk.count == 32)
            try Passphrase.validate(password)
            #expect(!LinkProtection([.sae, .owe, .pmf]).isSuperset(of: network.minimumSecurity), "no link has this")
        }
        // What it changes, and what it removes.
        var changed = older
        changed.backups.removeFirst()
        changed.backupsRevision = 5
        var cells = changed.cells(keepingSlotsOf: all)
        for (id, cell) in all where id.kind == 150 { cells[id] = cell }
        let again = try #require(StoredState(cells: cells))
        #expect(again.backups.first == state.backups[1])
        #expect(again.current == state.current)
    }

    @Test func credentialsWithoutANetworkAreDropped() throws {
        let all = try state().cells(keepingSlotsOf: [:])
        let bare = StoredState(home: try network("Home"))
        var cells = bare.cells(keepingSlotsOf: [:])
        for (id, cell) in all where id.kind == 150 { cells[id] = cell }
        cells[CellID(kind: 150, index: 99)] = Secret([1, 2, 3])
        var findings: [StoreFinding] = []
        #expect(StoredState(cells: cells, findings: &findings) == bare)
        #expect(findings == [.cellsDropped(4)])
        #expect(bare.cells(keepingSlotsOf: cells).keys.allSatisfy { $0.kind < 128 })
    }

    @Test func nothingOfACredentialIsInTheNetworksCell() throws {
        let cells = try state().cells(keepingSlotsOf: [:])
        for (id, cell) in cells where id.kind == 2 {
            let text = cell.withBytes { String(decoding: $0, as: UTF8.self) }
            #expect(!text.contains("kiosk7") && !text.contains("BEGIN"))
        }
    }
}
