import AppProtocol

/// Serves the app protocol on a Unix socket.
public final class AppServer: Sendable {
    private let socketPath: String
    private let mode: UInt32
    private let service: any DeviceService
    private let hub: EventHub
    private let limits: Limits

    /// - Parameters:
    ///   - socketPath: where to listen; the folder must exist.
    ///   - mode: the socket file's permissions.
    public init(
        socketPath: String, mode: UInt32 = 0o660, service: any DeviceService, hub: EventHub, limits: Limits = Limits()
    ) {
        self.socketPath = socketPath
        self.mode = mode
        self.service = service
        self.hub = hub
        self.limits = limits
    }

    /// What the server allows at most.
    public struct Limits: Sendable {
        /// Connections at the same time.
        public var connections: Int
        /// Requests of one connection that wait while one is being answered; more are not read from the socket.
        public var waitingRequests: Int

        public init(connections: Int = 32, waitingRequests: Int = 8) {
            self.connections = connections
            self.waitingRequests = waitingRequests
        }
    }

    /// Returns once the socket accepts connections.
    public func start() async throws(AppServerError) {}

    /// Ends every connection and removes the socket.
    public func stop() async {}
}

public enum AppServerError: Error, Equatable {}
