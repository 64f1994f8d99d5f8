import ArgumentParser

/// A way of keeping the device's networks.
protocol Contestant: AnyObject {
    /// How many networks were found on opening, or nil where there is nothing but bytes.
    var networkCount: Int? { get }
    /// Fills a new store.
    func setUp(_ networks: [Network]) throws
    /// Makes one update. When it returns, the update survives a power cut.
    func make(_ change: Change) throws
}

/// Who takes part.
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
