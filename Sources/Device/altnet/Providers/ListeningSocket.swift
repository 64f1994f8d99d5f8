import AppServer
import Glibc
import Linux

/// Where the host of the providers listens.
enum ListeningSocket {
    case path(String)
    /// The one that systemd passes (sd_listen_fds(3)), whose permissions are systemd's matter.
    case inherited

    /// The first descriptor that is passed.
    private static let inheritedDescriptor: Int32 = 3

    /// - Parameter agent: who may connect, besides root and this process's user.
    func open(for agent: Account?, backlog: Int32) throws -> Int32 {
        switch self {
        case .path(let path): try Self.listen(at: path, for: agent, backlog)
        case .inherited: try Self.take()
        }
    }

    private static func take() throws(HostFailure) -> Int32 {
        guard number("LISTEN_PID") == getpid(), number("LISTEN_FDS") == 1 else { throw .noSocket }
        guard option(SO_DOMAIN) == AF_UNIX, option(SO_TYPE) == Int32(SOCK_STREAM.rawValue), option(SO_ACCEPTCONN) == 1
        else { throw .notASocket }
        return inheritedDescriptor
    }

    private static func number(_ variable: String) -> Int32? { getenv(variable).flatMap { Int32(String(cString: $0)) } }

    private static func option(_ name: Int32) -> Int32? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(inheritedDescriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }

    private static func listen(at path: String, for agent: Account?, _ backlog: Int32) throws -> Int32 {
        // For the agent's user, and not for its group: users are put in that.
        let file = ServerSocketFile(path: path, mode: 0o600, group: getegid(), owner: agent?.user)
        let place = try file.claim()
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw HostFailure.system(SystemError("open a socket")) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: place.utf8) }
        let isBound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard isBound == 0, Glibc.listen(descriptor, backlog) == 0 else {
            throw HostFailure.system(SystemError("listen on \(path)"))
        }
        _ = try file.publish(place)
        return descriptor
    }
}
