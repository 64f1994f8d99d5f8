import AppServer
import Glibc
import Hotspots
import Linux

/// The host of the providers: one process of this program for each connection, which becomes the provider. This one stays
/// what it was started as, so that no provider can end it, and each can be ended by it.
struct ProviderListener {
    /// How many connections there may be at a time; the next one waits.
    static let maximumConnections = 16

    private var connections: ProviderConnections
    private let agent: Account?

    /// - Parameter agent: who may connect, besides root and this process's user.
    init(providers connections: ProviderConnections, agent: Account?) throws(HostFailure) {
        switch (geteuid() == 0, connections.user?.user) {
        case (true, nil), (_, 0?): throw .providersWouldBeRoot
        case (false, let user?) where user != geteuid(): throw .notRoot
        default: break
        }
        self.connections = connections
        self.agent = agent
    }

    /// Runs until a signal ends it.
    consuming func run(on socket: ListeningSocket) throws {
        // Before there is a socket, by which others know that this has begun.
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
            if isReady[0], signals.take().contains(where: { $0 != SIGCHLD }) { break }
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

/// Why there is no host.
enum HostFailure: Error, CustomStringConvertible {
    case unknownUser(String)
    case providersWouldBeRoot
    case notRoot
    case noSocket
    case notASocket
    case system(SystemError)

    var description: String {
        switch self {
        case .unknownUser(let name): "there is no user \(name)"
        case .providersWouldBeRoot: "the providers would be root: say by --user who they are to be"
        case .notRoot: "only root can run the providers as another user"
        case .noSocket: "there is no socket to listen on: say one by --listen, or have systemd pass one"
        case .notASocket: "what was passed to listen on is no listening Unix socket"
        case .system(let error): "\(error)"
        }
    }
}
