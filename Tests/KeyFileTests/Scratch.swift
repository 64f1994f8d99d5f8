import Glibc
import Testing

/// A system call that a test needs and that failed.
struct ScratchError: Error, Equatable {
    var errno: Int32
}

/// Runs `body` with a new directory that is removed afterwards.
func withScratchDirectory(_ body: (String) throws -> Void) throws {
    var template = Array("/tmp/altnet-keyfile-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw ScratchError(errno: errno) }
    let path = String(cString: made)
    defer { removeAll(in: path) }
    try body(path)
}

/// Removes a directory and what is in it.
func removeAll(in path: String) {
    for name in names(in: path) {
        if unlink("\(path)/\(name)") != 0 { removeAll(in: "\(path)/\(name)") }
    }
    rmdir(path)
}

/// The sorted names of what is in a directory.
func names(in path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
}

/// The permission bits of a file.
func mode(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}

func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o600) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw ScratchError(errno: errno) }
    defer { close(descriptor) }
    guard fchmod(descriptor, mode) == 0 else { throw ScratchError(errno: errno) }
    var rest = bytes[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard count > 0 else { throw ScratchError(errno: errno) }
        rest = rest.dropFirst(count)
    }
}

/// Reads a number that was written in the machine's own byte order.
func readNumber(from path: String) throws -> UInt64 {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    var number: UInt64 = 0
    guard read(descriptor, &number, 8) == 8 else { throw ScratchError(errno: errno) }
    return number
}

/// Whether a file system can be mounted here.
let canMount: Bool = {
    guard geteuid() == 0 else { return false }
    return (try? withTinyFileSystem { _ in }) != nil
}()

/// Runs `body` with an empty file system of 64 KiB in memory.
func withTinyFileSystem(_ body: (String) throws -> Void) throws {
    try withScratchDirectory { scratch in
        guard mount("none", scratch, "tmpfs", 0, "size=64k") == 0 else { throw ScratchError(errno: errno) }
        defer { umount2(scratch, Int32(MNT_DETACH)) }
        try body(scratch)
    }
}
