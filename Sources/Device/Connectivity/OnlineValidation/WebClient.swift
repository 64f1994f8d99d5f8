import NIOCore
import NIOSSL
import Synchronization

/// Sends single requests to untrusted servers. Limits answers (``WebLimits``), does not follow redirections and does
/// not decompress content.
public struct WebClient: Sendable {
    /// Certificate authorities for `https`.
    public enum Authorities: Sendable {
        /// Authorities of the system, for example in `/etc/ssl/certs`.
        case system
        /// Authorities in a PEM file.
        case file(String)
    }

    private let trust: LoadedAuthorities

    public init(trusting authorities: Authorities = .system) { trust = LoadedAuthorities(authorities) }

    /// - Throws: `WebFailure`. An answer with any status is a success.
    public func fetch(
        _ request: WebRequest, through network: InterfaceNetwork, limits: WebLimits
    ) async throws(WebFailure) -> WebAnswer {
        try await exchange(request, through: network, limits: limits).result.get()
    }

    func exchange(_ request: WebRequest, through network: InterfaceNetwork, limits: WebLimits) async -> WebExchange {
        let end = NIODeadline.now() + TimeAmount(limits.time)
        let (exchanges, finished) = AsyncStream<WebExchange>.makeStream(bufferingPolicy: .bufferingOldest(1))
        do {
            let tls = try request.address.scheme == .https ? trust.context : nil
            let channel = try await Self.connect(
                request, through: network, limits: limits, tls: tls, finished: finished)
            let timer = channel.eventLoop.scheduleTask(deadline: end) {
                channel.pipeline.fireErrorCaught(WebFailure.timedOut)
            }
            defer {
                timer.cancel()
                channel.close(promise: nil)
            }
            return await exchanges.first { _ in true } ?? .cancelled
        } catch {
            return WebExchange(result: .failure(error), bytes: 0)
        }
    }

    private static func connect(
        _ request: WebRequest, through network: InterfaceNetwork, limits: WebLimits, tls: NIOSSLContext?,
        finished: AsyncStream<WebExchange>.Continuation
    ) async throws(WebFailure) -> any Channel {
        let address = request.address
        do throws(ConnectFailure) {
            return try await network.connect(host: address.host, port: address.port, within: limits.time) { channel in
                try channel.syncOptions?.setOption(.recvAllocator, value: WebLimits.readAllocator)
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addWebHandlers(for: address, limits: limits, tls: tls) { finished.yield($0) }
                pipeline.write(request)
            }
        } catch {
            throw error == .cancelled ? .cancelled : .notReached(error.problem)
        }
    }
}

extension WebExchange {
    fileprivate static let cancelled = WebExchange(result: .failure(.cancelled), bytes: 0)
}

/// Authorities, loaded on first use and kept. Loading the system's takes a good part of a second on a small board.
final class LoadedAuthorities: Sendable {
    private let authorities: WebClient.Authorities
    private let loaded = Mutex<NIOSSLContext?>(nil)

    init(_ authorities: WebClient.Authorities) { self.authorities = authorities }

    /// TLS context. If creating the context fails, the next request tries again.
    var context: NIOSSLContext {
        get throws(WebFailure) {
            let result = loaded.withLock { loaded in
                if loaded == nil { loaded = try? NIOSSLContext(configuration: configuration) }
                return loaded
            }
            guard let result else { throw .noAuthorities }
            return result
        }
    }

    private var configuration: TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.shutdownTimeout = .seconds(1)
        configuration.applicationProtocols = ["http/1.1"]
        if case .file(let path) = authorities { configuration.trustRoots = .file(path) }
        return configuration
    }
}

/// A request. Each request has its own connection.
public struct WebRequest: Sendable {
    /// Method of a request: GET, or POST with a form.
    public enum Method: Sendable {
        case get
        /// Fields of a form (`application/x-www-form-urlencoded`), in order.
        case form([(name: String, value: String)])
    }

    public var address: WebAddress
    public var method: Method
    /// Accepted content types, as in `Accept`.
    public var accept: String
    /// Cookies (`name=value; name=value`), as in `Cookie`; nil for none.
    public var cookies: String?

    /// - Parameters:
    ///   - accept: content types, as in `Accept`.
    ///   - cookies: `name=value; name=value`; nil for none.
    public init(_ method: Method = .get, _ address: WebAddress, accept: String = "*/*", cookies: String? = nil) {
        (self.method, self.address) = (method, address)
        (self.accept, self.cookies) = (accept, cookies)
    }
}

extension WebRequest {
    /// Encodes form fields for a body or a query (WHATWG URL, application/x-www-form-urlencoded).
    public static func encoded(_ fields: [(name: String, value: String)]) -> String {
        fields.map { "\(encoded($0.name))=\(encoded($0.value))" }.joined(separator: "&")
    }

    private static func encoded(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF")
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: " "): encoded += "+"
            default: encoded += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
        return encoded
    }
}

/// Limits of an answer's size and time. Memory holds at most ``receivedBytes`` and one more read of ``readSize``.
public struct WebLimits: Sendable {
    /// Limit of a body in bytes.
    public enum Body: Sendable {
        /// A longer body is an error.
        case whole(upTo: Int)
        /// The rest of a longer body is ignored.
        case first(Int)

        var count: Int {
            switch self {
            case .whole(let count), .first(let count): count
            }
        }
    }

    /// Time limit of a request, from name resolution to the last byte.
    public var time: Duration
    public var body: Body
    /// Maximum bytes of header fields, names and values together.
    public var headerBytes = 16 * 1024
    public var headerFields = 64
    /// Maximum number of interim answers (1xx) before the final one.
    public var interimAnswers = 4

    public init(time: Duration, body: Body) { (self.time, self.body) = (time, body) }

    /// Maximum bytes received. Chunk framing may need as much as the body.
    public var receivedBytes: Int { headerBytes + 2 * body.count }

    /// Maximum bytes received with TLS: certificates (BoringSSL allows 100 KiB), and as much overhead as content.
    var receivedEncryptedBytes: Int { 128 * 1024 + 2 * receivedBytes }

    /// Bytes read at a time.
    public static let readSize = 4096

    /// Buffer of fixed size. The default buffer would grow with the input.
    static let readAllocator = FixedSizeRecvByteBufferAllocator(capacity: readSize)
}
