import AgentModel
import Glibc

/// The operations that the store needs of the directory that a file of it lives in, one system call each: the seam
/// under which tests put a disk that fails or loses its power at any of them.
///
/// Nothing is durable before it is synchronised: a file's data by `synchronise`, names by `synchroniseDirectory`.
package protocol FileOperations {
    /// Opens a file for reading, and for writing where asked.
    /// - Returns: nil if there is none with this name.
    func open(_ name: String, forWriting: Bool) throws(KeyFileError) -> Int32?
    /// Makes a new, empty file (mode 0600) in the place of any with this name and opens it for reading and writing.
    func create(_ name: String) throws(KeyFileError) -> Int32
    /// The file's size in bytes.
    func size(_ descriptor: Int32) throws(KeyFileError) -> Int
    /// - Returns: how many bytes were read, 0 at the end.
    func read(
        _ descriptor: Int32, at offset: Int, into buffer: UnsafeMutableRawBufferPointer
    ) throws(KeyFileError) -> Int
    /// - Returns: how many bytes were written, which may be fewer than there are.
    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int) throws(KeyFileError) -> Int
    func synchronise(_ descriptor: Int32) throws(KeyFileError)
    /// Drops what the system's memory has of the file, as far as it was written.
    func forgetCached(_ descriptor: Int32)
    /// Takes access away from all users but the owner.
    /// - Returns: whether another user had it.
    func restrict(_ descriptor: Int32) throws(KeyFileError) -> Bool
    func close(_ descriptor: Int32)
    /// Gives a file another name, in the place of any that has it, at one stroke.
    func rename(_ name: String, to newName: String) throws(KeyFileError)
    /// Gives a file a second name, in the place of any that has it.
    func link(_ name: String, to newName: String) throws(KeyFileError)
    /// Removes a file, if there is one.
    func remove(_ name: String) throws(KeyFileError)
    func synchroniseDirectory() throws(KeyFileError)
    /// The path of the directory, for messages.
    var path: String { get }
}

extension FileOperations {
    /// Writes all of the bytes.
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
    /// - Returns: how many bytes were read.
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

    /// Replaces a whole small file, durably: after a power cut there is the old one or the new one.
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

/// A folder on the disk, for what is kept beside the store with the same care.
package enum Folder {
    /// Opens the folder at `path` for reading and writing.
    /// - Parameter making: whether a missing one is made, with mode 0700, and its parents with it.
    package static func open(_ path: String, making: Bool = false) throws(KeyFileError) -> any FileOperations {
        guard !making else { return try StoreDirectory(path: path) }
        return try StoreDirectory(existing: path)
    }

    /// Opens the folder at `path` to be looked into. One that is missing is empty.
    package static func openForReading(_ path: String) throws(KeyFileError) -> any FileOperations {
        try ReadOnlyDirectory(path: path)
    }
}

extension FileOperations {
    /// Reads a small file as a whole.
    /// - Parameter maximum: of what is longer, this many bytes come.
    /// - Returns: nil if there is no file with this name.
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

    /// Whether there is a file with this name.
    package func holds(_ name: String) throws(KeyFileError) -> Bool {
        guard let descriptor = try open(name, forWriting: false) else { return false }
        close(descriptor)
        return true
    }

    /// Overwrites a file, durably, and takes its name away, which is durable when the directory was synchronised.
    ///
    /// A file system that writes elsewhere, and every SD card, may keep the old bytes all the same.
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
