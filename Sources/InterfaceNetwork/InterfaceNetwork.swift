import AgentModel
import NIOCore

/// One interface's network: names are resolved and connections are made through it, whatever route the machine prefers.
public struct InterfaceNetwork: Sendable {
    /// Nil for the way that the machine prefers.
    public let interface: String?
    let loop: any EventLoop
    let files: NoteFiles

    /// - Parameters:
    ///   - group: all of this network's work is done on one loop of it.
    ///   - files: where it says which name servers there are.
    public init(interface: String?, on group: any EventLoopGroup, files: NoteFiles = .system) {
        self.interface = interface
        self.files = files
        loop = group.next()
    }

    /// What the DHCP client told of this network.
    public var notes: NetworkNotes { files.notes(of: interface) }

    /// Forgets what name servers said: the network is another one.
    public func forget() {}

    /// - Parameter host: a name, or an address, which is returned at once.
    /// - Returns: at least one address.
    public func addresses(of host: String, within limit: Duration) async throws(NameFailure) -> [IPAddress] {
        throw .silent
    }

    /// Connects to the first of the host's addresses that answers (RFC 8305).
    ///
    /// - Parameters:
    ///   - limit: for the name and the connection together.
    ///   - setUp: is called once, on the loop of the channel that is connected, before anything is read from it. It adds
    ///     handlers (TLS, HTTP) to `channel.pipeline.syncOperations` and may set options by `channel.syncOptions`.
    public func connect(
        host: String, port: Int, within limit: Duration,
        setUp: @escaping @Sendable (any Channel) throws -> Void = { _ in }
    ) async throws(ConnectFailure) -> any Channel {
        throw .timedOut
    }
}
