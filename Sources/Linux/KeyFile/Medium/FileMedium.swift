import Glibc

/// A store in a regular file of fixed size. All bytes are written at creation. Commits overwrite allocated blocks, so
/// fdatasync(2) writes only data, not size or block map.
package final class FileMedium: Medium {
    package private(set) var geometry: Geometry
    package private(set) var isWhole = true
    package let isNewWhenBlank = false
    package let isRewritable = true
    package private(set) var findings: [StoreFinding] = []

    private let files: any FileOperations
    private let name: String
    private var descriptor: Int32?
    /// Error of opening the file for writing; nil if the file is writable.
    private var refusal: KeyFileError?
    /// False until the file's name is certainly on disk. Its creator may have been killed before that.
    private var isNameDurable = false

    private var path: String { "\(files.path)/\(name)" }

    package init(name: String, in files: any FileOperations) throws(KeyFileError) {
        self.name = name
        self.files = files
        geometry = .file
        do {
            descriptor = try files.open(name, forWriting: true)
        } catch {
            guard case .system(.open, let path, let errno) = error, [EROFS, EACCES, EPERM].contains(errno) else {
                throw error
            }
            refusal = .system(.write, path: path, errno: errno)
            descriptor = try files.open(name, forWriting: false)
        }
        guard let descriptor else { return }
        do {
            if try files.restrict(descriptor) { findings.append(.readableByOthers(path: path, corrected: true)) }
        } catch {
            findings.append(.readableByOthers(path: path, corrected: false))
        }
        let size = try files.size(descriptor)
        geometry = try discoverGeometry(descriptor, size: size) ?? .file
        isWhole = size == geometry.size
        if !isWhole { findings.append(.wrongSize(bytes: size, expected: geometry.size)) }
    }

    deinit { forget() }

    private func forget() {
        descriptor.map(files.close)
        descriptor = nil
    }

    /// Reads the sectors' headers. Returns the geometry that matches the file's size, otherwise the first one found.
    private func discoverGeometry(_ descriptor: Int32, size: Int) throws(KeyFileError) -> Geometry? {
        var header = WipedBuffer(size: SectorHeader.size)
        var other: Geometry?
        let last = min(size, Geometry.smallestSector * Geometry.sectorCounts.upperBound)
        for offset in stride(from: 0, to: last, by: Geometry.smallestSector) {
            let reading = try header.withMutableBytes { bytes throws(KeyFileError) -> SectorHeader.Reading in
                guard try files.readAll(descriptor, at: offset, into: bytes) == bytes.count else {
                    return .unreadable
                }
                return SectorHeader.read(bytes)
            }
            guard case .header(let header, _) = reading else { continue }
            if header.geometry.size == size { return header.geometry }
            other = other ?? header.geometry
        }
        return other
    }

    package var isPresent: Bool { descriptor != nil }

    /// Reopens the file, because its file system may have become writable.
    package func requireWritable() throws(KeyFileError) {
        guard let refusal else { return }
        guard let writable = try files.open(name, forWriting: true) else { throw refusal }
        forget()
        descriptor = writable
        self.refusal = nil
    }

    package func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(KeyFileError) {
        let count = try files.readAll(opened(), at: offset, into: buffer)
        UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).initializeMemory(as: UInt8.self, repeating: 0)
    }

    package func begin(sector: Int, with bytes: UnsafeRawBufferPointer) throws(KeyFileError) {
        try files.writeAll(bytes, to: opened(), at: geometry.start(of: sector))
    }

    package func append(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(KeyFileError) {
        try files.writeAll(bytes, to: opened(), at: offset)
    }

    package func erase(sector: Int) throws(KeyFileError) {
        try write(UnsafeRawBufferPointer(start: nil, count: 0), thenBlankIn: sector, of: geometry, to: opened())
    }

    package func synchronise() throws(KeyFileError) {
        try files.synchronise(opened())
        guard !isNameDurable else { return }
        try files.synchroniseDirectory()
        isNameDurable = true
    }

    package func forgetCached() { descriptor.map(files.forgetCached) }

    package func setAside() throws(KeyFileError) -> String? {
        try requireWritable()
        var kept: String? = path + ".damaged"
        // Some file systems lack hard links. EPERM also means that `fs.protected_hardlinks` forbids this one.
        do { try files.link(name, to: name + ".damaged") } catch {
            guard case .system(.rename, _, let errno) = error, [EPERM, EOPNOTSUPP, ENOSYS].contains(errno) else {
                throw error
            }
            kept = nil
        }
        forget()
        geometry = .file
        isWhole = true
        return kept
    }

    private func opened() throws(KeyFileError) -> Int32 {
        guard let descriptor else { throw .system(.open, path: path, errno: ENOENT) }
        return descriptor
    }

    /// Doubles the number of sectors until it is at least `sectors`, up to the maximum.
    package func geometry(holding sectors: Int) -> Geometry? {
        let most = Geometry.sectorCounts.upperBound
        var count = geometry.sectorCount
        while count < min(sectors, most) { count = min(2 * count, most) }
        return Geometry(sectorSize: geometry.sectorSize, sectorCount: count, writeUnit: geometry.writeUnit)
    }

    /// Writes a new file and renames it atomically.
    package func replace(with sectors: [Int: [UInt8]], as geometry: Geometry) throws(KeyFileError) {
        try requireWritable()
        let temporary = name + ".new"
        let new = try files.create(temporary)
        do {
            for index in 0..<geometry.sectorCount {
                try (sectors[index] ?? []).lend { bytes throws(KeyFileError) in
                    try write(bytes, thenBlankIn: index, of: geometry, to: new)
                }
            }
            try files.synchronise(new)
            try files.rename(temporary, to: name)
        } catch {
            files.close(new)
            try? files.remove(temporary)
            throw error
        }
        forget()
        descriptor = new
        self.geometry = geometry
        isNameDurable = false
    }

    /// Writes a whole sector, padded with blank bytes.
    private func write(
        _ bytes: UnsafeRawBufferPointer, thenBlankIn sector: Int, of geometry: Geometry, to descriptor: Int32
    ) throws(KeyFileError) {
        var content = WipedBuffer(capacity: geometry.sectorSize)
        content.append(bytes)
        content.append(repeatElement(0xff, count: content.remaining))
        try content.withBytes { whole throws(KeyFileError) in
            try files.writeAll(whole, to: descriptor, at: geometry.start(of: sector))
        }
    }
}
