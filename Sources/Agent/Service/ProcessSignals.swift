import Dispatch
import Glibc
import Synchronization

/// Tells of signals that the process gets, instead of what they would do to it.
final class ProcessSignals: Sendable {
    private let sources: [SignalSource]

    /// - Parameter onSignal: called with the signal's number, on any thread.
    init(_ numbers: [Int32], onSignal: @escaping @Sendable (Int32) -> Void) {
        sources = numbers.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { onSignal(number) }
            source.activate()
            return SignalSource(source)
        }
    }

    func end() { for source in sources { source.cancel() } }
}

/// A dispatch source may be cancelled from anywhere.
private struct SignalSource: @unchecked Sendable {
    private let source: any DispatchSourceSignal

    init(_ source: any DispatchSourceSignal) { self.source = source }

    func cancel() { source.cancel() }
}

/// Tasks that end together.
final class TaskBag: Sendable {
    private let tasks = Mutex<[Task<Void, Never>]>([])

    func add(_ task: Task<Void, Never>) { tasks.withLock { $0.append(task) } }

    func cancel() { for task in tasks.withLock({ $0 }) { task.cancel() } }
}
