import AgentModel

/// The tunnels of apps through the broker to the agent's port for apps. A value without I/O.
///
/// The agent treats each tunnel as an app in the network: it grants nothing before a proof of a key.
struct DeviceTunnels: Sendable {
    enum Effect: Sendable, Equatable {
        case connect(String)
        case write(String, [UInt8])
        case disconnect(String)
        case publish(String, [UInt8])
    }

    private struct Tunnel: Sendable {
        var stream = TunnelStream()
        /// Time of the app's last piece or beat.
        var heard: Instant
    }

    private var tunnels: [String: Tunnel] = [:]
    /// Rate limit of new tunnels and of answers to unknown ones.
    private var openings = TokenBucket(1, per: .seconds(1), burst: 8)

    var deadline: Instant? { tunnels.values.map(\.heard).min().map { $0 + BridgeLimits.tunnelIdle } }

    mutating func receive(_ message: [UInt8], of id: String, at now: Instant) -> [Effect] {
        guard var tunnel = tunnels[id] else { return open(id, message, at: now) }
        let silence = now - tunnel.heard
        let received = tunnel.stream.receive(message)
        switch received {
        case .repeated: return []
        case .end: return end(id)
        case .bytes, .beat: tunnel.heard = now
        }
        tunnels[id] = tunnel
        if case .bytes(let bytes) = received { return [.write(id, bytes)] }
        // Answer at most one beat a second, or a flood of beats would fill the queue.
        return silence < .seconds(1) ? [] : [.publish(id, tunnel.stream.beat)]
    }

    private mutating func open(_ id: String, _ message: [UInt8], at now: Instant) -> [Effect] {
        guard message != TunnelStream.end, openings.delay(at: now) == .zero else { return [] }
        openings.consume()
        var tunnel = Tunnel(heard: now)
        guard tunnels.count < BridgeLimits.tunnels, case .bytes(let bytes) = tunnel.stream.receive(message) else {
            return [.publish(id, TunnelStream.end)]
        }
        tunnels[id] = tunnel
        return [.connect(id), .write(id, bytes)]
    }

    /// Passes the agent's bytes on.
    mutating func send(_ bytes: [UInt8], of id: String) -> [Effect] {
        tunnels[id]?.stream.pieces(of: bytes).map { .publish(id, $0) } ?? []
    }

    mutating func agentClosed(_ id: String) -> [Effect] {
        tunnels.removeValue(forKey: id) == nil ? [] : [.publish(id, TunnelStream.end)]
    }

    /// Ends the tunnels whose apps are silent.
    mutating func tick(at now: Instant) -> [Effect] {
        tunnels.filter { $0.value.heard + BridgeLimits.tunnelIdle <= now }.keys.sorted().flatMap { end($0) }
    }

    private mutating func end(_ id: String) -> [Effect] {
        tunnels[id] = nil
        return [.disconnect(id), .publish(id, TunnelStream.end)]
    }
}
