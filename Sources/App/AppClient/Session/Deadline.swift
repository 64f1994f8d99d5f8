/// A moment on a clock that is not known before the program runs.
struct Deadline: Sendable {
    private let left: @Sendable () -> Duration

    init<C: Clock<Duration>>(in limit: Duration, on clock: C) {
        let end = clock.now.advanced(by: limit)
        left = { clock.now.duration(to: end) }
    }

    /// Zero or less once it has passed.
    var remaining: Duration { left() }
}

/// Does `work`, and throws `timedOut` when it takes longer than that.
func within<Value: Sendable>(
    _ limit: Duration, on clock: any Clock<Duration>, _ work: @escaping @Sendable () async throws(ClientError) -> Value
) async throws(ClientError) -> Value {
    let result = await withTaskGroup(of: Result<Value, ClientError>.self) { group in
        group.addTask { await Result(catching: work) }
        group.addTask {
            do {
                try await clock.sleep(for: limit, tolerance: nil)
                return .failure(.timedOut)
            } catch {
                return .failure(.cancelled)
            }
        }
        defer { group.cancelAll() }
        return await group.next() ?? .failure(.cancelled)
    }
    return try result.get()
}

extension Result {
    init(catching work: () async throws(Failure) -> Success) async {
        do {
            self = .success(try await work())
        } catch {
            self = .failure(error)
        }
    }
}
