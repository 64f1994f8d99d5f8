import AppProtocol

/// What answers requests: the agent, or a stand-in in a test.
public protocol DeviceService: Sendable {
    /// Requests of one connection come one after the other, those of several connections at the same time.
    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body
}

/// Who is at the other end of a connection, as the kernel tells it (`SO_PEERCRED`, unix(7)).
public struct Peer: Sendable, Hashable {
    public let pid: Int32
    public let uid: UInt32
    public let gid: UInt32

    public init(pid: Int32, uid: UInt32, gid: UInt32) {
        self.pid = pid
        self.uid = uid
        self.gid = gid
    }
}

extension Peer: CustomStringConvertible {
    public var description: String { "pid \(pid), uid \(uid), gid \(gid)" }
}
