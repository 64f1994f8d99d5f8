import AgentModel
@preconcurrency import Dispatch  // Dispatch is thread-safe, but its types are not marked Sendable.
import Glibc
import Synchronization

final class EchoServer: Sendable {
    static let port: UInt16 = 17
    private static let queue = DispatchQueue(label: "lab.echo")
    private let source: any DispatchSourceRead
    private let connections = Mutex<[any DispatchSourceRead]>([])

    /// Starts an echo server in the namespace of the calling thread.
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

/// Sends the SSID to all TCP connections to port 7 of one access point, and closes them.
final class GatewayGreeting: Sendable {
    private static let port: UInt16 = 7
    private static let queue = DispatchQueue(label: "lab.greeting")
    private let source: any DispatchSourceRead

    init(_ greeting: [UInt8]) throws(LabError) {
        let listener = try FileDescriptor.socket(AF_INET, SOCK_STREAM)
        let bound = IPv4Address(value: 0).withSocketAddress(port: Self.port) { bind(listener.number, $0, $1) }
        guard bound == 0, listen(listener.number, 16) == 0 else { throw .lastCall("listen on port \(Self.port)") }
        source = DispatchSource.makeReadSource(fileDescriptor: listener.number, queue: Self.queue)
        source.setEventHandler {
            let connection = accept(listener.number, nil, nil)
            guard connection >= 0 else { return }
            // The greeting fits into any socket buffer, so `send` does not block.
            _ = send(connection, greeting, greeting.count, Int32(MSG_NOSIGNAL))
            close(connection)
        }
        source.resume()
    }

    func end() { source.cancel() }

    /// Returns the data that the server at `address` sends; nil after `limit`.
    static func fetch(from address: IPv4Address, limit: Duration) async throws -> [UInt8]? {
        var greeting: [UInt8]?
        do {
            // Make many short attempts: after a join, the route appears some milliseconds after the address.
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

    /// Returns received data: nil for none yet, empty for a failed connection.
    private static func receive(from socket: FileDescriptor) throws(LabError) -> [UInt8]? {
        var greeting = [UInt8](repeating: 0, count: SSID.maximumLength)
        let count = recv(socket.number, &greeting, greeting.count, 0)
        if count < 0 { return errno == EAGAIN ? nil : [] }
        return Array(greeting.prefix(count))
    }
}
