/// Paths as they change: first the one there is, then each that differs from the one before it. Whoever is slow misses what
/// came in between and gets the latest.
public struct NetworkPathChanges: AsyncSequence, Sendable {
    let stream: AsyncStream<NetworkPath>

    public func makeAsyncIterator() -> Iterator { Iterator(base: stream.makeAsyncIterator()) }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncStream<NetworkPath>.Iterator
        private var last: NetworkPath?

        fileprivate init(base: AsyncStream<NetworkPath>.Iterator) { self.base = base }

        /// - Returns: nil once the monitor is gone, or the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> NetworkPath? {
            // What has changed and changed back while nobody looked is no change.
            while let path = await base.next(isolation: actor) {
                guard path != last else { continue }
                last = path
                return path
            }
            return nil
        }
    }
}
