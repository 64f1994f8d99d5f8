import Dispatch
import Glibc
import Synchronization

/// Signals that the process gets, kept from the moment this is made, instead of what they would do to the process.
public final class ProcessSignals: Sendable {
    private let sources: [SignalSource]
    private let post = Mutex(Post.kept([]))

    private enum Post {
        case kept([Int32])
        case delivered(@Sendable (Int32) -> Void)

        var kept: [Int32] { if case .kept(let numbers) = self { numbers } else { [] } }
    }

    init(_ numbers: [Int32]) {
        // All of them at once: to make the first source takes the longest.
        for number in numbers { signal(number, SIG_IGN) }
        let sources = numbers.map { DispatchSource.makeSignalSource(signal: $0) }
        self.sources = sources.map(SignalSource.init)
        for (number, source) in zip(numbers, sources) {
            source.setEventHandler { [self] in came(number) }
            source.activate()
        }
    }

    /// - Parameter onSignal: called with a signal's number, on any thread: at once for what has come before, each once.
    func deliver(_ onSignal: @escaping @Sendable (Int32) -> Void) {
        let kept = post.withLock { post in
            defer { post = .delivered(onSignal) }
            return post.kept
        }
        for number in kept { onSignal(number) }
    }

    private func came(_ number: Int32) {
        let onSignal: (@Sendable (Int32) -> Void)? = post.withLock { post in
            switch post {
            case .delivered(let onSignal): return onSignal
            case .kept(let numbers):
                if !numbers.contains(number) { post = .kept(numbers + [number]) }
                return nil
            }
        }
        onSignal?(number)
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
