import CLinux
import Glibc

/// Starts threads that block all signals. `ProcessSignals` delivers signals through a descriptor.
package enum QuietThread {
    /// - Parameter name: at most 15 bytes (pthread_setname_np(3)).
    /// - Returns: the thread, for an optional pthread_join(3).
    @discardableResult
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> pthread_t {
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }, Unmanaged.passRetained(Work(body: body)).toOpaque())
        precondition(failure == 0, "no thread: error \(failure)")
        pthread_setname_np(thread, name)
        return thread
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(body: @escaping @Sendable () -> Void) { self.body = body }
    }
}
