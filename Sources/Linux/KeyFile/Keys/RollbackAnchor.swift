import AgentModel
import Crypto

/// Keeps, outside the store, how far the store has come, so that an older image of it is noticed. An attacker who can
/// write both can still roll both back: the anchor belongs where that is harder (another chip, a TPM's memory, a
/// partition that is checked by other means).
package protocol RollbackAnchor {
    /// - Parameter keys: derived from the root keys that may have been in use when it was written.
    /// - Returns: the last position it was given, or nil if it was given none yet.
    /// - Throws: `anchorDamaged` if what is there was not written with any of these keys.
    func read(_ keys: [AnchorKey]) throws(KeyFileError) -> StorePosition?
    /// Durable when it returns.
    func advance(to position: StorePosition, _ key: AnchorKey) throws(KeyFileError)
}

/// The last record of a store.
package struct StorePosition: Sendable, Equatable {
    /// Grows with every commit.
    package let generation: UInt64
    /// The record's authentication tag, which depends on every record before it in its sector: 16 bytes.
    package let tag: [UInt8]

    package init(generation: UInt64, tag: [UInt8]) {
        self.generation = generation
        self.tag = tag
    }
}

/// Compares the store with its anchor when it is opened, and lets the anchor follow afterwards.
struct AnchorKeeper {
    private let anchor: any RollbackAnchor
    private var last: StorePosition?
    /// Nothing is written over an anchor that says something else than the store and cannot be understood.
    private var isUsable = true

    init(_ anchor: any RollbackAnchor) { self.anchor = anchor }

    /// - Parameter roots: the root keys that the anchor may have been written with.
    mutating func compare(_ log: RecordLog, roots: [Secret]) -> [Finding] {
        do {
            last = try anchor.read(roots.map { AnchorKey(root: $0) })
        } catch {
            isUsable = false
            return [.anchorUnusable(error)]
        }
        if let last { log.skip(to: last.generation) }
        // As it was found: what has been repaired since is newer than any anchor.
        let findings = Self.compare(found: log.foundPosition, with: last)
            .filter { $0 != .erased || !log.report.contains(.erased) }
        // Ahead of its anchor, a commit was cut short between the two.
        if findings.isEmpty || findings == [.anchorMissing] { follow(log) }
        return findings
    }

    /// The findings of an anchor about a store.
    static func compare(found: StorePosition?, with last: StorePosition?) -> [Finding] {
        switch (found, last) {
        case (nil, nil): []
        case (nil, .some): [.erased]
        // The first commit of all may have been cut short before the anchor was made.
        case (let found?, nil): found.generation > 1 ? [.anchorMissing] : []
        case (let found?, let last?) where found.generation < last.generation:
            [.rolledBack(generation: found.generation, anchor: last.generation)]
        case (let found?, let last?):
            found.generation == last.generation && found.tag != last.tag
                ? [.replaced(generation: found.generation)] : []
        }
    }

    /// Notes where the store is now. An anchor that lags behind by a failure does not undo what was stored: it follows
    /// with the next commit.
    mutating func follow(_ log: RecordLog) {
        do { try advance(to: log) } catch {}
    }

    /// Notes where the store is now, or says why that was not possible.
    mutating func advance(to log: RecordLog) throws(KeyFileError) {
        guard isUsable, let position = log.position, let root = log.activeRoot,
            position.generation > last?.generation ?? 0
        else { return }
        try anchor.advance(to: position, AnchorKey(root: root))
        last = position
    }

    /// Whether the anchor is where the store is, under the same root key; or can be followed no more in any case.
    func isUpToDate(with log: RecordLog) -> Bool { !isUsable || last == log.position }
}

/// An anchor in a file: two slots that are overwritten in turn, so that a write that is cut short leaves the other one.
/// Docs/key-file.md has the layout.
///
/// It never overwrites a file in which it finds no slot of its own: that may belong to another program.
public final class FileAnchor {
    private let name: String
    private let files: any FileOperations
    /// The slot that was written last, where that is known.
    private var newest: Slot?
    /// Whether that slot, and the file's name, are known to have reached the disk.
    private var isDurable = false

    private var path: String { "\(files.path)/\(name)" }

    /// Names the file, which the first advance makes; its directory is made with mode 0700 if it is missing.
    /// - Throws: `invalidPath` and errors of the directory.
    public convenience init(path: String) throws(KeyFileError) {
        guard let (directory, name) = KeyFile.split(path) else { throw .invalidPath(path) }
        self.init(name: name, files: try StoreDirectory(path: directory))
    }

    package init(name: String, files: any FileOperations) {
        self.name = name
        self.files = files
    }
}

extension FileAnchor: RollbackAnchor {
    package func read(_ keys: [AnchorKey]) throws(KeyFileError) -> StorePosition? {
        newest = nil
        isDurable = false
        guard let descriptor = try files.open(name, forWriting: false) else { return nil }
        defer { files.close(descriptor) }
        newest = try newestSlot(descriptor, keys)
        return newest?.position
    }

    package func advance(to position: StorePosition, _ key: AnchorKey) throws(KeyFileError) {
        guard let descriptor = try files.open(name, forWriting: true) else { return try make(position, key) }
        defer { files.close(descriptor) }
        let last = if let newest { newest } else { try newestSlot(descriptor, [key]) }
        newest = last
        if !isDurable { try makeDurable(descriptor) }
        let next = Slot(number: 1 - last.number, sequence: last.sequence &+ 1, position: position)
        // It is unknown what an error leaves behind, so `newest` stays and this slot is written again.
        try next.encoded(key).withBytes { bytes throws(KeyFileError) in
            try files.writeAll(bytes, to: descriptor, at: next.offset)
        }
        try files.synchronise(descriptor)
        newest = next
    }

    /// The process that wrote the newest slot may have been killed at once, or met an error. Then the slot that is
    /// about to be overwritten may be all that the disk has, or the file may have no name there.
    private func makeDurable(_ descriptor: Int32) throws(KeyFileError) {
        try files.synchronise(descriptor)
        try files.synchroniseDirectory()
        isDurable = true
    }

    /// All of the file is written at once, so that no later advance needs room on the disk.
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
    /// One of the two places in the file: magic, version, reserved, sequence, generation, tag, and a HMAC-SHA-256 of
    /// these.
    struct Slot: Equatable {
        let number: Int
        /// One more than that of the slot that was written before. Not the generation: a store that begins anew counts
        /// from the start again.
        let sequence: UInt64
        let position: StorePosition

        static let count = 2
        /// How far the slots are apart: no less than what is written at a stroke around a changed byte, be it a sector
        /// of the disk (512 or 4096 bytes), whose content a power cut may take as a whole, or a page of the system's
        /// cache (mostly 4096 bytes).
        static let spacing = 4096
        static let size = contentSize + SHA256.byteCount

        private static let contentSize = 48
        private static let magic = Array("ALTNETRA".utf8)
        private static let version: UInt16 = 1
        private static let reservedSize = 6
        private static let tagSize = Record.tagSize

        var offset: Int { number * Self.spacing }

        init(number: Int, sequence: UInt64, position: StorePosition) {
            precondition(position.tag.count == Self.tagSize, "a tag is what the cipher makes")
            self.number = number
            self.sequence = sequence
            self.position = position
        }

        /// - Returns: nil if this was not written with any of these keys, whole.
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

    /// In the same time wherever the codes differ.
    fileprivate func authenticates(_ content: UnsafeRawBufferPointer, _ code: UnsafeRawBufferPointer) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: content, using: key)
    }
}
