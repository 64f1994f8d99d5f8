import AppProtocol

/// What answers requests: the agent, or a stand-in in a test.
public protocol DeviceService: Sendable {
    /// Requests of one connection come one after the other, those of several connections at the same time.
    func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body

    /// The answer to `network.switch` has arrived, or cannot any more: now the link may drop. It is called at least once for
    /// each, at the latest 1.5 s after the answer was given; what is called again for the same answer says nothing new.
    func hasArrived(_ answer: SwitchStatus) async
}

extension DeviceService {
    public func hasArrived(_ answer: SwitchStatus) async {}
}

/// Who is at the other end of a connection, and what it may do.
public struct Peer: Sendable, Hashable {
    public let origin: Origin
    public let access: Access

    public init(origin: Origin, access: Access) {
        self.origin = origin
        self.access = access
    }

    public enum Origin: Sendable, Hashable {
        /// A process of this machine, as the kernel tells it (`SO_PEERCRED`, unix(7)).
        case process(pid: Int32, uid: UInt32, gid: UInt32)
        /// Somebody in the network who has the device's key.
        case network(address: String, port: Int)
    }

    public enum Access: Sendable, Hashable {
        /// Questions, and events.
        case readOnly
        case full
    }
}

extension Peer: CustomStringConvertible {
    public var description: String {
        switch origin {
        case .process(let pid, let uid, let gid): "pid \(pid), uid \(uid), gid \(gid)"
        case .network(let address, let port): "\(address), port \(port)"
        }
    }
}
