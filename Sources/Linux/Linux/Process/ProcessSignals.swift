import AgentModel
import Glibc
import Synchronization

/// Catches signals of the process and delivers them through a descriptor. At most one instance may exist at a time.
///
/// A handler writes each signal's number into a pipe. Unlike blocked or ignored signals, child programs do not inherit
/// handlers.
public final class ProcessSignals: Sendable {
    /// Descriptor that is readable after a signal. Read it with ``take()``.
    public let descriptor: Int32
    private let writing: Int32
    private let numbers: [Int32]
    private let watch = Mutex<RunQueue.Number?>(nil)

    /// - Throws: the failure of pipe(2), such as `EMFILE`.
    public init(_ numbers: [Int32]) throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError("make a pipe for signals") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (descriptor, writing) = (ends[0], ends[1])
        self.numbers = numbers
        // Initializes the lazy global here, because the signal handler must not do it.
        precondition(signalPipe.exchange(writing, ordering: .sequentiallyConsistent) < 0, "signals are already caught")
        for number in numbers { Self.setHandler(number) { writeSignal($0) } }
    }

    private static func setHandler(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = handler
        action.sa_flags = SA_RESTART
        sigaction(number, &action, nil)
    }

    /// Returns the numbers of the signals since the last call, in order.
    public func drain() -> [Int32] {
        var numbers: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return numbers.map(Int32.init) }
            numbers += buffer.prefix(count)
        }
    }

    /// - Parameter onSignal: called on the agent's loop with each signal's number, including earlier ones.
    public func deliver(_ onSignal: @escaping @Sendable (Int32) -> Void) {
        let number = AgentLoop.thread.call(when: .readable, descriptor) { [self] in
            for number in drain() { onSignal(number) }
        }
        watch.withLock { $0 = number }
    }

    /// Restores the default action of the signals, or ignores them.
    public func end(ignoring: Bool = false) {
        for number in numbers { signal(number, ignoring ? SIG_IGN : SIG_DFL) }
        guard signalPipe.compareExchange(expected: writing, desired: -1, ordering: .sequentiallyConsistent).exchanged
        else { return }
        watch.withLock { $0.take() }.map { AgentLoop.thread.cancel($0) }
        // The loop may be using the watch, so it closes the descriptors later.
        AgentLoop.thread.perform { [descriptor, writing] in
            close(descriptor)
            close(writing)
        }
    }
}

/// Write end of the signal pipe; -1 if no signals are caught.
private let signalPipe = Atomic<Int32>(-1)

/// Handles a signal. It may only call functions of signal-safety(7).
private func writeSignal(_ number: Int32) {
    let before = errno
    var byte = UInt8(truncatingIfNeeded: number)
    _ = write(signalPipe.load(ordering: .sequentiallyConsistent), &byte, 1)
    errno = before
}
