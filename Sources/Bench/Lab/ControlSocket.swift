import AgentModel
import Glibc

/// One end of hostapd's or wpa_supplicant's control interface: a Unix datagram socket, a text request, a text reply.
///
/// For looking on and for steering a scenario. It blocks while it waits, at most `limit`.
struct ControlSocket: Sendable {
    /// The daemon's socket.
    let path: String
    /// Where this side's sockets go; the daemon answers to the sender's address.
    let directory: String

    func ask(_ command: String, limit: Duration = .seconds(2)) throws(LabError) -> String {
        let attempt = "ask \(path) for \(command.prefix(while: { $0 != " " }))"
        let socket = try FileDescriptor.socket(AF_UNIX, SOCK_DGRAM)
        let own = "\(directory)/ask-\(getpid())-\(socket.number)"
        unlink(own)
        defer { unlink(own) }
        guard Self.withAddress(own, { bind(socket.number, $0, $1) }) == 0,
            Self.withAddress(path, { connect(socket.number, $0, $1) }) == 0,
            send(socket.number, command, command.utf8.count, 0) == command.utf8.count
        else { throw .lastCall(attempt) }
        var readable = pollfd(fd: socket.number, events: Int16(POLLIN), revents: 0)
        guard poll(&readable, 1, Int32(limit.milliseconds)) == 1 else { throw .timedOut(what: attempt, limit: limit) }
        var reply = [UInt8](repeating: 0, count: 16384)
        let count = recv(socket.number, &reply, reply.count, 0)
        guard count >= 0 else { throw .lastCall(attempt) }
        return String(decoding: reply.prefix(count), as: UTF8.self)
    }

    /// Asks for something that is answered with OK.
    func order(_ command: String) throws(LabError) {
        let reply = try ask(command)
        guard reply == "OK\n" else { throw .refused(command: command, reply: String(reply.prefix { $0 != "\n" })) }
    }

    /// The value of `name` in a reply of `name=value` lines.
    func value(of name: String, in command: String) throws(LabError) -> String? {
        try ask(command).split(separator: "\n").first { $0.hasPrefix("\(name)=") }
            .map { String($0.dropFirst(name.count + 1)) }
    }

    private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
