import AppClient
import AppProtocol
import AppServer
import Testing

/// Runs `body` against a server on a socket of its own.
func withServer<Value>(
    _ service: any DeviceService = FakeDevice(), hub: EventHub = EventHub(), limits: AppServer.Limits = .init(),
    _ body: (_ path: String) async throws -> Value
) async throws -> Value {
    let folder = try SocketFolder()
    let server = AppServer(unix: UnixListenerSettings(path: folder.socket), service: service, hub: hub, limits: limits)
    try await server.start()
    do {
        let value = try await body(folder.socket)
        await server.stop()
        return value
    } catch {
        await server.stop()
        throw error
    }
}

/// Runs `body` against a server that the network reaches too.
/// - Parameter clock: measures the server's limits of time; nil for the real one.
func withNetworkServer<Value>(
    _ service: any DeviceService = FakeDevice(), hub: EventHub = EventHub(), limits: AppServer.LANLimits = .init(),
    clock: ManualClock? = nil, notices: Notices = Notices(),
    _ body: (_ server: AppServer, _ port: Int) async throws -> Value
) async throws -> Value {
    let folder = try SocketFolder()
    let server = AppServer(
        unix: UnixListenerSettings(path: folder.socket), lan: LANListenerSettings(port: 0, device: .sample),
        service: service, hub: hub, limits: AppServer.Limits(lan: limits), clock: clock ?? ContinuousClock(),
        notify: notices.append)
    try await server.start()
    do {
        let value = try await body(server, try #require(server.lanPort))
        await server.stop()
        return value
    } catch {
        await server.stop()
        throw error
    }
}

/// Runs `body` with a client of such a server.
func withClient<Value>(
    of service: any DeviceService = FakeDevice(), hub: EventHub = EventHub(),
    _ body: (DeviceClient) async throws -> Value
) async throws -> Value {
    try await withServer(service, hub: hub) { path in
        let client = try await DeviceClient(connectingTo: .unixSocket(path: path), timeout: .seconds(60))
        let value = try await body(client)
        await client.close()
        return value
    }
}

func request(_ type: MessageType, id: String = "a", body: String = "{}") -> String {
    #"{"v":1,"id":"\#(id)","type":"\#(type.rawValue)","body":\#(body)}"# + "\n"
}

/// What an answer's line says: its id, and the code where it is an error.
func answer(_ line: String?) throws -> (id: String?, code: ErrorCode?) {
    guard let line, case .answer(let id, let failure) = try ServerLine(line: Array(line.utf8)) else {
        throw ProtocolError(.malformed, "no answer: \(line ?? "end")")
    }
    return (id, failure?.code)
}
