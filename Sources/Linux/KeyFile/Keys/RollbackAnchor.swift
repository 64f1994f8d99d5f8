import AgentModel
import Crypto

/// Position of a store's last record.
package struct StorePosition: Sendable, Equatable {
    /// Number of the commit. Each commit increases it.
    package let generation: UInt64
    /// The record's authentication tag, 16 bytes. It depends on all earlier records of its sector.
    package let tag: [UInt8]
}

/// Compares the store with its anchor at opening, and updates the anchor after commits.
struct RollbackDetector {
    private let anchor: FileAnchor
    private var last: StorePosition?
    /// False if the anchor's content is unreadable. An unreadable anchor is never overwritten.
    private var isUsable = true

    init(_ anchor: FileAnchor) { self.anchor = anchor }

    mutating func compare(_ log: RecordLog, roots: [Secret]) -> [StoreFinding] {
        do {
            last = try anchor.read(roots.map { AnchorKey(root: $0) })
        } catch {
            isUsable = false
            return [.anchorUnusable(error)]
        }
        if let last { log.skip(to: last.generation) }
        // Compare the position before repairs, because repairs write records that are newer than any anchor.
        let findings = Self.compare(found: log.foundPosition, with: last)
            .filter { $0 != .erased || !log.report.contains(.erased) }
        // If the store is ahead of its anchor, an interruption prevented the anchor's update. Update it now.
        if findings.isEmpty || findings == [.anchorMissing] { follow(log) }
        return findings
    }

    /// Detects rollback: compares the store's position with the anchored one.
    static func compare(found: StorePosition?, with last: StorePosition?) -> [StoreFinding] {
        switch (found, last) {
        case (nil, nil): []
        case (nil, .some): [.erased]
        // The first commit may have been interrupted before the anchor was created.
        case (let found?, nil): found.generation > 1 ? [.anchorMissing] : []
        case (let found?, let last?) where found.generation < last.generation:
            [.rolledBack(generation: found.generation, anchor: last.generation)]
        case (let found?, let last?):
            found.generation == last.generation && found.tag != last.tag
                ? [.replaced(generation: found.generation)] : []
        }
    }

    /// Stores the current position. Ignores a failure, because the next commit tries again.
    mutating func follow(_ log: RecordLog) {
        do { try advance(to: log) } catch {}
    }

    mutating func advance(to log: RecordLog) throws(KeyFileError) {
        guard isUsable, let position = log.position, let root = log.activeRoot,
            position.generation > last?.generation ?? 0
        else { return }
        try anchor.advance(to: position, AnchorKey(root: root))
        last = position
    }

    /// True if the anchor holds the store's position under its root key, or if the anchor is unusable.
    func isUpToDate(with log: RecordLog) -> Bool { !isUsable || last == log.position }
}

/// Stores the newest position outside the store, to detect an older image. An attacker who can write store and anchor
/// can roll back both. Put the anchor where writing is harder: another chip, a TPM, or a partition verified by other
/// means.
///
/// The file has two slots, written in turn, so an interrupted write damages only one of them
/// (Docs/contributor/key-file.md). A file without a valid slot is never overwritten, because it may belong to another
/// program.
public final class FileAnchor {
    private let name: String
    private let files: any FileOperations
    /// The newest slot; nil if unknown.
    private var newest: Slot?
    /// True if the newest slot and the file's name are certainly on disk.
    private var isDurable = false

    private var path: String { "\(files.path)/\(name)" }

    /// Sets the path of the anchor's file. The first update creates the file. Creates a missing directory at once, with
    /// mode 0700.
    /// - Throws: `invalidPath` and errors of the directory.
    public convenience init(path: String) throws(KeyFileError) {
        guard let (directory, name) = KeyFile.split(path) else { throw .invalidPath(path) }
        self.init(name: name, files: try StoreDirectory(path: directory))
    }

    package init(name: String, files: any FileOperations) {
        self.name = name
        self.files = files
    }

    /// - Parameter keys: keys derived from each root key that may have written the anchor.
    /// - Returns: the last stored position; nil if there is none.
    /// - Throws: `anchorDamaged` if another key wrote the content.
    package func read(_ keys: [AnchorKey]) throws(KeyFileError) -> StorePosition? {
        newest = nil
        isDurable = false
        guard let descriptor = try files.open(name, forWriting: false) else { return nil }
        defer { files.close(descriptor) }
        newest = try newestSlot(descriptor, keys)
        return newest?.position
    }

    /// Stores a position durably.
    package func advance(to position: StorePosition, _ key: AnchorKey) throws(KeyFileError) {
        guard let descriptor = try files.open(name, forWriting: true) else { return try make(position, key) }
        defer { files.close(descriptor) }
        let last = if let newest { newest } else { try newestSlot(descriptor, [key]) }
        newest = last
        if !isDurable { try makeDurable(descriptor) }
        let next = Slot(number: 1 - last.number, sequence: last.sequence &+ 1, position: position)
        // If writing fails, `newest` stays unchanged, so the next update writes this slot again.
        try next.encoded(key).withBytes { bytes throws(KeyFileError) in
            try files.writeAll(bytes, to: descriptor, at: next.offset)
        }
        try files.synchronise(descriptor)
        newest = next
    }

    /// Synchronises the newest slot and the file's name before the other slot is overwritten. If the last writer was
    /// killed, both may exist only in memory.
    private func makeDurable(_ descriptor: Int32) throws(KeyFileError) {
        try files.synchronise(descriptor)
        try files.synchroniseDirectory()
        isDurable = true
    }

    /// Writes the whole file, so that later updates need no disk space.
    private func make(_ position: StorePosition, _ key: AnchorKey) throws(KeyFileError) {
        let first = Slot(number: 0, sequence: 1, position: position)
        var file = WipedBuffer(capacity: Slot.count * Slot.spacing)
        first.encoded(key).withBytes { file.append($0) }
        file.append(repeatElement(0, count: file.remaining))
        try file.withBytes { bytes throws(KeyFileError) in try files.replace(name, with: bytes) }
        newest = first
        isDurable = true
    }

    private func newestSlot(_ descriptor: Int32, _ keys: [AnchorKey]) throws(KeyFileError) -> Slot {
        var newest: Slot?
        for number in 0..<Slot.count {
            var bytes = WipedBuffer(size: Slot.size)
            let count = try bytes.withMutableBytes { buffer throws(KeyFileError) in
                try files.readAll(descriptor, at: number * Slot.spacing, into: buffer)
            }
            bytes.resize(to: count)
            guard let slot = bytes.withBytes({ Slot(number: number, $0, keys) }) else { continue }
            if slot.sequence > newest?.sequence ?? 0 { newest = slot }
        }
        guard let newest else { throw .anchorDamaged(path: path) }
        return newest
    }
}

extension FileAnchor {
    /// A slot of the file: magic, version, reserved bytes, sequence, generation and tag, then their HMAC-SHA-256.
    struct Slot: Equatable {
        let number: Int
        /// Number of the write, which always increases. The generation does not: a new store restarts it at 1.
        let sequence: UInt64
        let position: StorePosition

        static let count = 2
        /// Distance of the slots in bytes. A power loss may destroy a disk sector (512 or 4096 bytes) or a page of the
        /// system's cache (usually 4096). With this distance it destroys only one slot.
        static let spacing = 4096
        static let size = contentSize + SHA256.byteCount

        private static let contentSize = 48
        private static let magic = Array("ALTNETRA".utf8)
        private static let version: UInt16 = 1
        private static let reservedSize = 6
        private static let tagSize = Record.tagSize

        var offset: Int { number * Self.spacing }

        init(number: Int, sequence: UInt64, position: StorePosition) {
            precondition(position.tag.count == Self.tagSize, "the tag has the wrong length")
            self.number = number
            self.sequence = sequence
            self.position = position
        }

        /// - Returns: nil if the slot is incomplete or another key wrote it.
        init?(number: Int, _ bytes: UnsafeRawBufferPointer, _ keys: [AnchorKey]) {
            var reader = ByteReader(bytes)
            guard let content = reader.bytes(Self.contentSize), let code = reader.bytes(SHA256.byteCount),
                keys.contains(where: { $0.authenticates(content, code) })
            else { return nil }
            self.init(number: number, authentic: content)
        }

        private init?(number: Int, authentic content: UnsafeRawBufferPointer) {
            var reader = ByteReader(content)
            guard let magic = reader.bytes(Self.magic.count), magic.elementsEqual(Self.magic),
                reader.integer(UInt16.self) == Self.version, reader.bytes(Self.reservedSize) != nil,
                let sequence = reader.integer(UInt64.self), let generation = reader.integer(UInt64.self),
                let tag = reader.bytes(Self.tagSize)
            else { return nil }
            self.init(
                number: number, sequence: sequence,
                position: StorePosition(generation: generation, tag: Array(tag)))
        }

        func encoded(_ key: AnchorKey) -> WipedBuffer {
            var bytes = WipedBuffer(capacity: Self.size)
            bytes.append(Self.magic)
            bytes.append(bigEndian: Self.version)
            bytes.append(repeatElement(0, count: Self.reservedSize))
            bytes.append(bigEndian: sequence)
            bytes.append(bigEndian: position.generation)
            bytes.append(position.tag)
            bytes.append(bytes.withBytes { key.authenticationCode(for: $0) })
            return bytes
        }
    }
}

extension AnchorKey {
    fileprivate func authenticationCode(for content: UnsafeRawBufferPointer) -> HMAC<SHA256>.MAC {
        HMAC<SHA256>.authenticationCode(for: content, using: key)
    }

    /// Checks the content's HMAC in constant time.
    fileprivate func authenticates(_ content: UnsafeRawBufferPointer, _ code: UnsafeRawBufferPointer) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: content, using: key)
    }
}
