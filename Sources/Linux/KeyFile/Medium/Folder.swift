import AgentModel

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
