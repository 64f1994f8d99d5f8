import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension Channel {
    /// Who is at the other end of this Unix socket.
    func peer() async throws -> Peer {
        #if os(Linux)
            guard let options = self as? any SocketOptionProvider else { throw ChannelError.operationUnsupported }
            let credentials: Credentials = try await options.unsafeGetSocketOption(
                level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED)
            ).get()
            return Peer(
                origin: .process(pid: credentials.pid, uid: credentials.uid, gid: credentials.gid), access: .full)
        #else
            throw ChannelError.operationUnsupported
        #endif
    }
}

/// The kernel's `struct ucred` (unix(7)), which glibc hides from all but GNU sources.
private struct Credentials: Sendable {
    let pid: Int32
    let uid: UInt32
    let gid: UInt32
}
