import AgentModel
import CLinux
import Glibc

/// A folder with another machine's mounted file system. Paths are resolved as on that machine: neither `..` nor a
/// symbolic link leaves the folder. Needs Linux 5.6.
public final class MountedRoot: Sendable {
    private let folder: Int32

    /// - Throws: `ENOSYS` on an older kernel.
    public init(_ path: String) throws(SystemError) {
        let attempt = "open the folder \(path.printable)"
        folder = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw SystemError(attempt) }
        let probe = open("/", O_RDONLY | O_DIRECTORY)
        guard probe >= 0 else { throw SystemError(attempt) }
        Glibc.close(probe)
    }

    deinit { if folder >= 0 { close(folder) } }

    /// - Returns: a descriptor, or -1 with `errno`.
    public func open(_ path: UnsafePointer<CChar>, _ flags: Int32) -> Int32 {
        // The kernel returns `EAGAIN` if a folder is moved meanwhile.
        for _ in 0..<16 {
            let file = root_open(folder, path, flags | O_CLOEXEC)
            guard file < 0, errno == EAGAIN || errno == EINTR else { return file }
        }
        return -1
    }
}
