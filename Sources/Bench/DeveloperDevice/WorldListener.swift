import AgentModel
import AppServer
import Glibc
import Linux

/// Unix socket for changes of the world. Each request and each answer is one line, in order. Only the device's user and
/// root can connect.
///
/// The listener runs on the agent's loop and must not block, so it disconnects clients that do not read their answers.
@AgentLoop
package final class WorldListener {
    private let file: ServerSocketFile
    private let descriptor: Int32
    private let place: ServerSocketFile.Identity
    private let answer: @AgentLoop (ArraySlice<UInt8>) -> [UInt8]
    private var watch: ReadWatch?
    private var clients: [Int32: Client] = [:]

    private struct Client {
        let watch: ReadWatch
        var unread: [UInt8] = []
    }

    /// Maximum number of clients. Further clients are disconnected.
    private static let clientLimit = 16

    /// - Parameter answer: returns the answer to a line, both without a line feed.
    package init(
        at path: String, answer: @escaping @AgentLoop (ArraySlice<UInt8>) -> [UInt8]
    ) throws {
        self.answer = answer
        file = ServerSocketFile(path: path, mode: 0o600, group: getegid())
        let temporary = try file.claim()
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.descriptor = descriptor
        guard descriptor >= 0 else { throw SystemError("make a socket") }
        do {
            guard withUnixAddress(temporary, { bind(descriptor, $0, $1) }) == 0, listen(descriptor, 16) == 0 else {
                throw SystemError("listen on \(path)")
            }
            place = try file.publish(temporary)
        } catch {
            close(descriptor)
            throw error
        }
        watch = ReadWatch(fileDescriptor: descriptor) { [weak self] in self?.accept() }
    }

    package func stop() {
        file.remove(place)
        for client in clients.keys { drop(client) }
        watch?.cancel { [descriptor] in close(descriptor) }
        watch = nil
    }

    private func accept() {
        let client = Glibc.accept(descriptor, nil, nil)
        guard client >= 0 else { return }
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        _ = fcntl(client, F_SETFL, O_NONBLOCK)
        guard clients.count < Self.clientLimit else {
            close(client)
            return
        }
        clients[client] = Client(watch: ReadWatch(fileDescriptor: client) { [weak self] in self?.read(client) })
    }

    private func read(_ client: Int32) {
        var buffer = [UInt8](repeating: 0, count: WorldRequest.requestLimit)
        let count = Glibc.read(client, &buffer, buffer.count)
        guard count > 0 else {
            if count == 0 || errno != EAGAIN && errno != EINTR { drop(client) }
            return
        }
        clients[client]?.unread += buffer.prefix(count)
        while let unread = clients[client]?.unread, let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
            clients[client]?.unread = Array(unread[(end + 1)...])
            guard send(answer(unread[..<end]), to: client) else { return drop(client) }
        }
        if clients[client]?.unread.count ?? 0 > WorldRequest.requestLimit { drop(client) }
    }

    private func send(_ line: [UInt8], to client: Int32) -> Bool {
        let bytes = line + [UInt8(ascii: "\n")]
        return Glibc.send(client, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }

    private func drop(_ client: Int32) {
        clients.removeValue(forKey: client)?.watch.cancel { close(client) }
    }
}

package enum WorldClient {
    /// - Throws: `SystemError` if no device answers; a decoding error for an invalid answer.
    package static func ask(_ request: WorldRequest, at path: String, within limit: Duration) throws -> WorldAnswer {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemError("make a socket") }
        defer { close(descriptor) }
        guard withUnixAddress(path, { connect(descriptor, $0, $1) }) == 0 else {
            throw SystemError("ask the world at \(path)")
        }
        try writeAll(
            try OutsideJSON.encode(request) + [UInt8(ascii: "\n")], to: descriptor, attempting: "ask the world")
        var line: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !line.contains(UInt8(ascii: "\n")), line.count <= WorldRequest.lineLimit {
            guard Readiness.readable.wait(on: descriptor, within: limit) else {
                throw SystemError("wait for the world's answer", errno: ETIMEDOUT)
            }
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { throw SystemError("read the world's answer", errno: count < 0 ? errno : ECONNRESET) }
            line += buffer.prefix(count)
        }
        return try WorldAnswer(reading: line.prefix { $0 != UInt8(ascii: "\n") })
    }
}

private func withUnixAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
        errno = ENAMETOOLONG
        return -1
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
}
