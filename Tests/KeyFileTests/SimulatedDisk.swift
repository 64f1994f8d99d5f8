import Glibc
import Randomness

@testable import KeyFile

/// A directory on a disk that forgets what was not synchronised, and fails on command.
///
/// Data and names reach the medium only when they are synchronised; a power cut leaves of everything else any part, in
/// any order: that is what POSIX allows, and worse than most file systems do.
final class SimulatedDisk {
    /// What happens at the operation with the number `at`, counting from 0.
    enum Accident: Equatable {
        /// The operation fails once and changes nothing.
        case fails(at: Int, errno: Int32)
        /// The power goes just before the operation, or just after: done, but nobody learns of it.
        case losesPower(at: Int, afterwards: Bool)
    }

    /// How many operations there were.
    private(set) var operations = 0
    /// How many of them change or synchronise something.
    private(set) var writes = 0
    var accident: Accident?
    /// Why everything that would change the medium fails, for as long as this is set.
    var refusesWrites: Int32?
    var failsDirectorySync = false
    /// A write never takes more bytes than this at once.
    var longestWrite = Int.max

    private final class File {
        var cached: [UInt8]
        var durable: [UInt8]
        /// Whether others than the owner may read it.
        var isOpenToOthers = false

        init(_ bytes: [UInt8] = []) { (cached, durable) = (bytes, bytes) }
    }

    /// A change of names that happens at one stroke: nil removes.
    private typealias Renaming = [String: File?]

    private var names: [String: File] = [:]
    private var durableNames: [String: File] = [:]
    private var unsynchronised: [Renaming] = []
    private var descriptors: [Int32: (file: File, offset: Int)] = [:]
    private var nextDescriptor: Int32 = 100
    private var isPoweredOff = false

    /// A disk on which these files have been for long.
    init(files: [String: [UInt8]] = [:]) {
        names = files.mapValues { File($0) }
        durableNames = names
    }

    /// What a reader would see of all files now.
    var files: [String: [UInt8]] { names.mapValues(\.cached) }

    var openDescriptors: Int { descriptors.count }

    func openToOthers(_ name: String) { names[name]?.isOpenToOthers = true }

    /// The disk as it may be when the power comes back.
    func afterPowerCut(using random: inout SeededRandom) -> SimulatedDisk {
        var survivors = durableNames
        for renaming in unsynchronised where Bool.random(using: &random) {
            for (name, file) in renaming { survivors[name] = file }
        }
        return SimulatedDisk(files: survivors.mapValues { Self.remains(of: $0, using: &random) })
    }

    /// The disk after the process was killed: the system's memory is as it was, so nothing is lost yet.
    func afterKill() -> SimulatedDisk {
        descriptors = [:]
        (operations, writes, accident, isPoweredOff) = (0, 0, nil, false)
        return self
    }

    private static func remains(of file: File, using random: inout SeededRandom) -> [UInt8] {
        let (cached, durable) = (file.cached, file.durable)
        guard cached != durable else { return durable }
        let kept = Int.random(in: 0...cached.count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return durable
        case 1: return cached
        case 2: return Array(cached.prefix(kept))
        case 3: return Array(cached.prefix(kept)) + repeatElement(0, count: cached.count - kept)
        case 4: return Array(repeatElement(0, count: kept)) + cached.dropFirst(kept)
        default:
            return Array(cached.prefix(kept))
                + (kept..<cached.count).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
    }

    private func perform<Value>(
        _ attempt: KeyFileError.Attempt, writing: Bool = true, _ change: () throws(KeyFileError) -> Value
    ) throws(KeyFileError) -> Value {
        func failure(_ errno: Int32) -> KeyFileError { .system(attempt, path: "simulated", errno: errno) }
        guard !isPoweredOff else { throw failure(EIO) }
        defer {
            operations += 1
            writes += writing ? 1 : 0
        }
        if writing, let refusesWrites { throw failure(refusesWrites) }
        switch accident {
        case .fails(operations, let errno): throw failure(errno)
        case .losesPower(operations, let afterwards):
            if afterwards { _ = try change() }
            isPoweredOff = true
            throw failure(EIO)
        default: return try change()
        }
    }

    private func apply(_ renaming: Renaming) {
        for (name, file) in renaming { names[name] = file }
        unsynchronised.append(renaming)
    }

    private func descriptor(for file: File) -> Int32 {
        nextDescriptor += 1
        descriptors[nextDescriptor] = (file, 0)
        return nextDescriptor
    }

    private func file(_ descriptor: Int32) throws(KeyFileError) -> File {
        guard let file = descriptors[descriptor]?.file else { throw .system(.open, path: "closed", errno: EBADF) }
        return file
    }
}

extension SimulatedDisk: FileOperations {
    func open(_ name: String) throws(KeyFileError) -> Int32? {
        try perform(.open, writing: false) { names[name].map(descriptor) }
    }

    func create(_ name: String) throws(KeyFileError) -> Int32 {
        try perform(.create) {
            let file = File()
            apply([name: file])
            return descriptor(for: file)
        }
    }

    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) throws(KeyFileError) -> Int {
        try perform(.read, writing: false) { () throws(KeyFileError) in
            let bytes = try file(descriptor).cached.dropFirst(descriptors[descriptor]?.offset ?? 0).prefix(buffer.count)
            buffer.copyBytes(from: bytes)
            descriptors[descriptor]?.offset += bytes.count
            return bytes.count
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(KeyFileError) -> Int {
        try perform(.write) { () throws(KeyFileError) in
            let taken = bytes.prefix(longestWrite)
            try file(descriptor).cached.append(contentsOf: taken)
            return taken.count
        }
    }

    func synchronise(_ descriptor: Int32) throws(KeyFileError) {
        try perform(.synchronise) { () throws(KeyFileError) in
            let file = try file(descriptor)
            file.durable = file.cached
        }
    }

    func restrict(_ descriptor: Int32) throws(KeyFileError) -> Bool {
        try perform(.open, writing: false) { () throws(KeyFileError) in
            let file = try file(descriptor)
            defer { file.isOpenToOthers = false }
            return file.isOpenToOthers
        }
    }

    func close(_ descriptor: Int32) { descriptors[descriptor] = nil }

    func rename(_ name: String, to newName: String) throws(KeyFileError) {
        try perform(.rename) { () throws(KeyFileError) in
            guard let file = names[name] else { throw .system(.rename, path: name, errno: ENOENT) }
            apply([newName: file, name: nil])
        }
    }

    func remove(_ name: String) throws(KeyFileError) {
        try perform(.remove) { if names[name] != nil { apply([name: nil]) } }
    }

    func synchroniseDirectory() throws(KeyFileError) {
        try perform(.synchronise) { () throws(KeyFileError) in
            guard !failsDirectorySync else { throw .system(.synchronise, path: "simulated", errno: EIO) }
            durableNames = names
            unsynchronised = []
        }
    }
}

extension KeyFile {
    /// A store on a simulated disk.
    convenience init(_ disk: SimulatedDisk, maximumBackups: Int = 3) throws(KeyFileError) {
        try self.init(name: "keyfile", directory: "/store", disk: disk, maximumBackups: maximumBackups)
    }
}
