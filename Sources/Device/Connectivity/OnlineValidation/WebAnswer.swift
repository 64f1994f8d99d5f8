import AgentModel
import NIOHTTP1
import NIOSSL

/// An answer to a ``WebRequest``.
public struct WebAnswer: Sendable, Equatable {
    public let address: WebAddress
    /// Status code, 200 to 999.
    public let status: Int
    let fields: [Field]
    public let body: [UInt8]
    /// True if the body is whole; false if only the first bytes were requested.
    public let isWhole: Bool

    struct Field: Sendable, Equatable {
        let name: String
        let value: String
    }

    /// Returns the values of a header field in their order. Ignores case.
    public func values(of name: String) -> [String] {
        let name = name.lowercased()
        return fields.filter { $0.name.lowercased() == name }.map(\.value)
    }

    /// Target of a redirection; nil if missing or unusable. ``WebClient`` does not follow redirections.
    public var location: WebAddress? {
        guard (300...399).contains(status), let location = values(of: "Location").first else { return nil }
        return try? address.resolving(location)
    }

    /// Content type in lower case without parameters, such as `text/html`; empty if missing.
    public var contentType: String {
        let value = values(of: "Content-Type").first ?? ""
        return value.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercased()
    }
}

/// Reason why there is no usable answer.
public enum WebFailure: Error, Equatable {
    case notReached(ReachProblem)
    /// No complete answer arrived in time.
    case timedOut
    /// The server has a wrong certificate, or no TLS.
    case tlsFailed
    case noAuthorities
    /// The connection closed before the end of the answer.
    case closedEarly
    /// The answer is not HTTP/1.
    case notHTTP
    /// The answer exceeds a limit.
    case tooLarge(Part)
    /// The body has an unrequested encoding, such as compression.
    case encoded
    case cancelled

    /// Part of an answer that has a limit.
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
        case .notReached(let problem): "no connection: \(problem)"
        case .timedOut: "no answer in time"
        case .tlsFailed: "the server has the wrong certificate, or no TLS"
        case .noAuthorities: "the CA certificates cannot be read"
        case .closedEarly: "the connection closed before the end of the answer"
        case .notHTTP: "the answer is not HTTP"
        case .tooLarge(.header): "the answer's header is too large"
        case .tooLarge(.body): "the answer's body is too large"
        case .tooLarge(.interimAnswers): "there were too many interim answers"
        case .encoded: "the answer is compressed without a request for it"
        case .cancelled: "the request was cancelled"
        }
    }
}

extension WebFailure {
    /// Classifies the failure of an established connection.
    init(_ error: any Error) {
        self =
            switch error {
            case let failure as WebFailure: failure
            case HTTPParserError.headerOverflow: .tooLarge(.header)
            case HTTPParserError.invalidEOFState: .closedEarly
            case is HTTPParserError: .notHTTP
            // The connection closed without a close message, so the answer may be incomplete.
            case NIOSSLError.uncleanShutdown: .closedEarly
            case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: .tlsFailed
            default: .closedEarly
            }
    }
}
