import AgentModel

/// An anchor in a file: two slots that are overwritten in turn, so that a write that is cut short leaves the other one.
/// Docs/key-file.md has the layout.
///
/// It never overwrites a file in which it finds no slot of its own: that may be somebody else's.
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
        // What an error leaves behind nobody knows, so that `newest` stays and this slot is written again.
        try next.encoded(key).withBytes { bytes throws(KeyFileError) in
            try files.writeAll(bytes, to: descriptor, at: next.offset)
        }
        try files.synchronise(descriptor)
        newest = next
    }

    /// Whoever wrote the newest slot may have been killed at once, or met an error. Then the slot that is about to be
    /// overwritten may be all that the disk has, or the file may have no name there.
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
