import AgentModel
import Glibc

/// File operations in one directory, one system call each. Tests use a failing disk instead. Data is durable after
/// `synchronise`, names after `synchroniseDirectory`.
package protocol FileOperations {
    /// - Returns: nil if the file does not exist.
    func open(_ name: String, forWriting: Bool) throws(KeyFileError) -> Int32?
    /// Creates an empty file (mode 0600), replacing an existing one, for reading and writing.
    func create(_ name: String) throws(KeyFileError) -> Int32
    /// Returns the size in bytes.
    func size(_ descriptor: Int32) throws(KeyFileError) -> Int
    /// - Returns: number of bytes read, 0 at the end.
    func read(
        _ descriptor: Int32, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(KeyFileError) -> Int
    /// - Returns: number of bytes written, perhaps fewer than given.
    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int) throws(KeyFileError) -> Int
    func synchronise(_ descriptor: Int32) throws(KeyFileError)
    /// Drops written pages of the file from the system's cache.
    func forgetCached(_ descriptor: Int32)
    /// Removes access of all users but the owner.
    /// - Returns: true if another user had access.
    func restrict(_ descriptor: Int32) throws(KeyFileError) -> Bool
    func close(_ descriptor: Int32)
    /// Renames a file atomically, replacing an existing one.
    func rename(_ name: String, to newName: String) throws(KeyFileError)
    /// Creates a hard link, replacing an existing file.
    func link(_ name: String, to newName: String) throws(KeyFileError)
    /// Removes a file if it exists.
    func remove(_ name: String) throws(KeyFileError)
    func synchroniseDirectory() throws(KeyFileError)
    var path: String { get }
}

extension FileOperations {
    func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int) throws(KeyFileError) {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = try write(rest, to: descriptor, at: offset + written)
            guard count > 0 else { throw .system(.write, path: path, errno: EIO) }
            written += count
        }
    }

    /// Reads until the buffer is full or the file ends.
    /// - Returns: number of bytes read.
    func readAll(
        _ descriptor: Int32, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(KeyFileError) -> Int {
        var total = 0
        while total < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[total...])
            let count = try read(descriptor, at: offset + total, into: rest)
            guard count > 0 else { break }
            total += count
        }
        return total
    }

    /// Replaces a small file durably: after a power loss, either the old or the new one exists.
    package func replace(_ name: String, with bytes: UnsafeRawBufferPointer) throws(KeyFileError) {
        let temporary = name + ".new"
        do {
            let descriptor = try create(temporary)
            defer { close(descriptor) }
            try writeAll(bytes, to: descriptor, at: 0)
            try synchronise(descriptor)
            try rename(temporary, to: name)
        } catch {
            try? remove(temporary)
            throw error
        }
        try synchroniseDirectory()
    }
}

/// Opens directories for small files beside the store.
package enum Folder {
    /// - Parameter making: true to create a missing folder and its parents, with mode 0700.
    package static func open(_ path: String, making: Bool = false) throws(KeyFileError) -> any FileOperations {
        guard !making else { return try StoreDirectory(path: path) }
        return try StoreDirectory(existing: path)
    }

    /// Opens a folder read-only. A missing folder counts as empty.
    package static func openForReading(_ path: String) throws(KeyFileError) -> any FileOperations {
        try ReadOnlyDirectory(path: path)
    }
}

extension FileOperations {
    /// Reads a small file.
    /// - Parameter maximum: maximum bytes to return.
    /// - Returns: nil if the file does not exist.
    package func readSmall(_ name: String, maximum: Int) throws(KeyFileError) -> Secret? {
        guard let descriptor = try open(name, forWriting: false) else { return nil }
        defer { close(descriptor) }
        var content = WipedBuffer(size: maximum)
        let count = try content.withMutableBytes { buffer throws(KeyFileError) in
            try readAll(descriptor, at: 0, into: buffer)
        }
        content.resize(to: count)
        return content.withBytes { Secret($0) }
    }

    /// True if the file exists.
    package func holds(_ name: String) throws(KeyFileError) -> Bool {
        guard let descriptor = try open(name, forWriting: false) else { return false }
        close(descriptor)
        return true
    }

    /// Overwrites a file durably and removes its name. `synchroniseDirectory` makes the removal durable. Copy-on-write
    /// file systems and SD cards may keep the old bytes.
    package func destroy(_ name: String) throws(KeyFileError) {
        guard let descriptor = try open(name, forWriting: true) else { return }
        defer { close(descriptor) }
        let size = try size(descriptor)
        let zeros = Secret(repeatElement(0, count: min(size, 1 << 16)))
        var done = 0
        while done < size {
            let count = min(zeros.count, size - done)
            try zeros.withBytes { bytes throws(KeyFileError) in
                try writeAll(UnsafeRawBufferPointer(rebasing: bytes[..<count]), to: descriptor, at: done)
            }
            done += count
        }
        try synchronise(descriptor)
        try remove(name)
    }
}
