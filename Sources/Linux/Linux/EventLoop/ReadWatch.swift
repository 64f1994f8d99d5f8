/// Calls back on the loop whenever a file descriptor has something to read, for as long as it is kept.
///
/// The descriptor stays the caller's: cancel the watch (or let it go) before closing it.
@AgentLoop
public final class ReadWatch {
    private let number: RunQueue.Number

    /// - Parameters:
    ///   - fileDescriptor: an open, non-blocking descriptor.
    ///   - onReadable: called again and again while unread data is left, and once more at the end of a stream.
    public init(fileDescriptor: Int32, onReadable: @escaping @AgentLoop @Sendable () -> Void) {
        number = AgentLoop.thread.call(whenReadable: fileDescriptor) { AgentLoop.assumeIsolated(onReadable) }
    }

    deinit { AgentLoop.thread.cancel(number) }

    /// Ends the watch. When `onCancelled` runs, the descriptor is no longer in use and may be closed.
    public func cancel(onCancelled: (@AgentLoop @Sendable () -> Void)? = nil) {
        AgentLoop.thread.cancel(number)
        guard let onCancelled else { return }
        // Later: this may be in the middle of what is called when there is something to read.
        _ = AgentLoop.thread.call(after: .zero, leeway: .zero) { AgentLoop.assumeIsolated(onCancelled) }
    }
}
