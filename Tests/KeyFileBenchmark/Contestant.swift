import AgentModel
import ArgumentParser
import Glibc
import KeyFile

/// A way of keeping the device's networks.
protocol Contestant: AnyObject {
    /// How many networks were found on opening, or nil where there is nothing but bytes.
    var networkCount: Int? { get }
    /// Fills a new store.
    func setUp(_ networks: [Network]) throws
    /// Makes one update. When it returns, the update survives a power cut.
    func make(_ change: Change) throws
}

/// The contestants.
enum Entrant: String, CaseIterable, Codable, ExpressibleByArgument {
    /// First, for the bare writes are given records of the size of its.
    case altnet
    case sqlite
    case configuration
    case append
    case overwrite

    var title: String {
        switch self {
        case .altnet: "altnet's key file"
        case .sqlite: "SQLite, WAL, synchronous=FULL"
        case .configuration: "rewritten wpa_supplicant.conf"
        case .append: "bare append + fdatasync"
        case .overwrite: "bare write in place + fdatasync"
        }
    }

    /// Opens the store in a directory and reads all of it, or makes an empty one.
    /// - Parameter recordSize: the bytes of a bare write.
    func open(in directory: String, recordSize: Int) throws -> any Contestant {
        switch self {
        case .altnet: try AltnetStore(directory: directory)
        case .sqlite: try SQLiteStore(directory: directory)
        case .configuration: try RewrittenConfiguration(directory: directory)
        case .append: try BareLog(directory: directory, recordSize: recordSize, isPreallocated: false)
        case .overwrite: try BareLog(directory: directory, recordSize: recordSize, isPreallocated: true)
        }
    }
}

/// Why the benchmark cannot be run.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The store that is measured: with its root key in a file beside it, and no anchor.
final class AltnetStore: Contestant {
    private let keyFile: KeyFile
    private var state: StoredState

    var networkCount: Int? { state.backups.count + (state.home == nil ? 0 : 1) }

    init(directory: String) throws {
        keyFile = try KeyFile.open(
            path: directory + "/keyfile", maximumBackups: KeyFile.allowedMaximum.upperBound,
            rootKey: RootKeyFile(path: directory + "/root-key"), anchor: nil)
        guard keyFile.report.isEmpty else { throw BenchmarkError("\(keyFile.report)") }
        state = keyFile.state
    }

    func setUp(_ networks: [Network]) throws {
        state.home = try StoredNetwork(networks[0])
        state.current = state.home
        try replaceBackups(by: networks.dropFirst())
        try keyFile.commit(state)
    }

    func make(_ change: Change) throws {
        switch change {
        case .password(let index, let passphrase, let psk):
            state.backups[index - 1].credential = .passphrase(Secret(text: passphrase), psk: Secret(psk))
        case .list(let backups): try replaceBackups(by: backups[...])
        case .statistics(let index, let lastSeen, let lastSignal):
            let ssid = state.backups[index - 1].ssid
            state.statistics[ssid]?.lastSeen = lastSeen
            state.statistics[ssid]?.lastSignal = lastSignal
        }
        try keyFile.commit(state)
    }

    private func replaceBackups(by networks: ArraySlice<Network>) throws {
        for backup in state.backups { state.statistics[backup.ssid] = nil }
        state.backups = try networks.map(StoredNetwork.init)
        state.backupsRevision += 1
        for network in networks {
            state.statistics[try SSID(network.ssid)] = NetworkStatistics(
                lastSeen: network.lastSeen, lastSignal: network.lastSignal, lastFrequency: Frequency(megahertz: 2437))
        }
    }
}

extension StoredNetwork {
    fileprivate init(_ network: Network) throws {
        self.init(
            ssid: try SSID(network.ssid),
            credential: .passphrase(Secret(text: network.passphrase), psk: Secret(network.psk)), security: .wpa2wpa3)
    }
}

/// The least that a durable update can cost: one write of a record, one fdatasync, and nothing that could be read.
final class BareLog: Contestant {
    private let file: OpenFile
    private let record: [UInt8]
    private let isPreallocated: Bool
    private var offset = 0

    var networkCount: Int? { nil }

    /// The size of altnet's file.
    private static let preallocatedSize = 32768

    /// - Parameter isPreallocated: writes into a file that already has its size, around in it, so that the file system
    ///   has no new size or place to note; otherwise the file grows with every record.
    init(directory: String, recordSize: Int, isPreallocated: Bool) throws {
        file = try OpenFile(directory + "/log", O_RDWR | O_CREAT | (isPreallocated ? 0 : O_APPEND))
        record = [UInt8](repeating: 0xa5, count: recordSize)
        self.isPreallocated = isPreallocated
        _ = try file.readAll()
    }

    func setUp(_ networks: [Network]) throws {
        if isPreallocated {
            // Page by page: what is written at one stroke the kernel keeps as one large page, and counts as such.
            for offset in stride(from: 0, to: Self.preallocatedSize, by: 4096) {
                try file.write([UInt8](repeating: 0xff, count: 4096), at: offset)
            }
        }
        try file.synchronise()
    }

    func make(_ change: Change) throws {
        if isPreallocated {
            if offset + record.count > Self.preallocatedSize { offset = 0 }
            try file.write(record, at: offset)
            offset += record.count
        } else {
            try file.write(record)
        }
        try file.synchroniseData()
    }
}

/// A file or directory, as system calls.
struct OpenFile: ~Copyable {
    private let path: String
    private let descriptor: Int32

    init(_ path: String, _ flags: Int32) throws {
        self.path = path
        descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o600)
        if descriptor < 0 { throw Self.failure("open", path) }
    }

    deinit { close(descriptor) }

    /// Writes at the file's own position, or where it ends with `O_APPEND`.
    func write(_ bytes: [UInt8]) throws {
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else { throw Self.failure("write", path) }
    }

    func write(_ bytes: [UInt8], at offset: Int) throws {
        guard pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count else {
            throw Self.failure("write", path)
        }
    }

    /// In bytes.
    var size: Int {
        get throws {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw Self.failure("read", path) }
            return Int(status.st_size)
        }
    }

    func readAll() throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: try size)
        guard pread(descriptor, &bytes, bytes.count, 0) == bytes.count else { throw Self.failure("read", path) }
        return bytes
    }

    func synchronise() throws {
        guard fsync(descriptor) == 0 else { throw Self.failure("sync", path) }
    }

    func synchroniseData() throws {
        guard fdatasync(descriptor) == 0 else { throw Self.failure("sync", path) }
    }

    /// Has the kernel forget what it keeps of the file in memory, so that the disk is read.
    func dropCache() { posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) }

    static func failure(_ attempt: String, _ path: String) -> BenchmarkError {
        BenchmarkError("cannot \(attempt) \(path): \(String(cString: strerror(errno)))")
    }
}
