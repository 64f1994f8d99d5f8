#if canImport(Network)
    import AppProtocol
    import Dispatch
    import Foundation
    import Network
    import Security
    import Synchronization

    /// The transport of iOS, with the system's Network framework and no BoringSSL.
    ///
    /// Written to Apple's documentation: this file is neither compiled nor run by altnet's tests.
    final class NetworkTransport: Transport {
        let mayDeliverLate = false
        private let device: DeviceKey
        private let connection: NWConnection
        private let seen: SeenCertificate
        private let router = MessageRouter()
        private let state: Mutex<State>

        /// Certificate that the device has shown.
        private final class SeenCertificate: Sendable {
            let fingerprint = Mutex<CertificateFingerprint?>(nil)
        }

        private struct State {
            var lines = LineSplitter()
            var handshake: SessionHandshake
            var isOpen = false
            /// Error of the opening, until the caller waits for it.
            var failure: (any Error)?
            var opening: CheckedContinuation<SessionOpened, any Error>?
        }

        /// Runs the callbacks of all connections.
        private static let queue = DispatchQueue(label: "altnet.AppClient")

        /// - Parameter limit: longest duration of name resolution, connection and handshake together.
        static func open(_ endpoint: Endpoint, within limit: Duration) async throws(ClientError) -> DeviceConnection {
            guard case .network(let host, let number, let device) = endpoint,
                let port = UInt16(exactly: number).flatMap({ NWEndpoint.Port(rawValue: $0) })
            else { throw .connectFailed(endpoint, errno: ENOTSUP) }
            return try await AppClient.within(limit, on: ContinuousClock()) { () async throws(ClientError) in
                let transport = NetworkTransport(NWEndpoint.Host(host), port, device)
                do {
                    let session = try await withTaskCancellationHandler {
                        try await transport.start()
                    } onCancel: {
                        transport.fail(CancellationError())
                    }
                    return DeviceConnection(transport: transport, router: transport.router, session: session)
                } catch {
                    transport.connection.forceCancel()
                    throw ClientError(opening: endpoint, fault: error)
                }
            }
        }

        private init(_ host: NWEndpoint.Host, _ port: NWEndpoint.Port, _ device: DeviceKey) {
            let tcp = NWProtocolTCP.Options()
            // Detects a silent device after about 30 seconds.
            tcp.enableKeepalive = true
            (tcp.keepaliveIdle, tcp.keepaliveInterval, tcp.keepaliveCount) = (15, 5, 3)
            tcp.connectionDropTime = 30
            let (tls, seen) = (NWProtocolTLS.Options(), SeenCertificate())
            let options = tls.securityProtocolOptions
            sec_protocol_options_set_min_tls_protocol_version(options, .TLSv12)
            sec_protocol_options_add_tls_application_protocol(options, "altnet")
            // A device's certificate does not come from an authority. The fingerprint or the later proof identifies the
            // device. The system verifies the handshake's signature.
            sec_protocol_options_set_verify_block(
                options,
                { _, trust, verdict in
                    let fingerprint = Self.fingerprint(of: trust)
                    seen.fingerprint.withLock { $0 = fingerprint }
                    verdict(fingerprint.map { SessionHandshake.accepts($0, from: device) } ?? false)
                }, Self.queue)
            (self.device, self.seen) = (device, seen)
            state = Mutex(State(handshake: SessionHandshake(device)))
            connection = NWConnection(host: host, port: port, using: NWParameters(tls: tls, tcp: tcp))
        }

        private static func fingerprint(of trust: sec_trust_t) -> CertificateFingerprint? {
            let chain = SecTrustCopyCertificateChain(sec_trust_copy_ref(trust).takeRetainedValue()) as? [SecCertificate]
            return chain?.first.map { CertificateFingerprint(of: Array(SecCertificateCopyData($0) as Data)) }
        }

        // MARK: Opening

        private func start() async throws -> SessionOpened {
            try await withCheckedThrowingContinuation { continuation in
                let failure = state.withLock { state in
                    if state.failure == nil { state.opening = continuation }
                    return state.failure
                }
                if let failure { return continuation.resume(throwing: failure) }
                connection.stateUpdateHandler = { [weak self] in self?.changed($0) }
                connection.start(queue: Self.queue)
            }
        }

        private func changed(_ state: NWConnection.State) {
            switch state {
            case .ready: receive()
            // The session retries, so a missing path is an error.
            case .waiting(let error), .failed(let error):
                let certificate = seen.fingerprint.withLock { $0 }
                let isAccepted = certificate.map { SessionHandshake.accepts($0, from: device) } ?? true
                end(isAccepted ? error : OpeningFault.otherCertificate)
            case .cancelled: end(OpeningFault.closed)
            case .setup, .preparing: break
            @unknown default: break
            }
        }

        private func fail(_ error: any Error) {
            let opening = state.withLock { state in
                guard !state.isOpen else { return nil as CheckedContinuation<SessionOpened, any Error>? }
                if state.failure == nil { state.failure = error }
                defer { state.opening = nil }
                return state.opening
            }
            opening?.resume(throwing: error)
        }

        private func end(_ error: any Error) {
            fail(error)
            router.end(.disconnected)
            connection.cancel()
        }

        // MARK: Lines

        private func receive() {
            connection.receive(minimumIncompleteLength: 1, maximumLength: 65_536) { [weak self] data, _, isEnd, error in
                guard let self else { return }
                if let data { state.withLock { $0.lines.append(data) } }
                while let output = state.withLock({ $0.lines.next() }) { handle(output) }
                if isEnd || error != nil { end(error ?? OpeningFault.closed) } else { receive() }
            }
        }

        private func handle(_ output: LineSplitter.Output) {
            guard case .line(let line) = output else {
                router.end(.notUnderstood(.lineTooLong))
                return end(ProtocolError.lineTooLong)
            }
            guard !state.withLock({ $0.isOpen }) else { return router.receive(line) }
            do {
                guard let certificate = seen.fingerprint.withLock({ $0 }) else { throw OpeningFault.closed }
                let effect = try state.withLock { try $0.handshake.handle(line, certificate: certificate) }
                switch effect {
                case .send(let line): send(line) { [weak self] in self?.end(OpeningFault.closed) }
                case .opened(let session):
                    let opening = state.withLock { state in
                        state.isOpen = true
                        defer { state.opening = nil }
                        return state.opening
                    }
                    opening?.resume(returning: session)
                }
            } catch {
                end(error)
            }
        }

        func send(_ line: [UInt8], onFailure: @escaping @Sendable () -> Void) {
            connection.send(
                content: Data(line + [UInt8(ascii: "\n")]),
                completion: .contentProcessed { error in if error != nil { onFailure() } })
        }

        func close() { connection.cancel() }

        func closed() async {
            router.end(.disconnected)
            connection.cancel()
        }

        func abandon() { connection.forceCancel() }
    }

    extension ClientError {
        fileprivate init(opening endpoint: Endpoint, fault: any Error) {
            self =
                switch fault {
                case OpeningFault.otherCertificate: .certificateChanged(endpoint)
                case OpeningFault.notTheDevice: .notTheDevice(endpoint)
                case OpeningFault.closed: .turnedAway(endpoint)
                case let error as ProtocolError: ClientError(opening: endpoint, error)
                case NWError.posix(let code): ClientError(connecting: endpoint, errno: code.rawValue)
                case NWError.dns: .unresolvable(endpoint)
                case NWError.tls: .notADevice(endpoint)
                case is CancellationError: .cancelled
                default: .disconnected
                }
        }
    }
#endif
