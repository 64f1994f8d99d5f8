import AppProtocol

/// Answers requests: the agent, or a stand-in in a test.
public protocol DeviceService: Sendable {
    /// Answers a request. Calls come in order within a connection, and concurrently for several connections.
    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body

    /// Verifies a request that an app proved with its key and sent over a relay. Accepts each command once.
    /// - Parameter peer: the relay.
    /// - Returns: the request, and the app as a peer behind this relay.
    /// - Throws: `keyRefused` and other key errors, `malformed` if it is expired or was opened before, `busy`.
    func open(_ proved: ProvedRequest, from peer: Peer) async throws(ProtocolError) -> (Request.Body, Peer)

    var networkHashes: [NetworkHash] { get async }

    /// Reports that the answer to `network.switch` has arrived or was lost, so the link may drop. Called at least once,
    /// at most 1.5 s after the answer. Later calls have no effect.
    func answerSent(_ answer: SwitchStatus) async
}

extension DeviceService {
    public func answerSent(_ answer: SwitchStatus) async {}

    public func open(_ proved: ProvedRequest, from peer: Peer) async throws(ProtocolError) -> (Request.Body, Peer) {
        throw ProtocolError(.unsupported, "this device does not support proved requests", details: ["field": "type"])
    }

    public var networkHashes: [NetworkHash] { get async { [] } }

    /// Replaces network names with hashes.
    /// - Throws: `unknownNetwork` for a hash, or for a name that no stored network has.
    package func resolve(
        _ body: Request.Body, named names: NetworkNames
    ) async throws(ProtocolError) -> Request.Body {
        let hashes = await networkHashes
        return try body.naming { (name) throws(ProtocolError) in
            guard let hash = hashes.first(where: { names.name(of: $0) == name }) else {
                throw ProtocolError(.unknownNetwork, "no stored network has this name")
            }
            return hash
        }
    }
}
