import Glibc

@testable import Lab

actor EchoConnection {
    private let socket: FileDescriptor
    private let peer: IPv4Address
    private var said: UInt8 = 0

    init(with peer: IPv4Address) async throws {
        self.peer = peer
        socket = try FileDescriptor.socket(AF_INET, SOCK_STREAM)
        _ = peer.withSocketAddress(port: EchoServer.port) { connect(socket.number, $0, $1) }
        try await heard(within: .seconds(5))
    }

    /// Sends a new byte and waits for its echo.
    func heard(within limit: Duration) async throws {
        said &+= 1
        var isSaid = false
        let word = said
        try await eventually(within: limit, "an answer of \(peer) over the connection that is there") {
            if !isSaid { isSaid = send(socket.number, [word], 1, Int32(MSG_NOSIGNAL)) == 1 }
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = recv(socket.number, &bytes, bytes.count, 0)
            return count > 0 && bytes[..<count].contains(word)
        }
    }
}

extension Lab {
    /// Connects from the device to an access point's echo server, over the current network.
    nonisolated func echoConnection(with accessPoint: AccessPoint) async throws -> EchoConnection {
        try await EchoConnection(with: accessPoint.gateway)
    }
}
