import AgentModel
import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension Channel {
    /// Returns when the client's machine has acknowledged all that was sent over TCP (tcp(7), `TCP_INFO`), or gives up at
    /// `limit`: a client that has gone acknowledges nothing.
    func waitForAcknowledgement(within limit: Duration, _ clock: ServerClock) async throws {
        #if os(Linux)
            guard let options = self as? any SocketOptionProvider else { return }
            let end = clock.now + limit
            repeat {
                let state: tcp_info = try await options.unsafeGetSocketOption(
                    level: .tcp, name: NIOBSDSocket.Option(rawValue: TCP_INFO)
                ).get()
                guard state.tcpi_unacked > 0 else { return }
                try await clock.sleep(for: .milliseconds(5))
            } while clock.now < end
        #endif
    }
}
