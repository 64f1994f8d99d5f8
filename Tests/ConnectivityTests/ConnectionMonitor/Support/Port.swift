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

/// Waits for what only a program's own words show.
func eventually(within limit: Duration = .seconds(30), _ condition: () -> Bool) async throws {
    let deadline = ContinuousClock.now + limit
    while !condition() {
        guard ContinuousClock.now < deadline else { throw NothingHappened() }
        try await Task.sleep(for: .milliseconds(5))
    }
}
