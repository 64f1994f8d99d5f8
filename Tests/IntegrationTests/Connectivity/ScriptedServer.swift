import Connectivity
import NIOCore
import NIOPosix
import NIOSSL
import TestTime
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A server on loopback that says what it was told to, whatever it is asked.
struct ScriptedServer: Sendable {
    enum End: Sendable {
        case close
        case silence
        /// Goes on with this until the client hangs up.
        case endlessly(String)
        /// A byte each half second, until the client hangs up: less than any limit on bytes in a minute.
        case drip(String)
    }

    let port: Int
    private let requests: Requests

    /// Its requests, of all connections together.
    var received: String { requests.text.value }
    var connections: Int { requests.connections.value }

    /// Returns once something has been asked.
    func isAsked() async throws { try await requests.text.wait("a request") { !$0.isEmpty } }

    /// - Parameter awaiting: what has to arrive before it says anything.
    static func serving<Result>(
        _ answer: String, then end: End = .close, awaiting: String = "\r\n\r\n", tls: NIOSSLContext? = nil,
        _ body: (ScriptedServer) async throws -> Result
    ) async throws -> Result {
        let requests = Requests()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    let script = Script(answer: answer, end: end, awaiting: awaiting, requests: requests)
                    try channel.pipeline.syncOperations.addHandler(script)
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let result: Result
        do {
            result = try await body(ScriptedServer(port: listener.localAddress?.port ?? 0, requests: requests))
        } catch {
            try await listener.close()
            throw error
        }
        try await listener.close()
        return result
    }

    fileprivate final class Requests: Sendable {
        let text = Observed("")
        let connections = Observed(0)
    }

    private final class Script: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        let answer: String
        let end: End
        let awaiting: String
        let requests: Requests
        private var request = ""
        private var hasAnswered = false

        init(answer: String, end: End, awaiting: String, requests: Requests) {
            (self.answer, self.end, self.awaiting, self.requests) = (answer, end, awaiting, requests)
        }

        func channelActive(context: ChannelHandlerContext) {
            requests.connections.change { $0 += 1 }
            context.fireChannelActive()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let text = String(buffer: unwrapInboundIn(data))
            request += text
            requests.text.change { $0 += text }
            guard !hasAnswered, awaiting.isEmpty || request.contains(awaiting) else { return }
            hasAnswered = true
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil)
            switch end {
            case .close: context.close(promise: nil)
            case .silence: break
            case .endlessly(let text):
                // Much at once: other channels of this thread get their turn when the socket takes no more.
                let count = 65_536 / text.utf8.count
                Self.repeat(ByteBuffer(string: String(repeating: text, count: count)), on: context.channel)
            case .drip(let text): Self.drip(text, on: context.channel)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

        private static func `repeat`(_ text: ByteBuffer, on channel: any Channel) {
            channel.writeAndFlush(text).whenSuccess {
                channel.eventLoop.execute { Self.repeat(text, on: channel) }
            }
        }

        private static func drip(_ text: String, on channel: any Channel) {
            guard let first = text.first else { return }
            let rest = text.dropFirst() + String(first)
            channel.writeAndFlush(ByteBuffer(string: String(first))).whenSuccess {
                channel.eventLoop.scheduleTask(in: .milliseconds(500)) { drip(String(rest), on: channel) }
            }
        }
    }
}

extension InterfaceNetwork {
    static let loopback = InterfaceNetwork(interface: nil, on: MultiThreadedEventLoopGroup.singleton)
}

extension WebLimits {
    /// Longer than any test takes: where time matters, the test says so.
    static func within(_ time: Duration = .seconds(60), body: WebLimits.Body = .whole(upTo: 4096)) -> WebLimits {
        WebLimits(time: time, body: body)
    }
}

extension ScriptedServer {
    func address(_ target: String = "/", scheme: String = "http") throws -> WebAddress {
        try WebAddress("\(scheme)://127.0.0.1:\(port)\(target)")
    }

    func exchange(
        _ target: String = "/", scheme: String = "http", limits: WebLimits = .within(),
        trusting authorities: WebClient.Authorities = .system
    ) async throws -> Result<WebAnswer, WebFailure> {
        do {
            let request = WebRequest(.get, try address(target, scheme: scheme))
            return .success(
                try await WebClient(trusting: authorities).fetch(request, through: .loopback, limits: limits))
        } catch let failure as WebFailure {
            return .failure(failure)
        }
    }
}

/// Keys of servers in these tests, good for nothing else, with certificates that they signed themselves.
struct TestServerKey: Sendable {
    let key: String
    let certificate: String

    func serverContext() throws -> NIOSSLContext {
        try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(NIOSSLCertificate(bytes: Array(certificate.utf8), format: .pem))],
                privateKey: .privateKey(NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))))
    }

    /// Calls `body` with a file that holds the certificate.
    func withCertificateFile<Result>(_ body: (String) async throws -> Result) async throws -> Result {
        var path = Array("/tmp/altnet-certificate-XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        try #require(descriptor >= 0)
        defer {
            close(descriptor)
            unlink(path)
        }
        let bytes = Array(certificate.utf8)
        try #require(write(descriptor, bytes, bytes.count) == bytes.count)
        return try await body(path.withUnsafeBufferPointer { String(cString: Array($0)) })
    }

    /// For 127.0.0.1 and localhost.
    static let loopback = TestServerKey(
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWg3p658ZuEf/pCxa
            YXq9PIIluNOh7HOGvBCM5ReKEyyhRANCAARojbPZueBfa1/BFiG9Pa4Cq/P7ccIv
            7WEmhBsAHk2LJq3KgA0HLL8AxGa7ecX7ERyyooZj8/1i5eztwp2pEHvZ
            -----END PRIVATE KEY-----
            """,
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBXzCCAQWgAwIBAgIUa+BVMFxyWB2B15FCv0dHpd92gQ0wCgYIKoZIzj0EAwIw
            FjEUMBIGA1UEAwwLYWx0bmV0IHRlc3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAx
            MDEwMDAwMDBaMBYxFDASBgNVBAMMC2FsdG5ldCB0ZXN0MFkwEwYHKoZIzj0CAQYI
            KoZIzj0DAQcDQgAEaI2z2bngX2tfwRYhvT2uAqvz+3HCL+1hJoQbAB5NiyatyoAN
            Byy/AMRmu3nF+xEcsqKGY/P9YuXs7cKdqRB72aMvMC0wGgYDVR0RBBMwEYcEfwAA
            AYIJbG9jYWxob3N0MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIh
            AJBgk0LZEr3fVeCJNLefPCtaTNKlaq5w1NLNkXc+cpTSAiB1BXuWokANZliXxJ0/
            IfkeokBE4uXmfKCf8914hwiMhw==
            -----END CERTIFICATE-----
            """)

    /// For 192.0.2.1 and portal.example.
    static let elsewhere = TestServerKey(
        key: """
            -----BEGIN PRIVATE KEY-----
            MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgmXOJIJvLHnO/bRka
            ytzLTvtEcsGXOMQBh7vblVeiYmShRANCAAT0ji8WVw9o7j+C9ibFabckC015CxMF
            RNJiyn6bobaUo0lewxSZk9avRWwz1BS4/JFV7UTknnluCdB1AC2zYHPv
            -----END PRIVATE KEY-----
            """,
        certificate: """
            -----BEGIN CERTIFICATE-----
            MIIBZDCCAQqgAwIBAgIUYSsRvBFV/ZUgrSn5AgqxehL/EiswCgYIKoZIzj0EAwIw
            FjEUMBIGA1UEAwwLYWx0bmV0IHRlc3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAx
            MDEwMDAwMDBaMBYxFDASBgNVBAMMC2FsdG5ldCB0ZXN0MFkwEwYHKoZIzj0CAQYI
            KoZIzj0DAQcDQgAE9I4vFlcPaO4/gvYmxWm3JAtNeQsTBUTSYsp+m6G2lKNJXsMU
            mZPWr0VsM9QUuPyRVe1E5J55bgnQdQAts2Bz76M0MDIwHwYDVR0RBBgwFocEwAAC
            AYIOcG9ydGFsLmV4YW1wbGUwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNI
            ADBFAiEAlwIuJ1faLWEutAMkBmPWYAYvxpwsvNXv/yvEI4hhpy8CIGL7G4J0ToUC
            iHv2nJ1fDimtvq9mcGr1+2pfZHVWFsST
            -----END CERTIFICATE-----
            """)
}
