import AgentModel
import NIOCore

/// A request of a browser that keeps to the limits.
package struct WebRequest: Sendable, Equatable {
    package enum Method: Sendable, Equatable {
        /// Also HEAD, which gets no body.
        case get
        case post
        case other
    }

    package var method: Method
    /// As it came, up to a question mark. It begins with a slash, or names nothing that is there.
    package var path: String
    /// What comes after the question mark; empty without one.
    package var query: String
    /// The `Host` header, in lower case.
    package var host: String?
    package var origin: String?
    package var accept: String?
    package var acceptLanguage: String?
    package var cookie: String?
    package var contentType: String?
    /// What was posted. It may have a password in it.
    package var body: Secret
    /// Whether more was posted than is read; then there is no body.
    package var isTooLarge = false

    package init(
        _ method: Method, _ path: String, query: String = "", host: String? = nil, origin: String? = nil,
        accept: String? = nil, acceptLanguage: String? = nil, cookie: String? = nil, contentType: String? = nil,
        body: Secret = Secret([])
    ) {
        (self.method, self.path, self.query, self.host) = (method, path, query, host)
        (self.origin, self.accept, self.acceptLanguage) = (origin, accept, acceptLanguage)
        self.cookie = cookie
        (self.contentType, self.body) = (contentType, body)
    }
}

/// What a browser gets.
package struct WebResponse: Sendable {
    /// What it says of the key that came with the request.
    package enum KeyResult: Sendable, Equatable {
        case none, right, wrong
    }

    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// What the next handshakes of the client's address wait for, or do not wait for any more.
    package var keyResult = KeyResult.none
    /// Is called at least once: when the client has all of it, or cannot get it any more, and at the latest after 1.5 s.
    package var delivered: (@Sendable () async -> Void)?

    package init(_ status: Int, _ headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }
}

/// The browser that asks.
package struct WebClient: Sendable, Hashable {
    package let address: IPAddress
    /// Whether it came through TLS.
    package let isSecure: Bool
    /// The site whose limits count for it.
    package let site: IPAddress.Site

    package init(address: IPAddress, isSecure: Bool) {
        (self.address, self.isSecure, site) = (address, isSecure, address.site)
    }

    /// - Returns: nil for the address of a Unix socket.
    package init?(_ address: SocketAddress, isSecure: Bool) {
        guard let ip = IPAddress(address), let site = address.site else { return nil }
        (self.address, self.isSecure, self.site) = (ip, isSecure, site)
    }
}

/// Answers browsers.
package protocol WebPages: Sendable {
    func respond(to request: WebRequest, from client: WebClient) async -> WebResponse
}

/// The limits of a browser's connection. Each has one request, and ends with its answer.
package struct WebLimits: Sendable {
    /// Bytes of a request line with its headers.
    package var headLength = 8192
    /// Bytes that are posted: a password of 128 bytes has 384 as it travels, a pairing code up to 3072.
    package var bodyLength = 4096
    /// How long a request may take to arrive, on the access point.
    package var requestTime = Duration.seconds(10)
    /// How long an answer may take, from the request's end until the client has it: a diagnosis takes 15 seconds.
    package var answerTime = Duration.seconds(25)
    /// How long a client may go on sending that has its answer.
    package var lingering = Duration.seconds(2)
    /// Connections at the same time, on the access point. One of the address with most of them gives way to another,
    /// else the oldest.
    package var connections = 128
    package var connectionsPerAddress = 8

    package init() {}
}
