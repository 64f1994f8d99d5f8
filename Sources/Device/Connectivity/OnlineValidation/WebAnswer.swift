import AgentModel
import NIOCore
import NIOHTTP1
import NIOSSL

/// The answer to a request, within the limits that were given.
public struct WebAnswer: Sendable, Equatable {
    /// The address that was asked.
    public let address: WebAddress
    /// 200 to 999.
    public let status: Int
    let fields: [Field]
    public let body: [UInt8]
    /// Whether the body is all there is: not so where its first bytes only were asked for.
    public let isWhole: Bool

    struct Field: Sendable, Equatable {
        let name: String
        let value: String
    }

    /// The values of a header field, in the order in which they came. Names do not tell capitals from small letters.
    public func values(of name: String) -> [String] {
        let name = name.lowercased()
        return fields.filter { $0.name.lowercased() == name }.map(\.value)
    }

    /// The target of a redirection, which is not followed. Nil if it is none, or leads nowhere on the web.
    public var location: WebAddress? {
        guard (300...399).contains(status), let location = values(of: "Location").first else { return nil }
        return try? address.resolving(location)
    }

    /// The type of its content in small letters, without parameters, as in `text/html`; empty if not said.
    public var contentType: String {
        let value = values(of: "Content-Type").first ?? ""
        return value.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
    }
}

/// Why there was no answer.
public enum WebFailure: Error, Equatable {
    /// No connection came about.
    case notReached(ReachProblem)
    /// The answer was not complete in time.
    case timedOut
    /// The other side is not who it should be, or does not speak TLS.
    case tlsFailed
    /// The certificates to trust cannot be read.
    case noAuthorities
    /// The connection ended before the answer did.
    case closedEarly
    /// The bytes received are no HTTP/1 answer.
    case notHTTP
    /// More than the limits allow.
    case tooLarge(Part)
    /// The body is compressed or otherwise wrapped, though that was not asked for.
    case encoded
    /// The caller has cancelled the request.
    case cancelled

    public enum Part: Sendable, CaseIterable {
        case header, body, interimAnswers
    }

    public var problem: ReachProblem {
        switch self {
        case .notReached(let problem): problem
        case .timedOut, .cancelled: .timedOut
        case .tlsFailed, .noAuthorities: .tlsFailed
        case .closedEarly: .connectionReset
        case .notHTTP, .tooLarge, .encoded: .unexpectedAnswer
        }
    }
}

extension WebFailure: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notReached(let problem): "there is no connection (\(problem))"
        case .timedOut: "there was no answer in time"
        case .tlsFailed: "the other side is not who it should be, or does not speak TLS"
        case .noAuthorities: "the certificates to trust cannot be read"
        case .closedEarly: "the connection ended before the answer did"
        case .notHTTP: "what came is no HTTP answer"
        case .tooLarge(.header): "the answer's header is too large"
        case .tooLarge(.body): "the answer's body is too large"
        case .tooLarge(.interimAnswers): "there were too many interim answers"
        case .encoded: "the answer is compressed, which was not asked for"
        case .cancelled: "the request was cancelled"
        }
    }
}

extension WebFailure {
    /// The failure of an established connection.
    init(_ error: any Error) {
        self =
            switch error {
            case let failure as WebFailure: failure
            case HTTPParserError.headerOverflow: .tooLarge(.header)
            case HTTPParserError.invalidEOFState: .closedEarly
            case is HTTPParserError: .notHTTP
            // The end was not announced: the answer may lack something.
            case NIOSSLError.uncleanShutdown: .closedEarly
            case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: .tlsFailed
            default: .closedEarly
            }
    }
}
