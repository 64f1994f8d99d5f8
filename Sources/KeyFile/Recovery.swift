/// What is on the disk when the store is opened, and what has to be done about it.
struct Recovery {
    /// The newest complete content.
    private(set) var image: Image?
    private(set) var findings: [Finding] = []
    /// In the order in which they are to be carried out.
    private(set) var repairs: [Repair] = []

    /// Reads the file and what an interrupted commit may have left beside it. Changes nothing but too wide a mode.
    /// - Throws: `newerVersion` if that is what counts, and errors of the disk.
    init(reading names: KeyFile.Names, on disk: any FileOperations) throws(KeyFileError) {
        switch try read(names.file, on: disk) {
        case .missing: break
        case .valid(let image): self.image = image
        case .newer(let version): throw .newerVersion(path: "\(names.directory)/\(names.file)", version: version)
        case .damaged(let damage):
            findings.append(.damaged(damage, keptAs: "\(names.directory)/\(names.damaged)"))
            repairs.append(.setDamagedAside)
        }
        switch try read(names.temporary, on: disk) {
        case .missing: break
        case .valid(let leftover) where image.map(leftover.isNewer) ?? true:
            image = leftover
            findings.append(.interruptedCommitFinished)
            repairs.append(.finishCommit)
        case .newer(let version) where image == nil:
            throw .newerVersion(path: "\(names.directory)/\(names.temporary)", version: version)
        case .valid, .newer, .damaged:
            // A commit that was never acknowledged: not even a newer altnet's is missed.
            repairs.append(.removeTemporary)
        }
        repairs.append(.synchronise)
    }

    private enum Content {
        case missing
        case valid(Image)
        case damaged(Damage)
        case newer(version: UInt16)

        init(of bytes: UnsafeRawBufferPointer) {
            do throws(Damage) {
                let version = try Image.version(of: bytes)
                self = version > Image.version ? .newer(version: version) : .valid(try Image(decoding: bytes))
            } catch {
                self = .damaged(error)
            }
        }
    }

    private mutating func read(_ name: String, on disk: any FileOperations) throws(KeyFileError) -> Content {
        guard let descriptor = try disk.open(name) else { return .missing }
        defer { disk.close(descriptor) }
        do {
            if try disk.restrict(descriptor) { findings.append(.readableByOthers(corrected: true)) }
        } catch {
            findings.append(.readableByOthers(corrected: false))
        }
        var buffer = WipedBuffer(capacity: Image.maximumSize)
        try buffer.fill { memory throws(KeyFileError) in try disk.read(descriptor, into: memory) }
        return buffer.withBytes { Content(of: $0) }
    }
}

/// One step that brings the disk in order.
enum Repair {
    /// Keeps the damaged file for whoever wants to look into it.
    case setDamagedAside
    /// Takes a complete commit's last step.
    case finishCommit
    /// Removes what an incomplete commit left.
    case removeTemporary
    /// Makes durable what was read: a process that was killed may have left data and names in memory only, and what the
    /// agent has acted upon must not be gone after the next power cut.
    case synchronise

    func carryOut(_ names: KeyFile.Names, on disk: any FileOperations) throws(KeyFileError) {
        switch self {
        case .setDamagedAside: try disk.rename(names.file, to: names.damaged)
        case .finishCommit:
            try synchronise(names.temporary, on: disk)
            try disk.rename(names.temporary, to: names.file)
        case .removeTemporary: try disk.remove(names.temporary)
        case .synchronise:
            try synchronise(names.file, on: disk)
            try disk.synchroniseDirectory()
        }
    }

    private func synchronise(_ name: String, on disk: any FileOperations) throws(KeyFileError) {
        guard let descriptor = try disk.open(name) else { return }
        defer { disk.close(descriptor) }
        try disk.synchronise(descriptor)
    }
}
