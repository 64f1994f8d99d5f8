import CNetlink

extension NetlinkSocket {
    /// How long the kernel may take, which answers most things before `send` returns.
    static let patience: Duration = .seconds(5)
    /// A dump that crossed a change is asked again so many times in all. Whoever needs more than the last of them hears of
    /// the change as news.
    static let dumpAttempts = 3

    /// Asks for something to be done.
    func perform(_ request: NetlinkRequest, attempting attempted: String) async throws(NetlinkError) {
        _ = try await walk(request, expecting: .acknowledged, attempting: attempted) { _ in }
    }

    /// Asks for one thing. Nil when the kernel answers that all is well and nothing that `decode` understands.
    func reply<Value>(
        to request: NetlinkRequest, attempting attempted: String, decode: @escaping (NetlinkMessage) -> Value?
    ) async throws(NetlinkError) -> Value? {
        var value: Value?
        _ = try await walk(request, expecting: .reply, attempting: attempted) { value = value ?? decode($0) }
        return value
    }

    /// Asks for all there is of something. What `decode` returns nil for is left out.
    func dump<Value>(
        _ request: NetlinkRequest, attempting attempted: String, decode: @escaping (NetlinkMessage) -> Value?
    ) async throws(NetlinkError) -> [Value] {
        var values: [Value] = []
        for _ in 1...Self.dumpAttempts {
            values = []
            let isConsistent = try await walk(request, attempting: attempted) { message in
                if let value = decode(message) { values.append(value) }
            }
            if isConsistent { break }
        }
        return values
    }

    /// Asks, and hands over each message of the answer as it comes.
    /// - Returns: whether the messages fit together, or a change crossed them.
    func walk(
        _ request: NetlinkRequest, expecting answer: Answer = .dump, attempting attempted: String,
        onMessage: @escaping (NetlinkMessage) -> Void
    ) async throws(NetlinkError) -> Bool {
        let result: Result<Bool, NetlinkError> = await withCheckedContinuation { continuation in
            send(
                request, expecting: answer, attempting: attempted, within: Self.patience, onPart: onMessage
            ) { ending in
                switch ending {
                case .complete: continuation.resume(returning: .success(true))
                case .interrupted: continuation.resume(returning: .success(false))
                case .failed(let error): continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }
}
