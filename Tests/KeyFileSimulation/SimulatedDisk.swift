import Glibc
import KeyFile
import Randomness

/// A directory on a disk that forgets what was not synchronised, and fails on command.
///
/// Data and names reach the medium only when they are synchronised; a power cut leaves of everything else any part, in
/// any order: that is what POSIX allows, and worse than most file systems do. A write does not harm bytes that it does
/// not cover (what SQLite calls powersafe overwrite, SQLITE_IOCAP_POWERSAFE_OVERWRITE).
package final class SimulatedDisk: SimulatedStorage {
    package private(set) var operations = 0
    package private(set) var writes = 0
    /// How many of them synchronise a file, or the directory.
    package private(set) var synchronisations = 0
    package private(set) var bytesWritten = 0
    package var onOperation: (() -> Void)?
    package var accident: Accident?
    /// Why everything that would change the medium fails, for as long as this is set.
    package var refusesWrites: Int32?
    /// A write never takes more bytes than this at once.
    package var longestWrite = Int.max
    package let violations: [String] = []

    struct Write {
        var offset: Int
        var bytes: [UInt8]
    }

    final class File {
        var cached: [UInt8]
        var durable: [UInt8]
        var unsynchronised: [Write] = []
        /// Whether others than the owner may read it.
        var isOpenToOthers = false

        init(_ bytes: [UInt8] = []) { (cached, durable) = (bytes, bytes) }

        /// The data that has reached the disk or can still do so. Data that a failed synchronisation forgot is in the
        /// memory only.
        var written: [UInt8] { unsynchronised.reduce(into: durable) { bytes, write in write.apply(to: &bytes) } }

        init(copying other: File) {
            (cached, durable, unsynchronised) = (other.cached, other.durable, other.unsynchronised)
        }
    }

    /// A change of names that happens at one stroke: nil removes.
    typealias Renaming = [String: File?]

    enum Operation {
        case write(File, Write)
        case synchronise(File)
        case rename(Renaming)
        case synchroniseNames
    }

    private(set) var names: [String: File] = [:]
    private(set) var durableNames: [String: File] = [:]
    private(set) var unsynchronised: [Renaming] = []
    /// The operation that a power cut may hit.
    private(set) var underWay: Operation?
    private var descriptors: [Int32: File] = [:]
    private var nextDescriptor: Int32 = 100
    private var random: SeededRandom

    /// A disk on which these files have been for long.
    package init(files: [String: [UInt8]] = [:], seed: UInt64 = 0) {
        random = SeededRandom(seed: seed)
        names = files.mapValues { File($0) }
        durableNames = names
    }

    init(names: [String: File], durableNames: [String: File], unsynchronised: [Renaming], seed: UInt64) {
        random = SeededRandom(seed: seed)
        (self.names, self.durableNames, self.unsynchronised) = (names, durableNames, unsynchronised)
    }

    /// The name of the store's file.
    package static let storeName = "keyfile"

    package func medium() throws(KeyFileError) -> any Medium { try FileMedium(name: Self.storeName, in: self) }

    /// The content of all files for a reader now.
    package var files: [String: [UInt8]] { names.mapValues(\.cached) }

    package var openDescriptors: Int { descriptors.count }

    package func openToOthers(_ name: String) { names[name]?.isOpenToOthers = true }

    private func count(
        _ attempt: KeyFileError.Attempt, writing: Bool
    ) throws(KeyFileError) {
        defer {
            operations += 1
            writes += writing ? 1 : 0
        }
        func failure(_ errno: Int32) -> KeyFileError { .system(attempt, path: path, errno: errno) }
        if writing, let refusesWrites { throw failure(refusesWrites) }
        if let accident, accident.at == operations { throw failure(accident.errno) }
    }

    /// Carries out an operation, if no accident is due.
    private func perform(_ operation: Operation, _ attempt: KeyFileError.Attempt) throws(KeyFileError) {
        do { try count(attempt, writing: true) } catch {
            if case .synchronise(let file) = operation { forget(file) }
            throw error
        }
        underWay = operation
        onOperation?()
        underWay = nil
        switch operation {
        case .write(let file, let write):
            write.apply(to: &file.cached)
            file.unsynchronised.append(write)
            bytesWritten += write.bytes.count
        case .synchronise(let file):
            file.durable = file.written
            file.unsynchronised = []
            synchronisations += 1
        case .rename(let renaming):
            for (name, file) in renaming { names[name] = file }
            unsynchronised.append(renaming)
        case .synchroniseNames:
            durableNames = names
            unsynchronised = []
            synchronisations += 1
        }
    }

    /// The reaction of Linux to a failed write-back: the error is told once, and writing is not tried again. The data
    /// stays in memory as if it were clean, and its state on the disk is unknown (fsync(2), "NOTES").
    private func forget(_ file: File) {
        file.durable = file.remains(settling: file.unsynchronised.map { ($0, random.outcome()) }, using: &random)
        file.unsynchronised = []
    }

    private func descriptor(for file: File) -> Int32 {
        nextDescriptor += 1
        descriptors[nextDescriptor] = file
        return nextDescriptor
    }

    private func file(_ descriptor: Int32) throws(KeyFileError) -> File {
        guard let file = descriptors[descriptor] else { throw .system(.open, path: "closed", errno: EBADF) }
        return file
    }
}

extension SimulatedDisk.Write {
    func apply(to bytes: inout [UInt8]) { Self.apply(self.bytes[...], at: offset, to: &bytes) }

    static func apply(_ new: ArraySlice<UInt8>, at offset: Int, to bytes: inout [UInt8]) {
        let end = offset + new.count
        if bytes.count < end { bytes.append(contentsOf: repeatElement(0, count: end - bytes.count)) }
        bytes.replaceSubrange(offset..<end, with: new)
    }
}

extension SimulatedDisk: FileOperations {
    package var path: String { "/store" }

    package func open(_ name: String, forWriting: Bool) throws(KeyFileError) -> Int32? {
        try count(.open, writing: false)
        if forWriting, let refusesWrites { throw .system(.open, path: path, errno: refusesWrites) }
        return names[name].map(descriptor)
    }

    package func create(_ name: String) throws(KeyFileError) -> Int32 {
        let file = File()
        try perform(.rename([name: file]), .create)
        return descriptor(for: file)
    }

    package func size(_ descriptor: Int32) throws(KeyFileError) -> Int {
        try count(.open, writing: false)
        return try file(descriptor).cached.count
    }

    package func read(
        _ descriptor: Int32, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(KeyFileError) -> Int {
        try count(.read, writing: false)
        let bytes = try file(descriptor).cached.dropFirst(offset).prefix(buffer.count)
        buffer.copyBytes(from: bytes)
        return bytes.count
    }

    package func write(
        _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int
    ) throws(KeyFileError) -> Int {
        let taken = Array(bytes.prefix(longestWrite))
        try perform(.write(try file(descriptor), Write(offset: offset, bytes: taken)), .write)
        return taken.count
    }

    package func synchronise(_ descriptor: Int32) throws(KeyFileError) {
        try perform(.synchronise(try file(descriptor)), .synchronise)
    }

    package func forgetCached(_ descriptor: Int32) {
        if let file = descriptors[descriptor] { file.cached = file.written }
    }

    package func restrict(_ descriptor: Int32) throws(KeyFileError) -> Bool {
        try count(.open, writing: false)
        let file = try file(descriptor)
        defer { file.isOpenToOthers = false }
        return file.isOpenToOthers
    }

    package func close(_ descriptor: Int32) { descriptors[descriptor] = nil }

    package func rename(_ name: String, to newName: String) throws(KeyFileError) {
        guard let file = names[name] else { throw .system(.rename, path: name, errno: ENOENT) }
        try perform(.rename([newName: file, name: nil]), .rename)
    }

    package func link(_ name: String, to newName: String) throws(KeyFileError) {
        guard let file = names[name] else { throw .system(.rename, path: name, errno: ENOENT) }
        try perform(.rename([newName: file]), .rename)
    }

    package func remove(_ name: String) throws(KeyFileError) {
        guard names[name] != nil else { return try count(.remove, writing: false) }
        try perform(.rename([name: nil]), .remove)
    }

    package func synchroniseDirectory() throws(KeyFileError) { try perform(.synchroniseNames, .synchronise) }
}

extension SimulatedDisk {
    package func afterPowerCut(_ outcome: CutOutcome, using random: inout SeededRandom) -> any SimulatedStorage {
        var survivors = durableNames
        var renamings = unsynchronised.filter { _ in Bool.random(using: &random) }
        switch underWay {
        case .rename(let renaming) where outcome != .before: renamings.append(renaming)
        case .synchroniseNames where outcome == .after: (survivors, renamings) = (names, [])
        default: break
        }
        for renaming in renamings {
            for (name, file) in renaming { survivors[name] = file }
        }
        let files = survivors.mapValues { remains(of: $0, outcome, using: &random) }
        return SimulatedDisk(files: files, seed: random.next())
    }

    private func remains(of file: File, _ outcome: CutOutcome, using random: inout SeededRandom) -> [UInt8] {
        var writes = file.unsynchronised.map { (write: $0, outcome: random.outcome()) }
        switch underWay {
        case .write(file, let write): writes.append((write, outcome))
        case .synchronise(file) where outcome == .after: return file.written
        case .synchronise(file): writes = file.unsynchronised.map { ($0, outcome) }
        default: break
        }
        if writes.count > 1 { writes.shuffle(using: &random) }
        return file.remains(settling: writes, using: &random)
    }

    package func afterKill(using random: inout SeededRandom) -> any SimulatedStorage {
        var copies: [ObjectIdentifier: File] = [:]
        func copy(_ file: File) -> File {
            if let made = copies[ObjectIdentifier(file)] { return made }
            let copy = File(copying: file)
            copies[ObjectIdentifier(file)] = copy
            return copy
        }
        let disk = SimulatedDisk(
            names: names.mapValues(copy), durableNames: durableNames.mapValues(copy),
            unsynchronised: unsynchronised.map { $0.mapValues { $0.map(copy) } }, seed: random.next())
        // A process is killed between two steps of the kernel: a write may have taken a part of its bytes.
        if case .write(let file, let write) = underWay {
            let part = Write(
                offset: write.offset, bytes: Array(write.bytes.prefix(random.below(write.bytes.count + 1))))
            part.apply(to: &copy(file).cached)
            copy(file).unsynchronised.append(part)
        }
        return disk
    }
}

extension SimulatedDisk.File {
    /// The file when only these of its writes have left anything, in this order.
    func remains(
        settling writes: [(write: SimulatedDisk.Write, outcome: CutOutcome)], using random: inout SeededRandom
    ) -> [UInt8] {
        var bytes = durable
        for (write, outcome) in writes { write.settle(outcome, on: &bytes, using: &random) }
        return bytes
    }
}

extension SimulatedDisk.Write {
    fileprivate func settle(_ outcome: CutOutcome, on file: inout [UInt8], using random: inout SeededRandom) {
        let count = bytes.count
        switch outcome {
        case .before: break
        case .after: apply(to: &file)
        case .prefix: Self.apply(bytes.prefix(random.below(count + 1)), at: offset, to: &file)
        case .suffix:
            let start = random.below(count + 1)
            Self.apply(bytes[start...], at: offset + start, to: &file)
        case .mixed:
            let grain = 1 << random.below(10)
            for start in stride(from: 0, to: count, by: grain) where Bool.random(using: &random) {
                Self.apply(bytes[start..<min(start + grain, count)], at: offset + start, to: &file)
            }
        case .zeroed, .random:
            var damaged = bytes
            for index in random.part(of: count) {
                damaged[index] = outcome == .zeroed ? 0 : UInt8(truncatingIfNeeded: random.next())
            }
            Self.apply(damaged[...], at: offset, to: &file)
        }
    }
}

extension SimulatedDisk.File: Equatable {
    /// The same file, not one of the same content.
    static func == (one: SimulatedDisk.File, other: SimulatedDisk.File) -> Bool { one === other }

    static func ~= (pattern: SimulatedDisk.File, value: SimulatedDisk.File) -> Bool { pattern === value }
}
