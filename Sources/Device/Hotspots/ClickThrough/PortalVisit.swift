import Connectivity

/// A visit to a portal's pages: follows redirections and keeps cookies like a browser, within limits.
struct PortalVisit: Sendable {
    enum Failure: Error {
        case web(WebFailure)
        case address(InvalidWebAddress)
        case redirections
        /// The user's input would go to a host that the user has not seen.
        case elsewhere
    }

    private static let redirections = 5
    private static let limits = WebLimits(time: .seconds(8), body: .first(256 * 1024))

    private let client = WebClient()
    let network: InterfaceNetwork
    private var jar = CookieJar()
    private var address: WebAddress
    private(set) var page = PortalPage(html: [])
    /// Address to show. Fixed once the user has filled in a form, because later addresses may contain the input.
    private(set) var shownAddress: WebAddress
    private var isFilledIn = false

    init(_ url: String, through network: InterfaceNetwork) async throws(Failure) {
        do { address = try WebAddress(url) } catch { throw .address(error) }
        self.network = network
        shownAddress = address
        try await load(.get, address)
    }

    mutating func follow(_ target: String) async throws(Failure) { try await load(.get, resolve(target)) }

    /// - Parameter filledIn: the user's input, sent only to the page's origin or encrypted.
    mutating func send(_ form: PortalPage.Form, _ filledIn: [String: String] = [:]) async throws(Failure) {
        let target = try resolve(form.action)
        guard filledIn.isEmpty || keepsSecrets(target) else { throw .elsewhere }
        isFilledIn = isFilledIn || !filledIn.isEmpty
        let values = form.values(filledIn)
        guard !form.isPost else { return try await load(.form(values), target) }
        let query: WebAddress
        do { query = try target.resolving("?" + WebRequest.encoded(values)) } catch { throw .address(error) }
        try await load(.get, query)
    }

    func maySend(_ form: PortalPage.Form) -> Bool { (try? resolve(form.action)).map(keepsSecrets) ?? false }

    private func keepsSecrets(_ target: WebAddress) -> Bool {
        target.scheme == .https || target.isSameOrigin(as: address)
    }

    private func resolve(_ target: String) throws(Failure) -> WebAddress {
        do { return try address.resolving(target) } catch { throw .address(error) }
    }

    private mutating func load(_ method: WebRequest.Method, _ start: WebAddress) async throws(Failure) {
        var request = WebRequest(method, start, accept: "text/html")
        for _ in 0...Self.redirections {
            request.cookies = jar.cookies(for: request.address)
            let answer: WebAnswer
            do {
                answer = try await client.fetch(request, through: network, limits: Self.limits)
            } catch {
                throw .web(error)
            }
            jar.keep(answer.values(of: "Set-Cookie"), from: answer.address)
            address = answer.address
            page = PortalPage(html: answer.body)
            if !isFilledIn { shownAddress = address }
            guard let next = answer.location ?? refresh else { return }
            // Only these statuses repeat the form (RFC 9110, 15.4.8 and 15.4.9).
            let method = answer.status == 307 || answer.status == 308 ? request.method : .get
            if case .form = method, isFilledIn, !next.isSameOrigin(as: address) { throw .elsewhere }
            request = WebRequest(method, next, accept: "text/html")
        }
        throw .redirections
    }

    /// Target of the page's refresh; nil without a refresh, or if the page only reloads.
    private var refresh: WebAddress? {
        guard let target = page.refresh, let next = try? address.resolving(target), next != address else { return nil }
        return next
    }
}

extension WebAddress {
    /// Compares scheme, host and port (RFC 6454, 4).
    fileprivate func isSameOrigin(as other: WebAddress) -> Bool {
        scheme == other.scheme && host == other.host && port == other.port
    }
}

extension PortalVisit.Failure: CustomStringConvertible {
    var description: String {
        switch self {
        case .web(let failure): "the portal's page could not be fetched: \(failure)"
        case .address(let error): "the portal's address cannot be used: \(error)"
        case .redirections: "the portal redirects endlessly"
        case .elsewhere: "the portal sends the form to another site"
        }
    }
}

/// The cookies of a visit (RFC 6265, reduced), separated by host.
struct CookieJar: Sendable {
    fileprivate struct Cookie {
        let host: String
        let name: String
        let value: String
        /// True for a value that is never sent unencrypted.
        let isSecure: Bool
    }

    /// Maximum number of cookies, and bytes of each. The oldest is dropped first.
    private static let maximumCount = 16
    fileprivate static let maximumLength = 512

    private var cookies: [Cookie] = []

    func cookies(for address: WebAddress) -> String? {
        let known = cookies.filter { $0.host == address.host && (address.scheme == .https || !$0.isSecure) }
        return known.isEmpty ? nil : known.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    mutating func keep(_ texts: [String], from address: WebAddress) {
        for text in texts {
            guard let cookie = Cookie(text, from: address) else { continue }
            cookies.removeAll { $0.host == cookie.host && $0.name == cookie.name }
            cookies.append(cookie)
            if cookies.count > Self.maximumCount { cookies.removeFirst() }
        }
    }
}

extension CookieJar.Cookie {
    /// - Returns: nil if the cookie is invalid, too long, or secure but received over an unencrypted connection.
    fileprivate init?(_ text: String, from address: WebAddress) {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false)
        guard let pair = parts.first, pair.utf8.count <= CookieJar.maximumLength,
            pair.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), let separator = pair.firstIndex(of: "="),
            separator > pair.startIndex
        else { return nil }
        isSecure = parts.dropFirst().contains { $0.filter { $0 != " " }.lowercased() == "secure" }
        guard address.scheme == .https || !isSecure else { return nil }
        host = address.host
        name = String(pair[..<separator])
        value = String(pair[pair.index(after: separator)...])
    }
}
