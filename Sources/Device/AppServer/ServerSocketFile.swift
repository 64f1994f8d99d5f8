import AgentModel
import Glibc

/// The file of a listening socket.
///
/// The socket is bound under a temporary name, gets its permissions, and is then renamed. Clients never see it
/// before that.
package struct ServerSocketFile: Sendable {
    package let path: String
    package let mode: UInt32
    package let group: UInt32
    /// Owner of the file; nil for the creating user.
    package let owner: UInt32?

    package init(path: String, mode: UInt32, group: UInt32, owner: UInt32? = nil) {
        self.path = path
        self.mode = mode
        self.group = group
        self.owner = owner
    }

    /// Identity of the socket's file, so that a successor's file is not removed.
    package struct Identity: Sendable {
        fileprivate let device: dev_t
        fileprivate let inode: ino_t
    }

    private var temporaryPath: String { path + ".new" }

    /// Verifies that no process listens at `path`.
    /// - Returns: the path to bind the new socket to.
    package func claim() throws(AppServerError) -> String {
        let maximum = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
        guard temporaryPath.utf8.count <= maximum, !path.utf8.contains(0) else {
            throw .pathTooLong(path: path, maximum: maximum - (temporaryPath.utf8.count - path.utf8.count))
        }
        var information = stat()
        if lstat(path, &information) == 0 {
            guard information.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket(path: path) }
            guard try !isAnswered() else { throw .alreadyServed(path: path) }
        } else if errno != ENOENT {
            throw .system(SystemError("inspect \(path)", errno: errno))
        }
        guard unlink(temporaryPath) == 0 || errno == ENOENT else {
            throw .system(SystemError("remove \(temporaryPath)", errno: errno))
        }
        return temporaryPath
    }

    package func publish(_ place: String) throws(AppServerError) -> Identity {
        var information = stat()
        // Set the permissions before clients can see the socket.
        guard lchown(place, owner ?? uid_t.max, group) == 0 else {
            throw .system(SystemError("change the group of \(place) to \(group)", errno: errno))
        }
        guard chmod(place, mode_t(mode)) == 0, lstat(place, &information) == 0 else {
            throw .system(SystemError("set the permissions of \(place)", errno: errno))
        }
        guard rename(place, path) == 0 else { throw .system(SystemError("replace \(path)", errno: errno)) }
        return Identity(device: information.st_dev, inode: information.st_ino)
    }

    /// Removes the file if it is still the published one.
    package func remove(_ identity: Identity) {
        var information = stat()
        guard lstat(path, &information) == 0, information.st_dev == identity.device,
            information.st_ino == identity.inode
        else { return }
        unlink(path)
    }

    private func isAnswered() throws(AppServerError) -> Bool {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw .system(SystemError("connect to \(path)", errno: errno)) }
        defer { close(descriptor) }
        // Do not block: the process at the other end may hang.
        guard fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else {
            throw .system(SystemError("connect to \(path)", errno: errno))
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        if result == 0 { return true }
        switch errno {
        case ECONNREFUSED, ENOENT: return false
        // The other process listens, but its backlog is full.
        case EAGAIN, EINPROGRESS: return true
        default: throw .system(SystemError("connect to \(path)", errno: errno))
        }
    }
}
