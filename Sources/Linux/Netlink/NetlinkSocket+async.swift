import CNetlink

extension NetlinkSocket {
    /// How long the kernel may take, which answers most things before `send` returns.
    static let patience: Duration = .seconds(5)
    /// What only reads is asked again so many times in all: after a lost answer, or a dump that a change crossed. If all
    /// of them were crossed, the changes come as news.
    static let attempts = 3

    /// Asks for something to be done.
    func perform(_ request: NetlinkRequest, attempting attempted: String) async throws(NetlinkError) {
        _ = try await walk(request, expecting: .acknowledged, attempting: attempted) { _ in }
    }

    /// Asks for one thing, and again if the answer is lost. Nil when the kernel answers that all is well and nothing that
    /// `decode` understands.
    func reply<Value>(
        to request: NetlinkRequest, attempting attempted: String, decode: @escaping (NetlinkMessage) -> Value?
    ) async throws(NetlinkError) -> Value? {
        var value: Value?
        for attempt in 1...Self.attempts {
            do throws(NetlinkError) {
                _ = try await walk(request, expecting: .reply, attempting: attempted) { value = value ?? decode($0) }
                break
            } catch {
                guard error.reason == .answerLost, attempt < Self.attempts else { throw error }
            }
        }
        return value
    }

    /// Asks for all there is of something. What `decode` returns nil for is left out.
    func dump<Value>(
        _ request: NetlinkRequest, attempting attempted: String, decode: @escaping (NetlinkMessage) -> Value?
    ) async throws(NetlinkError) -> [Value] {
        var values: [Value] = []
        for _ in 1...Self.attempts {
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
