import Dispatch

/// Calls back on the loop whenever a file descriptor has something to read, for as long as it is kept.
///
/// The descriptor stays the caller's: cancel the watch (or let it go) before closing it.
@AgentLoop
public final class ReadWatch {
    // A dispatch source may be cancelled from anywhere, so also where the last reference goes.
    private nonisolated(unsafe) let source: any DispatchSourceRead

    /// - Parameters:
    ///   - fileDescriptor: an open, non-blocking descriptor.
    ///   - onReadable: called again and again while unread data is left, and once more at the end of a stream.
    public init(fileDescriptor: Int32, onReadable: @escaping @AgentLoop @Sendable () -> Void) {
        source = DispatchSource.makeReadSource(fileDescriptor: fileDescriptor, queue: AgentLoop.queue)
        source.setEventHandler { AgentLoop.assumeIsolated(onReadable) }
        source.activate()
    }

    deinit { source.cancel() }

    /// Ends the watch. When `onCancelled` runs, the descriptor is no longer in use and may be closed.
    public func cancel(onCancelled: (@AgentLoop @Sendable () -> Void)? = nil) {
        if let onCancelled {
            source.setCancelHandler { AgentLoop.assumeIsolated(onCancelled) }
        }
        source.cancel()
    }
}
