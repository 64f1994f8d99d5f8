import CLinux
import Glibc

/// A system call that failed: what was attempted, and why it did not happen.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// As the object of "cannot": "open /run/x".
    public let attempt: String
    /// errno(3)
    public let errno: Int32

    /// - Parameter errno: of the call that failed last on this thread, where it is not given.
    public init(_ attempt: String, errno: Int32 = Glibc.errno) {
        self.attempt = attempt
        self.errno = errno
    }

    public var description: String { "cannot \(attempt): \(reason)" }

    /// The C library's text for the number: "No such file or directory".
    public var reason: String { String(cString: strerror(errno)) }
}

/// A state of a descriptor to wait for (poll(2)).
public enum Readiness: Sendable, Hashable {
    case readable
    case writable
    /// The other end has closed the connection, whatever is left to read.
    case hungUp

    /// - Returns: whether it is ready within the limit, or has failed; nil waits for ever.
    public func wait(on descriptor: Int32, within limit: Duration?) -> Bool {
        var list = [pollfd(descriptor, self)]
        return Self.wait(for: &list, within: limit)
    }

    /// Waits until one of several is ready, until a signal comes or the limit has passed.
    /// - Parameters:
    ///   - list: their `revents` say which.
    ///   - limit: nil waits for ever.
    /// - Returns: whether any is ready.
    public static func wait(for list: inout [pollfd], within limit: Duration?) -> Bool {
        guard let limit else { return ppoll(&list, nfds_t(list.count), nil, nil) > 0 }
        let (seconds, attoseconds) = max(limit, .zero).components
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
        return ppoll(&list, nfds_t(list.count), &time, nil) > 0
    }

    fileprivate var events: Int16 {
        switch self {
        case .readable: Int16(POLLIN)
        case .writable: Int16(POLLOUT)
        // POLLRDHUP, which the C library hides.
        case .hungUp: 0x2000
        }
    }
}

extension pollfd {
    /// - Parameter descriptor: -1 for none.
    public init(_ descriptor: Int32, _ readiness: Readiness) {
        self.init(fd: descriptor, events: readiness.events, revents: 0)
    }
}

/// Writes all of it, and waits where a descriptor that does not block has no room.
/// - Throws: the failure of write(2).
public func writeAll(_ bytes: some Sequence<UInt8>, to descriptor: Int32, attempting attempt: String)
    throws(SystemError)
{
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if count > 0 {
            rest = rest.dropFirst(count)
        } else if count < 0, errno == EAGAIN {
            _ = Readiness.writable.wait(on: descriptor, within: nil)
        } else if count == 0 || errno != EINTR {
            throw SystemError(attempt, errno: count == 0 ? ENOSPC : errno)
        }
    }
}
