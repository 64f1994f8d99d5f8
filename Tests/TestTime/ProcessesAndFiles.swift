import Foundation
import Glibc

/// Waits until `isSo`, which looks anew whenever something in the folder has changed (inotify(7)), on a thread of its
/// own.
/// - Parameters:
///   - what: for the error.
///   - limit: of real time.
/// - Throws: `Overdue`, `POSIXError`.
package func waitForFiles(
    in folder: String, _ what: String, within limit: Duration = .seconds(600),
    until isSo: @escaping @Sendable () -> Bool
) async throws {
    try await onThreadOfItsOwn {
        let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { close(descriptor) }
        let interest = UInt32(IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_DELETE)
        guard inotify_add_watch(descriptor, folder, interest) >= 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        let end = ContinuousClock.now + limit
        var events = [UInt8](repeating: 0, count: 4096)
        while !isSo() {
            let left = ContinuousClock.now.duration(to: end)
            guard left > .zero else { throw Overdue(description: "not within \(limit): \(what)") }
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            Glibc.poll(&poll, 1, Int32(clamping: left.components.seconds * 1000 + 1000))
            while read(descriptor, &events, events.count) > 0 {}
        }
    }
}

/// Does what blocks, while the threads of tasks, of which there are few, go on.
package func onThreadOfItsOwn<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}
