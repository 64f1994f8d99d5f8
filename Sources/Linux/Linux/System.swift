import AgentModel
import CLinux
import Glibc

/// State of a descriptor to wait for (poll(2)).
public enum Readiness: Sendable, Hashable {
    case readable
    case writable
    /// The other end has closed the connection; unread data may remain.
    case hungUp

    /// - Returns: true if the descriptor is ready or has failed within the limit. A limit of nil waits forever.
    public func wait(on descriptor: Int32, within limit: Duration?) -> Bool {
        Self.wait(for: [(descriptor, self)], within: limit) == [true]
    }

    /// Waits until a descriptor is ready, a signal arrives or the limit passes. Ignores descriptors of -1; a limit of
    /// nil waits forever.
    /// - Returns: true for each descriptor that is ready or has failed.
    public static func wait(for list: [(descriptor: Int32, readiness: Readiness)], within limit: Duration?) -> [Bool] {
        var descriptors = list.map { pollfd(fd: $0.descriptor, events: $0.readiness.events, revents: 0) }
        let count: Int32
        if let limit {
            let (seconds, attoseconds) = max(limit, .zero).components
            var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
            count = ppoll(&descriptors, nfds_t(descriptors.count), &time, nil)
        } else {
            count = ppoll(&descriptors, nfds_t(descriptors.count), nil, nil)
        }
        return descriptors.map { count > 0 && $0.revents != 0 }
    }

    private var events: Int16 {
        switch self {
        case .readable: Int16(POLLIN)
        case .writable: Int16(POLLOUT)
        // This is POLLRDHUP, which the C library hides.
        case .hungUp: 0x2000
        }
    }
}

/// Writes all bytes. Waits if a non-blocking descriptor has no room.
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
