import NIOCore
import NIOPosix

/// A port of the loopback interface on which nobody listens.
func freePort() async throws -> Int {
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .bind(host: "127.0.0.1", port: 0).get()
    let port = channel.localAddress?.port
    try await channel.close().get()
    guard let port else { throw NothingHappened() }
    return port
}
