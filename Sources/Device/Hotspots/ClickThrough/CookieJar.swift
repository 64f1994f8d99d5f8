import Connectivity

/// The cookies of a visit (RFC 6265, as far as portals need it): by host, so that none gets what another one set.
struct CookieJar: Sendable {
    fileprivate struct Cookie {
        let host: String
        let name: String
        let value: String
        /// Not to be sent unencrypted.
        let isSecure: Bool
    }

    /// The one set last is last; what is too much makes the first one go.
    private static let maximumCount = 16
    fileprivate static let maximumLength = 512

    private var cookies: [Cookie] = []

    /// As in `Cookie`; nil for none.
    func cookies(for address: WebAddress) -> String? {
        let known = cookies.filter { $0.host == address.host && (address.scheme == .https || !$0.isSecure) }
        return known.isEmpty ? nil : known.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    /// - Parameter texts: as in `Set-Cookie`.
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
    /// - Returns: nil for what is none, is too long, or wants to be kept secret though everybody has seen it.
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
