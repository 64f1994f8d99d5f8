import AgentModel
@preconcurrency import Dispatch  // Its sources may be used from any thread; they do not say so.
import Glibc

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

    /// What answers at `address`, or nil if nothing does within `limit`.
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

    /// What has arrived: nil for nothing yet, empty for a connection that failed.
    private static func receive(from socket: FileDescriptor) throws(LabError) -> [UInt8]? {
        var greeting = [UInt8](repeating: 0, count: SSID.maximumLength)
        let count = recv(socket.number, &greeting, greeting.count, 0)
        if count < 0 { return errno == EAGAIN ? nil : [] }
        return Array(greeting.prefix(count))
    }
}
