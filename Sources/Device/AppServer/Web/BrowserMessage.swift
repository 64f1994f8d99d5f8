import AgentModel
import NIOCore

package struct BrowserRequest: Sendable, Equatable {
    package enum Method: Sendable, Equatable {
        /// The method is GET or HEAD.
        case get
        case post
        case other
    }

    package var method: Method
    /// Path as received, up to a question mark.
    package var path: String
    package var query: String
    /// Host of the request, in lower case.
    package var host: String?
    package var origin: String?
    package var accept: String?
    package var acceptLanguage: String?
    package var cookie: String?
    package var contentType: String?
    /// Posted bytes, which may contain a password.
    package var body: Secret
    /// True if the body was too large. Then `body` is empty.
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

package struct BrowserResponse: Sendable {
    package enum KeyResult: Sendable, Equatable {
        case none, right, wrong
    }

    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// Result of the key check, which determines the delay of the address's next handshakes.
    package var keyResult = KeyResult.none
    /// Function to call at least once: when the client has received everything or is gone, at most 1.5 s after sending.
    package var delivered: (@Sendable () async -> Void)?

    package init(_ status: Int, _ headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }
}

package struct Browser: Sendable, Hashable {
    package let address: IPAddress
    /// Network site of the address. The limits for browsers count by site.
    package let site: IPAddress.Site

    package init(address: IPAddress) { (self.address, site) = (address, address.site) }

    /// - Returns: nil for the address of a Unix socket.
    package init?(_ address: SocketAddress) {
        guard let ip = IPAddress(address), let site = address.site else { return nil }
        (self.address, self.site) = (ip, site)
    }
}

package protocol WebPages: Sendable {
    func respond(to request: BrowserRequest, from client: Browser) async -> BrowserResponse
}

/// Limits of a browser's connection, which carries a single request.
package struct BrowserLimits: Sendable {
    /// Maximum length of the request line and headers in bytes.
    package var headLength = 8192
    /// Maximum length of the body in bytes. A percent-encoded password of 128 bytes takes 384, a pairing code up to
    /// 3072.
    package var bodyLength = 4096
    /// Longest time for a request to arrive, on the setup access point.
    package var requestTime = Duration.seconds(10)
    /// Longest time from the request's end until the client has the answer. A diagnosis takes up to 13 s.
    package var answerTime = Duration.seconds(25)
    /// Longest time in which a client may still send after its answer.
    package var lingering = Duration.seconds(2)
    /// Maximum number of connections on the setup access point. A newcomer displaces a connection of the busiest
    /// address. If each address has only one, it displaces the oldest.
    package var connections = 128
    package var connectionsPerAddress = 8

    package init() {}
}
