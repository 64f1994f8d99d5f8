import AgentModel
@preconcurrency import Dispatch  // Its sources may be used from any thread; they do not say so.
import Glibc
import Synchronization

/// Sends back whatever comes to TCP port 17 of one access point.
final class EchoServer: Sendable {
    static let port: UInt16 = 17
    private static let queue = DispatchQueue(label: "lab.echo")
    private let source: any DispatchSourceRead
    private let connections = Mutex<[any DispatchSourceRead]>([])

    /// Listens in the namespace of the calling thread.
    init() throws(LabError) {
        let listener = try FileDescriptor.socket(AF_INET, SOCK_STREAM)
        let bound = IPv4Address(value: 0).withSocketAddress(port: Self.port) { bind(listener.number, $0, $1) }
        guard bound == 0, listen(listener.number, 16) == 0 else { throw .lastCall("listen on port \(Self.port)") }
        source = DispatchSource.makeReadSource(fileDescriptor: listener.number, queue: Self.queue)
        source.setEventHandler { [weak self] in
            let connection = accept(listener.number, nil, nil)
            if connection >= 0 { self?.serve(connection) }
        }
        source.resume()
    }

    private func serve(_ connection: Int32) {
        let arrivals = DispatchSource.makeReadSource(fileDescriptor: connection, queue: Self.queue)
        arrivals.setEventHandler {
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = recv(connection, &bytes, bytes.count, 0)
            guard count > 0 else { return count == 0 ? arrivals.cancel() : () }
            _ = send(connection, bytes, count, Int32(MSG_NOSIGNAL))
        }
        arrivals.setCancelHandler { close(connection) }
        connections.withLock { $0.append(arrivals) }
        arrivals.resume()
    }

    func end() {
        source.cancel()
        connections.withLock { connections in
            for connection in connections { connection.cancel() }
            connections = []
        }
    }
}

/// A TCP connection of a program on the device to an access point, which says something and hears it again.
public actor EchoConnection {
    private let socket: FileDescriptor
    private let peer: IPv4Address
    private var said: UInt8 = 0

    init(with peer: IPv4Address) async throws {
        self.peer = peer
        socket = try FileDescriptor.socket(AF_INET, SOCK_STREAM)
        _ = peer.withSocketAddress(port: EchoServer.port) { connect(socket.number, $0, $1) }
        try await heard(within: .seconds(5))
    }

    /// Says something new, and waits until it is heard again.
    public func heard(within limit: Duration) async throws {
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

/// Answers every TCP connection to port 7 of one access point with its SSID, and closes.
final class GatewayGreeting: Sendable {
    private static let port: UInt16 = 7
    private static let queue = DispatchQueue(label: "lab.greeting")
    private let source: any DispatchSourceRead

    /// Listens in the namespace of the calling thread.
    init(_ greeting: [UInt8]) throws(LabError) {
        let listener = try FileDescriptor.socket(AF_INET, SOCK_STREAM)
        let bound = IPv4Address(value: 0).withSocketAddress(port: Self.port) { bind(listener.number, $0, $1) }
        guard bound == 0, listen(listener.number, 16) == 0 else { throw .lastCall("listen on port \(Self.port)") }
        source = DispatchSource.makeReadSource(fileDescriptor: listener.number, queue: Self.queue)
        source.setEventHandler {
            let connection = accept(listener.number, nil, nil)
            guard connection >= 0 else { return }
            // Fits any socket buffer, so this cannot block.
            _ = send(connection, greeting, greeting.count, Int32(MSG_NOSIGNAL))
            close(connection)
        }
        source.resume()
    }

    func end() { source.cancel() }

    /// The answer at `address`, or nil if there is none within `limit`.
    static func fetch(from address: IPv4Address, limit: Duration) async throws -> [UInt8]? {
        var greeting: [UInt8]?
        do {
            // Many short attempts: right after a join the address is there some milliseconds before the route.
            try await eventually(within: limit, "a greeting from \(address)") {
                let socket = try FileDescriptor.socket(AF_INET, SOCK_STREAM)
                let connected = address.withSocketAddress(port: port) { connect(socket.number, $0, $1) }
                guard connected == 0 || errno == EINPROGRESS else { return false }
                try await eventually(within: limit, "a greeting from \(address)") {
                    greeting = try receive(from: socket)
                    return greeting != nil
                }
                return greeting?.isEmpty == false
            }
        } catch LabError.timedOut {
            return nil
        }
        return greeting
    }

    /// The data that has arrived: nil for nothing yet, empty for a connection that failed.
    private static func receive(from socket: FileDescriptor) throws(LabError) -> [UInt8]? {
        var greeting = [UInt8](repeating: 0, count: SSID.maximumLength)
        let count = recv(socket.number, &greeting, greeting.count, 0)
        if count < 0 { return errno == EAGAIN ? nil : [] }
        return Array(greeting.prefix(count))
    }
}
