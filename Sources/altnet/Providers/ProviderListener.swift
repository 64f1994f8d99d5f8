import AppServer
import ChildProcess
import Dispatch
import Glibc
import HotspotProviders

/// The host where there is no systemd: one process of this program for each connection, which becomes the provider.
struct ProviderListener {
    /// How many connections there may be at a time; the next one waits.
    static let maximumConnections = 16

    let socket: String
    let directory: ProviderDirectory
    /// The user that the providers run as; nil for the same.
    let user: String?
    let agentUser: String?

    /// Why it cannot listen.
    enum Failure: Error, CustomStringConvertible {
        case unknownUser(String)
        case system(attempted: String, errno: Int32)

        var description: String {
            switch self {
            case .unknownUser(let name): "there is no user \(name)"
            case .system(let attempted, let errno): "cannot \(attempted): \(String(cString: strerror(errno)))"
            }
        }
    }

    /// Runs until a signal ends it.
    func run() throws {
        let agent = try agentUser.map { try Account(name: $0) }
        let trusted: Set<UInt32> = [0, geteuid(), agent?.user ?? 0]
        let file = ServerSocketFile(path: socket, mode: agent == nil ? 0o600 : 0o660, group: agent?.group ?? getegid())
        let listener = try listen(file)
        if let user { try Account(name: user).become() }
        var connections = ProviderConnections(directory: directory.path)
        let signals = try SignalPipe([SIGCHLD, SIGTERM, SIGINT])
        while true {
            var waiting =
                [
                    pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
                    pollfd(
                        fd: connections.count < Self.maximumConnections ? listener : -1, events: Int16(POLLIN),
                        revents: 0),
                ] + connections.waiting
            guard poll(&waiting, nfds_t(waiting.count), -1) > 0 else { continue }
            if waiting[0].revents != 0, signals.take().contains(where: { $0 != SIGCHLD }) { break }
            connections.end(waiting.dropFirst(2).filter { $0.revents != 0 }.map(\.fd))
            connections.reap()
            if waiting[1].revents != 0 { accept(from: listener, trusted, &connections) }
        }
        connections.endAll()
    }

    private func accept(from listener: Int32, _ trusted: Set<UInt32>, _ connections: inout ProviderConnections) {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        guard let peer = ProcessCredentials(peerOf: descriptor), trusted.contains(peer.uid) else {
            close(descriptor)
            return
        }
        connections.begin(descriptor)
    }

    private func listen(_ file: ServerSocketFile) throws -> Int32 {
        let place = try file.claim()
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.system(attempted: "open a socket", errno: errno) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: place.utf8) }
        let isBound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard isBound == 0, Glibc.listen(descriptor, Int32(Self.maximumConnections)) == 0 else {
            throw Failure.system(attempted: "listen on \(socket)", errno: errno)
        }
        _ = try file.publish(place)
        return descriptor
    }
}

/// A user of this machine (passwd(5)).
private struct Account {
    let name: String
    let user: UInt32
    let group: UInt32

    init(name: String) throws(ProviderListener.Failure) {
        guard let entry = getpwnam(name) else { throw .unknownUser(name) }
        self.name = name
        user = entry.pointee.pw_uid
        group = entry.pointee.pw_gid
    }

    /// From here on this process is the user, with nobody else's groups.
    func become() throws(ProviderListener.Failure) {
        guard initgroups(name, group) == 0, setgid(group) == 0, setuid(user) == 0 else {
            throw .system(attempted: "become \(name)", errno: errno)
        }
    }
}

/// Signals as something that poll(2) sees.
private struct SignalPipe {
    let descriptor: Int32
    private let sources: [any DispatchSourceSignal]

    init(_ numbers: [Int32]) throws(ProviderListener.Failure) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0, fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 else {
            throw .system(attempted: "make a pipe", errno: errno)
        }
        descriptor = ends[0]
        let writing = ends[1]
        sources = numbers.map { number in
            // Children are to be waited for, so theirs is not ignored.
            if number != SIGCHLD { signal(number, SIG_IGN) }
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler {
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(writing, &byte, 1)
            }
            source.activate()
            return source
        }
    }

    /// What has come since.
    func take() -> [Int32] {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        return bytes.prefix(max(count, 0)).map(Int32.init)
    }
}
