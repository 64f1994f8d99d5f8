import AgentModel
import AppServer
import Glibc
import Linux

/// Host of the providers. Starts one process per connection, which becomes the provider. A host that runs as root stays
/// root: it can end every provider, and a provider cannot end the host.
struct ProviderListener {
    /// Maximum number of simultaneous connections. Further connections wait.
    static let maximumConnections = 16

    private var connections: ProviderConnections
    private let agent: SystemUser?

    /// - Parameter agent: user that may connect, besides root and this process's user.
    init(providers connections: ProviderConnections, agent: SystemUser?) throws(HostFailure) {
        try SystemUser.requireUnprivileged(connections.user)
        self.connections = connections
        self.agent = agent
    }

    consuming func run(on socket: ListeningSocket) throws {
        // Block signals before the socket exists: other programs may send signals as soon as they see the socket.
        let signals = try ProcessSignals([SIGCHLD, SIGTERM, SIGINT])
        let trusted: Set<UInt32> = [0, geteuid(), agent?.user ?? 0]
        let listener = try socket.open(for: agent, backlog: Int32(Self.maximumConnections))
        try ChildProcess.adoptOrphans()
        while true {
            let clients = connections.waiting
            let isReady = Readiness.wait(
                for: [
                    (signals.descriptor, .readable),
                    (connections.count < Self.maximumConnections ? listener : -1, .readable),
                ] + clients.map { ($0, .hungUp) }, within: nil)
            guard isReady.contains(true) else { continue }
            if isReady[0], signals.drain().contains(where: { $0 != SIGCHLD }) { break }
            connections.end(zip(clients, isReady.dropFirst(2)).filter(\.1).map(\.0))
            connections.reap()
            if isReady[1] { accept(from: listener, trusted) }
        }
        connections.endAll()
    }

    private mutating func accept(from listener: Int32, _ trusted: Set<UInt32>) {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        guard let peer = ProcessCredentials(peerOf: descriptor), trusted.contains(peer.uid) else {
            close(descriptor)
            return
        }
        connections.begin(descriptor)
    }
}

enum HostFailure: Error, CustomStringConvertible {
    case unknownUser(String)
    case programsWouldBeRoot
    case notRoot
    case noSocket
    case notASocket
    case system(SystemError)

    var description: String {
        switch self {
        case .unknownUser(let name): "no such user: \(name)"
        case .programsWouldBeRoot: "the programs would run as root: give another user with --user"
        case .notRoot: "only root can run programs as another user: run as root, or omit --user"
        case .noSocket: "no socket to listen on: give --listen, or start it through systemd's socket unit"
        case .notASocket: "the inherited descriptor is not a listening Unix socket: check the socket unit"
        case .system(let error): "\(error)"
        }
    }
}

enum ListeningSocket {
    case path(String)
    /// The socket that systemd passes (sd_listen_fds(3)), with permissions set by systemd.
    case inherited

    private static let inheritedDescriptor: Int32 = 3

    /// - Parameter agent: user that may connect, besides root and this process's user.
    func open(for agent: SystemUser?, backlog: Int32) throws -> Int32 {
        switch self {
        case .path(let path): try Self.listen(at: path, for: agent, backlog)
        case .inherited: try Self.inherited()
        }
    }

    private static func inherited() throws(HostFailure) -> Int32 {
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

    private static func listen(at path: String, for agent: SystemUser?, _ backlog: Int32) throws -> Int32 {
        // Allow the agent's user only: other users may be in its group.
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
