import AgentModel
import Glibc

/// Client of the control interface of hostapd or wpa_supplicant: text requests and replies over Unix datagrams. A
/// request blocks for at most 2 s.
struct ControlSocket: Sendable {
    let path: String
    /// Folder for the client's sockets, to which the daemon replies.
    let directory: String

    func ask(_ command: String) throws(LabError) -> String {
        let limit = Duration.seconds(2)
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

    /// Returns the value of `name` in a reply of `name=value` lines.
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

/// Closes an open file or socket when it is released.
final class FileDescriptor: Sendable {
    let number: Int32

    /// - Parameter number: result of `open` or `socket`; negative after a failure.
    init(_ number: Int32, attempt: @autoclosure () -> String) throws(LabError) {
        guard number >= 0 else { throw .lastCall(attempt()) }
        self.number = number
    }

    deinit { close(number) }

    static func open(_ path: String, _ flags: Int32) throws(LabError) -> FileDescriptor {
        try FileDescriptor(Glibc.open(path, flags | O_CLOEXEC), attempt: "open \(path)")
    }

    static func socket(
        _ domain: Int32, _ type: __socket_type, _ protocol: Int32 = 0
    ) throws(LabError) -> FileDescriptor {
        let flags = Int32(type.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        return try FileDescriptor(Glibc.socket(domain, flags, `protocol`), attempt: "open a socket")
    }
}

public struct IPv4Address: Hashable, Sendable {
    /// Address in host order: 10.1.0.1 is 0x0a010001.
    public let value: UInt32

    init(value: UInt32) { self.value = value }

    public init(_ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8) {
        value = UInt32(a) << 24 | UInt32(b) << 16 | UInt32(c) << 8 | UInt32(d)
    }

    func withSocketAddress<Value>(port: UInt16 = 0, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value) -> Value {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = value.bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

extension IPv4Address: CustomStringConvertible {
    public var description: String {
        stride(from: 24, through: 0, by: -8).map { String(value >> UInt32($0) & 0xff) }.joined(separator: ".")
    }
}

extension LabError {
    /// Returns an error for the call that just failed, from `errno`.
    static func lastCall(_ attempt: String) -> LabError { .system(SystemError(attempt)) }
}
