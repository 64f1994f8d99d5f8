import AgentModel
import NIOCore
import NIOSSL
import Synchronization

/// Asks the web one thing at a time, of servers that are not trusted: every answer has its limits (``WebLimits``),
/// nothing is unpacked, no redirection is followed, and the connection ends with the answer.
public struct WebClient: Sendable {
    /// The authorities whose certificates are trusted.
    public enum Authorities: Sendable {
        /// Those of the system, such as `/etc/ssl/certs`.
        case system
        /// Those in a PEM file.
        case file(String)
    }

    private let trust: LoadedAuthorities

    public init(trusting authorities: Authorities = .system) { trust = LoadedAuthorities(authorities) }

    /// - Throws: `WebFailure`. An answer of whatever status is none.
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
    /// There is no other one only where the task was cancelled.
    fileprivate static let cancelled = WebExchange(result: .failure(.cancelled), bytes: 0)
}

/// The authorities whose certificates are trusted, read when they are needed first and then kept: those of the system
/// are some megabytes, and take a small machine a good part of a second.
final class LoadedAuthorities: Sendable {
    private let authorities: WebClient.Authorities
    private let loaded = Mutex<NIOSSLContext?>(nil)

    init(_ authorities: WebClient.Authorities) { self.authorities = authorities }

    /// If they cannot be read, the next request tries again.
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

/// A request. Each one is one connection, which ends with the answer.
public struct WebRequest: Sendable {
    public enum Method: Sendable {
        case get
        /// The fields of a form (`application/x-www-form-urlencoded`), in this order.
        case form([(name: String, value: String)])
    }

    public var address: WebAddress
    public var method: Method
    /// The types of content that are understood, as in `Accept`.
    public var accept: String
    /// The cookies that a page set before (`name=value; name=value`), as in `Cookie`; nil for none.
    public var cookies: String?

    public init(_ method: Method = .get, _ address: WebAddress, accept: String = "*/*", cookies: String? = nil) {
        (self.method, self.address) = (method, address)
        (self.accept, self.cookies) = (accept, cookies)
    }
}

extension WebRequest {
    /// The fields of a form as a body or a query, as browsers do it (WHATWG URL, application/x-www-form-urlencoded).
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

/// How much of an answer is taken, and how long it may take. For any answer, not more than
/// ``receivedBytes`` and one further read of ``readSize`` is ever held.
public struct WebLimits: Sendable {
    public enum Body: Sendable {
        /// A longer body is an error.
        case whole(upTo: Int)
        /// The rest of a longer body is not waited for.
        case first(Int)

        var count: Int {
            switch self {
            case .whole(let count), .first(let count): count
            }
        }
    }

    /// From the name's resolution to the last byte.
    public var time: Duration
    public var body: Body
    /// All names and values together.
    public var headerBytes = 16 * 1024
    public var headerFields = 64
    /// How many interim answers (1xx) may come before the one that counts.
    public var interimAnswers = 4

    public init(time: Duration, body: Body) { (self.time, self.body) = (time, body) }

    /// How many bytes are read at most before it is over: what chunks need around them is given as much as the body.
    public var receivedBytes: Int { headerBytes + 2 * body.count }

    /// The same with TLS around it: keys and certificates (BoringSSL takes 100 KiB of them), and as much again around
    /// the content.
    var receivedEncryptedBytes: Int { 128 * 1024 + 2 * receivedBytes }

    /// In bytes.
    public static let readSize = 4096

    /// A fixed size: the default one grows with what comes.
    static let readAllocator = FixedSizeRecvByteBufferAllocator(capacity: readSize)
}
