import AgentModel
import Glibc
import KeyFile
import Linux

enum PrivateFile {
    /// Writes the file durably with mode 0600.
    /// - Parameters:
    ///   - replacing: whether to replace an existing file.
    ///   - keepingOwner: whether the file keeps the owner, the group and the mode of the existing file.
    ///   - check: called with the path of the new content before it replaces the old one.
    static func write(
        _ bytes: [UInt8], to path: String, replacing: Bool, keepingOwner: Bool = false,
        check: (String) throws -> Void = { _ in }
    ) throws {
        // Without this check, root could replace a device file such as /dev/null.
        var there = stat()
        let exists = lstat(path, &there) == 0
        guard !exists || there.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure(.failed, "not a regular file, choose another name: \(path)")
        }
        // Write another file first, so that a failure keeps the old one.
        let name = replacing ? path + ".new" : path
        if replacing { unlink(name) }
        let file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else {
            guard errno != EEXIST else {
                throw CommandFailure(.failed, "\(path) already exists: give --force to replace it")
            }
            throw KeyFileError.system(.create, path: name, errno: errno)
        }
        do {
            defer { close(file) }
            if exists, keepingOwner {
                guard fchown(file, there.st_uid, there.st_gid) == 0, fchmod(file, there.st_mode & 0o777) == 0 else {
                    throw KeyFileError.system(.create, path: name, errno: errno)
                }
            }
            try write(bytes, to: file, path: name)
            guard fsync(file) == 0 else { throw KeyFileError.system(.synchronise, path: name, errno: errno) }
            try check(name)
            guard !replacing || rename(name, path) == 0 else {
                throw KeyFileError.system(.rename, path: name, errno: errno)
            }
        } catch {
            unlink(name)
            throw error
        }
        try synchroniseDirectory(of: path)
    }

    static func writeToStandardOutput(_ bytes: [UInt8]) throws {
        try write(bytes, to: STDOUT_FILENO, path: "standard output")
    }

    /// Reads at most `maximum` + 1 bytes of a file. The additional byte shows the caller that the file is too long.
    static func read(_ path: String, maximum: Int) throws(KeyFileError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw .system(.open, path: path, errno: errno) }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: maximum + 1)
        var count = 0
        while count < bytes.count {
            let more = bytes.withUnsafeMutableBytes {
                Glibc.read(file, $0.baseAddress?.advanced(by: count), $0.count - count)
            }
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else { throw .system(.read, path: path, errno: errno) }
            guard more > 0 else { break }
            count += more
        }
        return Array(bytes.prefix(count))
    }

    private static func write(_ bytes: [UInt8], to file: Int32, path: String) throws(KeyFileError) {
        do throws(SystemError) { try writeAll(bytes, to: file, attempting: "write") } catch {
            throw .system(.write, path: path, errno: error.errno)
        }
    }

    /// Synchronises the directory of a file. Without this, a power cut could undo the rename.
    private static func synchroniseDirectory(of path: String) throws {
        guard let (folder, _) = KeyFile.split(path) else { return }
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw KeyFileError.system(.open, path: folder, errno: errno) }
        defer { close(directory) }
        // fsync(2): EINVAL means that the file system does not support it for directories.
        guard fsync(directory) == 0 || errno == EINVAL else {
            throw KeyFileError.system(.synchronise, path: folder, errno: errno)
        }
    }
}
