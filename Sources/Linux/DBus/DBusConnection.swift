import AgentModel
import Glibc
import Linux

/// A connection to a message bus, such as the system's. Stays open until ``close()`` or an error.
///
/// Messages are written at once, without a queue. If the socket buffer is full, the connection ends.
@AgentLoop
public final class DBusConnection {
    private let descriptor: Int32
    private var watch: ReadWatch?
    private let handlers: Handlers
    private var input: [UInt8] = []
    /// True once the bus has accepted the authentication.
    private var isAccepted = false
    private var lastSerial: UInt32 = 0
    private var waiting: [UInt32: Question] = [:]

    public struct Handlers: Sendable {
        /// - Returns: the answer; nil if the method does not exist.
        let onCall: @AgentLoop @Sendable (DBusMessage) -> DBusMessage?
        let onSignal: @AgentLoop @Sendable (DBusMessage) -> Void
        /// The connection has ended without `close()`. No callback follows.
        let onEnd: @AgentLoop @Sendable (DBusError) -> Void

        public init(
            onCall: @escaping @AgentLoop @Sendable (DBusMessage) -> DBusMessage?,
            onSignal: @escaping @AgentLoop @Sendable (DBusMessage) -> Void,
            onEnd: @escaping @AgentLoop @Sendable (DBusError) -> Void
        ) {
            (self.onCall, self.onSignal, self.onEnd) = (onCall, onSignal, onEnd)
        }
    }

    private struct Question {
        let continuation: CheckedContinuation<Result<[DBusValue], DBusError>, Never>
        let deadline: LoopTimer
    }

    /// Path of the system bus's socket, from `DBUS_SYSTEM_BUS_ADDRESS` or the standard path.
    public nonisolated static var systemSocket: String {
        let standard = "/run/dbus/system_bus_socket"
        guard let address = getenv("DBUS_SYSTEM_BUS_ADDRESS").map({ String(cString: $0) }) else { return standard }
        for option in address.split(separator: ";") where option.hasPrefix("unix:path=") {
            let path = option.dropFirst("unix:path=".count).prefix { $0 != "," }
            if !path.isEmpty { return String(path) }
        }
        return standard
    }

    /// Connects and authenticates as the effective user.
    /// - Throws: `unreachable`.
    public init(path: String, handlers: Handlers) throws(DBusError) {
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw .unreachable(SystemError("make a socket")) }
        self.descriptor = descriptor
        self.handlers = handlers
        guard Self.connect(descriptor, path) else {
            let error = SystemError("connect to \(path)")
            _ = Glibc.close(descriptor)
            throw .unreachable(error)
        }
        // The kernel passes the user's credentials to the bus. Sends both lines at once, since the bus answers with
        // one.
        let user = Hex.string("\(geteuid())".utf8)
        try write([0] + Array("AUTH EXTERNAL \(user)\r\nBEGIN\r\n".utf8))
        watch = ReadWatch(fileDescriptor: descriptor) { [weak self] in self?.receive() }
        Task { [weak self] in _ = try? await self?.call(.bus, "Hello") }
    }

    /// Ends the connection. `onEnd` is not called. Calls that wait for an answer throw `ended`.
    public func close() {
        guard let watch else { return }
        self.watch = nil
        watch.cancel { [descriptor] in _ = Glibc.close(descriptor) }
        let unanswered = waiting.values
        waiting = [:]
        for question in unanswered { question.continuation.resume(returning: .failure(.ended)) }
    }

    private static func connect(_ descriptor: Int32, _ path: String) -> Bool {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8) + [0]
        guard name.count <= MemoryLayout.size(ofValue: address.sun_path) else {
            errno = ENAMETOOLONG
            return false
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    // MARK: Sending

    /// The object and interface of a call.
    public struct Target: Sendable {
        public let destination: String
        public let path: String
        public let interface: String

        public init(_ destination: String, _ path: String, _ interface: String) {
            (self.destination, self.path, self.interface) = (destination, path, interface)
        }

        public static let bus = Target(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
    }

    /// Calls a method.
    /// - Returns: the values of its answer, which must come within 25 s.
    /// - Throws: `timedOut`, `refused`, `ended` or `unreachable`.
    @discardableResult
    public func call(
        _ target: Target, _ method: String, _ arguments: [DBusValue] = []
    ) async throws(DBusError) -> [DBusValue] {
        let message = DBusMessage(
            .call, path: target.path, interface: target.interface, member: method, destination: target.destination,
            body: arguments)
        let serial = try send(message)
        return try await withCheckedContinuation { continuation in
            let deadline = LoopTimer(after: .seconds(25)) { [weak self] in
                self?.waiting.removeValue(forKey: serial)?.continuation.resume(returning: .failure(.timedOut(method)))
            }
            waiting[serial] = Question(continuation: continuation, deadline: deadline)
        }.get()
    }

    public func signal(_ path: String, _ interface: String, _ name: String, _ body: [DBusValue]) throws(DBusError) {
        _ = try send(DBusMessage(.signal, path: path, interface: interface, member: name, body: body))
    }

    private func send(_ message: DBusMessage) throws(DBusError) -> UInt32 {
        guard watch != nil else { throw .ended }
        lastSerial = lastSerial == .max ? 1 : lastSerial + 1
        var message = message
        message.serial = lastSerial
        try write(message.encoded())
        return lastSerial
    }

    private func write(_ bytes: [UInt8]) throws(DBusError) {
        let count = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard count == bytes.count else {
            let error = DBusError.unreachable(SystemError("write to the bus", errno: count < 0 ? errno : ENOBUFS))
            // The error is reported after the caller's call has returned.
            Task { [weak self] in self?.end(error) }
            throw error
        }
    }

    // MARK: Receiving

    private func receive() {
        var buffer = [UInt8](repeating: 0, count: 16_384)
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        guard count > 0 else { return end(.ended) }
        input += buffer.prefix(count)
        do throws(DBusFault) { try readMessages() } catch { end(.notUnderstood(error)) }
    }

    private func readMessages() throws(DBusFault) {
        if !isAccepted {
            guard let line = input.firstIndex(of: UInt8(ascii: "\n")) else {
                guard input.count < 1024 else { throw .badHeader }
                return
            }
            guard input.starts(with: Array("OK ".utf8)) else { throw .badHeader }
            isAccepted = true
            input.removeFirst(line + 1)
        }
        while watch != nil, let length = try DBusMessage.length(of: input[...]), input.count >= length {
            let message = try DBusMessage(Array(input.prefix(length)))
            input.removeFirst(length)
            handle(message)
        }
    }

    private func handle(_ message: DBusMessage) {
        switch message.kind {
        case .call:
            let answer =
                handlers.onCall(message)
                ?? .failure(of: message, "org.freedesktop.DBus.Error.UnknownMethod", "there is no such method")
            if !message.wantsNoAnswer { _ = try? send(answer) }
        case .signal: handlers.onSignal(message)
        case .answer, .failure:
            guard let serial = message.replySerial, let question = waiting.removeValue(forKey: serial) else { return }
            question.continuation.resume(
                returning: message.kind == .answer
                    ? .success(message.body)
                    : .failure(.refused(message.errorName ?? "", message.body.first?.text ?? "")))
        }
    }

    private func end(_ error: DBusError) {
        guard watch != nil else { return }
        close()
        handlers.onEnd(error)
    }
}

public enum DBusError: Error, Sendable, Equatable {
    case unreachable(SystemError)
    case ended
    case timedOut(String)
    /// A refused call: the error's name and text.
    case refused(String, String)
    case notUnderstood(DBusFault)
}

extension DBusError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreachable(let error): "\(error)"
        case .ended: "D-Bus has closed the connection"
        case .timedOut(let method): "no answer to \(method)"
        case .refused(let name, let text): "\(name): \(text)".printable
        case .notUnderstood(let fault): "malformed D-Bus message: \(fault)"
        }
    }
}
