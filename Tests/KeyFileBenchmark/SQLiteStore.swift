import CSQLite

/// The networks in a table of Debian's SQLite, with a write-ahead log and `synchronous=FULL`: the setting with which a
/// commit survives a power cut. In plain text.
final class SQLiteStore: Contestant {
    private let database: OpaquePointer
    private var statements: [Statement: OpaquePointer] = [:]

    private(set) var networkCount: Int?

    private enum Statement: String, CaseIterable {
        case begin = "BEGIN IMMEDIATE"
        case commit = "COMMIT"
        case select = "SELECT ssid, passphrase, psk, last_seen, last_signal FROM network ORDER BY position"
        case insert = "INSERT INTO network VALUES (?, ?, ?, ?, ?, ?)"
        case deleteBackups = "DELETE FROM network WHERE position > 0"
        case updatePassword = "UPDATE network SET passphrase = ?, psk = ? WHERE position = ?"
        case updateStatistics = "UPDATE network SET last_seen = ?, last_signal = ? WHERE position = ?"
    }

    private enum Value {
        case integer(Int)
        case blob([UInt8])
    }

    private static let schema = """
        CREATE TABLE IF NOT EXISTS network (
            position INTEGER PRIMARY KEY, ssid BLOB NOT NULL, passphrase BLOB NOT NULL, psk BLOB NOT NULL,
            last_seen INTEGER NOT NULL, last_signal INTEGER NOT NULL)
        """

    init(directory: String) throws {
        var opened: OpaquePointer?
        guard sqlite3_open(directory + "/networks.db", &opened) == SQLITE_OK, let opened else {
            throw BenchmarkError("SQLite cannot open its database in \(directory)")
        }
        database = opened
        for sql in ["PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", Self.schema] {
            try check(sqlite3_exec(database, sql, nil, nil, nil))
        }
        try check(sqlite_keep_log_on_close(database))
        for statement in Statement.allCases {
            var prepared: OpaquePointer?
            try check(sqlite3_prepare_v2(database, statement.rawValue, -1, &prepared, nil))
            statements[statement] = prepared
        }
        networkCount = try run(.select)
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close(database)
    }

    func setUp(_ networks: [Network]) throws {
        try inTransaction {
            for (position, network) in networks.enumerated() { try insert(network, at: position) }
        }
    }

    func make(_ change: Change) throws {
        try inTransaction {
            switch change {
            case .password(let index, let passphrase, let psk):
                try run(.updatePassword, .blob(Array(passphrase.utf8)), .blob(psk), .integer(index))
            case .list(let backups):
                try run(.deleteBackups)
                for (index, network) in backups.enumerated() { try insert(network, at: index + 1) }
            case .statistics(let index, let lastSeen, let lastSignal):
                try run(.updateStatistics, .integer(Int(lastSeen)), .integer(Int(lastSignal)), .integer(index))
            }
        }
    }

    private func inTransaction(_ body: () throws -> Void) throws {
        try run(.begin)
        try body()
        try run(.commit)
    }

    private func insert(_ network: Network, at position: Int) throws {
        try run(
            .insert, .integer(position), .blob(Array(network.ssid.utf8)), .blob(Array(network.passphrase.utf8)),
            .blob(network.psk), .integer(Int(network.lastSeen)), .integer(Int(network.lastSignal)))
    }

    /// - Returns: how many rows it gave, each of which was read.
    @discardableResult
    private func run(_ statement: Statement, _ values: Value...) throws -> Int {
        guard let prepared = statements[statement] else { throw BenchmarkError("SQLite lacks a statement") }
        defer { sqlite3_reset(prepared) }
        for (index, value) in zip(Int32(1)..., values) {
            switch value {
            case .integer(let number): try check(sqlite3_bind_int64(prepared, index, sqlite3_int64(number)))
            case .blob(let bytes): try check(sqlite_bind_copy(prepared, index, bytes, Int32(bytes.count)))
            }
        }
        var rows = 0
        while true {
            switch sqlite3_step(prepared) {
            case SQLITE_DONE: return rows
            case SQLITE_ROW:
                for column in 0..<sqlite3_column_count(prepared) { _ = sqlite3_column_blob(prepared, column) }
                rows += 1
            case let code: try check(code)
            }
        }
    }

    private func check(_ code: Int32) throws {
        guard code == SQLITE_OK else { throw BenchmarkError("SQLite: \(String(cString: sqlite3_errmsg(database)))") }
    }
}
