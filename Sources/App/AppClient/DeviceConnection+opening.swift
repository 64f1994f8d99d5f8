import AppProtocol

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension DeviceConnection {
    /// - Parameter limit: longest duration of name resolution, connection and handshake together.
    static func open(_ endpoint: Endpoint, within limit: Duration) async throws(ClientError) -> DeviceConnection {
        if case .first(let first, let other) = endpoint {
            return try await open(first, otherwise: other, within: limit)
        }
        guard endpoint.isPossible else { throw .connectFailed(endpoint, errno: EINVAL) }
        #if os(Linux) || os(macOS)
            return try await NIOTransport.open(endpoint, within: limit)
        #else
            return try await NetworkTransport.open(endpoint, within: limit)
        #endif
    }

    /// Tries the second endpoint once the first has failed or its head start is over. Each may take the whole limit.
    /// Returns the connection that opens first.
    private static func open(
        _ first: Endpoint, otherwise second: Endpoint, within limit: Duration
    ) async throws(ClientError) -> DeviceConnection {
        let result = await withTaskGroup(of: Result<DeviceConnection, ClientError>?.self) { group in
            group.addTask { await Result { () async throws(ClientError) in try await open(first, within: limit) } }
            group.addTask {
                try? await Task.sleep(for: min(.seconds(2), limit / 2))
                return nil
            }
            defer { group.cancelAll() }
            var failures: [ClientError] = []
            var isSecondTried = false
            for await result in group {
                switch result {
                case .success?: return result
                case .failure(let error)?: failures.append(error)
                case nil: break
                }
                if failures.count == 2 { break }
                guard !isSecondTried else { continue }
                isSecondTried = true
                group.addTask {
                    await Result { () async throws(ClientError) in
                        try await open(second, within: limit)
                    }
                }
            }
            // Prefer a permanent failure of the device, such as a revoked key. Another host may have its old address.
            let lasting = failures.first { !$0.mayPass && !$0.isOfAnotherHost }
            return (lasting ?? failures.first { $0.mayPass } ?? failures.last).map { .failure($0) }
        }
        return try (result ?? .failure(.timedOut)).get()
    }
}

extension Endpoint {
    /// Whether the endpoint can be passed to the resolver.
    fileprivate var isPossible: Bool {
        switch self {
        case .unixSocket(let path): !path.utf8.contains(0)
        case .network(let host, let port, _):
            // A host name has at most 255 bytes (RFC 1035, clause 2.3.4). This is enough for an address with a zone
            // too.
            (1...65_535).contains(port) && (1...255).contains(host.utf8.count) && !host.utf8.contains(0)
        case .broker, .first: true
        }
    }
}
