import Synchronization

/// The path as it was found last, for readers on any thread.
final class PathBoard: Sendable {
    private struct State {
        /// Nil until it has been looked for once.
        var path: NetworkPath?
        var readers: [Int: AsyncStream<NetworkPath>.Continuation] = [:]
        var lastReader = 0
    }

    private let state = Mutex(State())

    deinit { state.withLock { $0.readers.values.forEach { $0.finish() } } }

    var path: NetworkPath? { state.withLock { $0.path } }

    func show(_ path: NetworkPath) {
        state.withLock { state in
            guard path != state.path else { return }
            state.path = path
            for reader in state.readers.values { reader.yield(path) }
        }
    }

    func changes() -> NetworkPathChanges {
        let (stream, reader) = AsyncStream.makeStream(of: NetworkPath.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.lastReader += 1
            state.readers[state.lastReader] = reader
            if let path = state.path { reader.yield(path) }
            return state.lastReader
        }
        reader.onTermination = { [weak self] _ in self?.forget(id) }
        return NetworkPathChanges(stream: stream)
    }

    private func forget(_ reader: Int) { state.withLock { $0.readers[reader] = nil } }
}
