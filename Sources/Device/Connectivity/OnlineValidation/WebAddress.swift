import NIOCore

/// A URL with `http://` or `https://`. Stricter than RFC 3986: refuses ambiguous text, so that display, request and
/// comparison agree.
public struct WebAddress: Sendable, Hashable {
    public enum Scheme: String, Sendable, CaseIterable {
        case http, https

        /// Default port (RFC 9110, 4.2).
        public var port: Int { self == .https ? 443 : 80 }
    }

    /// Maximum length in bytes. Longer URLs are refused.
    public static let maximumLength = 2048

    public let scheme: Scheme
    /// A name in lower case or an address, without brackets.
    public let host: String
    /// Port number, 1 to 65535.
    public let port: Int
    /// Path and query of the request; begins with a slash.
    public let target: String
    /// Text after `#`. Only the user's browser uses it; requests omit it.
    public let fragment: String?

    /// - Throws: `InvalidWebAddress`.
    public init(_ text: String) throws(InvalidWebAddress) {
        try Self.checkCharacters(text)
        guard let (scheme, rest) = Self.scheme(of: text[...]) else { throw .scheme }
        let authority = rest.prefix { !"/?#".contains($0) }
        try self.init(scheme: scheme, authority: authority, rest: rest[authority.endIndex...])
    }

    /// - Parameter rest: text after the authority.
    init(scheme: Scheme, authority: Substring, rest: Substring) throws(InvalidWebAddress) {
        self.scheme = scheme
        (host, port) = try Self.hostAndPort(authority, of: scheme)
        let target = rest.prefix { $0 != "#" }
        self.target = target.hasPrefix("/") ? String(target) : "/" + target
        fragment = target.endIndex == rest.endIndex ? nil : String(rest[target.endIndex...].dropFirst())
    }

    init(_ other: WebAddress, target: String, fragment: String?) {
        (scheme, host, port) = (other.scheme, other.host, other.port)
        (self.target, self.fragment) = (target, fragment)
    }

    /// Host and port for a request (RFC 9110, 7.2): IPv6 in brackets, without the default port.
    public var authority: String {
        let host = host.contains(":") ? "[\(host)]" : host
        return port == scheme.port ? host : "\(host):\(port)"
    }

    /// - Returns: nil for an unknown scheme, or without `://`.
    static func scheme(of text: Substring) -> (Scheme, Substring)? {
        for scheme in Scheme.allCases {
            let prefix = scheme.rawValue + "://"
            if text.prefix(prefix.count).lowercased() == prefix { return (scheme, text.dropFirst(prefix.count)) }
        }
        return nil
    }

    /// Accepts printable ASCII, except characters that RFC 3986 excludes and browsers interpret differently.
    static func checkCharacters(_ text: String) throws(InvalidWebAddress) {
        guard text.utf8.count <= maximumLength else { throw .tooLong }
        let isPlain = text.utf8.allSatisfy { (0x21...0x7e).contains($0) && !"\"<>\\`".utf8.contains($0) }
        guard isPlain else { throw .character }
    }

    private static func hostAndPort(_ text: Substring, of scheme: Scheme) throws(InvalidWebAddress) -> (String, Int) {
        guard !text.contains("@") else { throw .userInformation }
        let host: Substring
        let rest: Substring
        if text.hasPrefix("[") {
            host = text.dropFirst().prefix { $0 != "]" }
            let isIPv6 = host.contains(":") && (try? SocketAddress(ipAddress: String(host), port: 0)) != nil
            guard host.endIndex < text.endIndex, isIPv6, !host.contains("%") else { throw .host }
            rest = text[host.endIndex...].dropFirst()
        } else {
            host = text.prefix { $0 != ":" }
            guard (try? Host(String(host))) != nil else { throw .host }
            rest = text[host.endIndex...]
        }
        return (host.lowercased(), try port(rest) ?? scheme.port)
    }

    private static func port(_ text: Substring) throws(InvalidWebAddress) -> Int? {
        // The port may be empty, as in "host:" (RFC 3986, 3.2.3).
        if text.isEmpty || text == ":" { return nil }
        let digits = text.dropFirst()
        guard text.first == ":", digits.utf8.count <= 5, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = Int(digits), (1...65_535).contains(port)
        else { throw .port }
        return port
    }
}

extension WebAddress: CustomStringConvertible {
    public var description: String { "\(scheme)://\(authority)\(target)" + (fragment.map { "#" + $0 } ?? "") }
}

/// The part of a URL that is invalid or not allowed.
public enum InvalidWebAddress: Error, Equatable, CaseIterable, CustomStringConvertible {
    case tooLong, character, scheme, userInformation, host, port

    public var description: String {
        switch self {
        case .tooLong: "it is longer than \(WebAddress.maximumLength) bytes"
        case .character: "it has a character that must be written as % and two hexadecimal digits"
        case .scheme: "it does not begin with http:// or https://"
        case .userInformation: "it has a user name, which would end up in logs"
        case .host: "its host is neither a name nor an address (an IPv6 address has brackets)"
        case .port: "its port is not 1 to 65535"
        }
    }
}

extension WebAddress {
    /// Resolves a reference found at this address, such as a `Location` or a form's action (RFC 3986, 5.2).
    /// - Throws: `InvalidWebAddress`, for example for a scheme such as `javascript:`.
    public func resolving(_ reference: String) throws(InvalidWebAddress) -> WebAddress {
        try Self.checkCharacters(reference)
        let resolved: WebAddress
        if Self.hasScheme(reference) {
            resolved = try WebAddress(reference)
        } else if reference.hasPrefix("//") {
            resolved = try WebAddress("\(scheme):\(reference)")
        } else {
            let path = reference.prefix { $0 != "#" }
            let fragment = path.endIndex == reference.endIndex ? nil : String(reference[path.endIndex...].dropFirst())
            resolved = WebAddress(self, target: Self.withoutDots(merged(path)), fragment: fragment)
        }
        guard resolved.description.utf8.count <= Self.maximumLength else { throw .tooLong }
        return resolved
    }

    private var path: Substring { target.prefix { $0 != "?" } }

    private func merged(_ reference: Substring) -> String {
        switch reference.first {
        case nil: return target
        case "/": return String(reference)
        case "?": return "\(path)\(reference)"
        default:
            let folder = path[...(path.lastIndex(of: "/") ?? path.startIndex)]
            return "\(folder)\(reference)"
        }
    }

    /// True if the reference begins with a scheme (RFC 3986, 3.1).
    private static func hasScheme(_ reference: String) -> Bool {
        let name = reference.prefix { $0.isLetter || $0.isNumber || "+-.".contains($0) }
        return name.first?.isLetter == true && reference[name.endIndex...].hasPrefix(":")
    }

    /// Removes dot segments (RFC 3986, 5.2.4) and keeps the query.
    private static func withoutDots(_ target: String) -> String {
        let path = target.prefix { $0 != "?" }
        var kept: [Substring] = []
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for segment in segments where segment != "." {
            if segment == ".." { _ = kept.popLast() } else { kept.append(segment) }
        }
        // A final dot segment names a folder.
        if segments.last == "." || segments.last == ".." { kept.append("") }
        return "/" + kept.joined(separator: "/") + target[path.endIndex...]
    }
}
