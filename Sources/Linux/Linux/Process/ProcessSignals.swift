import AgentModel
import Glibc
import Synchronization

/// Signals that the process gets, kept from the moment this is made, instead of what they would do to the process. Only
/// one of these is there at a time.
///
/// A handler writes each signal's number into a pipe. So they come through a loop, as everything else does, on
/// whichever thread the kernel delivers them, and a program that this process starts has none of them ignored or
/// blocked.
public final class ProcessSignals: Sendable {
    /// Readable where a signal has come (``take()``).
    public let descriptor: Int32
    private let writing: Int32
    private let numbers: [Int32]
    private let watch = Mutex<RunQueue.Number?>(nil)

    /// - Throws: where there are too many open files.
    public init(_ numbers: [Int32]) throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError("make a pipe for signals") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (descriptor, writing) = (ends[0], ends[1])
        self.numbers = numbers
        // Read here once, for what a handler may do: the first use of it would make it.
        precondition(signalPipe.exchange(writing, ordering: .sequentiallyConsistent) < 0, "signals are taken already")
        for number in numbers { Self.handle(number) { noteSignal($0) } }
    }

    private static func handle(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = handler
        // System calls go on, as they did where signals were ignored.
        action.sa_flags = SA_RESTART
        sigaction(number, &action, nil)
    }

    /// - Returns: those that have come since, each in its turn.
    public func take() -> [Int32] {
        var numbers: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return numbers.map(Int32.init) }
            numbers += buffer.prefix(count)
        }
    }

    /// - Parameter onSignal: called on the agent's loop with a signal's number, also for what has come before.
    public func deliver(_ onSignal: @escaping @Sendable (Int32) -> Void) {
        let number = AgentLoop.thread.call(when: .readable, descriptor) { [self] in
            for number in take() { onSignal(number) }
        }
        watch.withLock { $0 = number }
    }

    /// From now on they do to the process what they usually do, or nothing.
    public func end(ignoring: Bool = false) {
        for number in numbers { signal(number, ignoring ? SIG_IGN : SIG_DFL) }
        guard signalPipe.compareExchange(expected: writing, desired: -1, ordering: .sequentiallyConsistent).exchanged
        else { return }
        watch.withLock { $0.take() }.map { AgentLoop.thread.cancel($0) }
        // Its watch may be in use right now; the loop closes it afterwards.
        AgentLoop.thread.perform { [descriptor, writing] in
            close(descriptor)
            close(writing)
        }
    }
}

/// The end of the pipe that the handler writes into; -1 where no signals are taken.
private let signalPipe = Atomic<Int32>(-1)

/// Runs in the middle of anything, so it may only do what signal-safety(7) lists.
private func noteSignal(_ number: Int32) {
    let before = errno
    var byte = UInt8(truncatingIfNeeded: number)
    _ = write(signalPipe.load(ordering: .sequentiallyConsistent), &byte, 1)
    errno = before
}
