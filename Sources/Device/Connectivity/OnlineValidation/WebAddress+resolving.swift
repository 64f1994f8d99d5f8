extension WebAddress {
    /// What a reference means that was found at this address, such as a `Location` or a form's action
    /// (RFC 3986, 5.2).
    ///
    /// - Throws: `InvalidWebAddress` for what is no address, or one that is not on the web (`javascript:`).
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

    /// A letter, then letters, digits and `+-.`, then a colon (RFC 3986, 3.1).
    private static func hasScheme(_ reference: String) -> Bool {
        let name = reference.prefix { $0.isLetter || $0.isNumber || "+-.".contains($0) }
        return name.first?.isLetter == true && reference[name.endIndex...].hasPrefix(":")
    }

    /// RFC 3986, 5.2.4; the query is left as it is.
    private static func withoutDots(_ target: String) -> String {
        let path = target.prefix { $0 != "?" }
        var kept: [Substring] = []
        let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for segment in segments where segment != "." {
            if segment == ".." { _ = kept.popLast() } else { kept.append(segment) }
        }
        // A path that ends with a dot segment is that of a folder.
        if segments.last == "." || segments.last == ".." { kept.append("") }
        return "/" + kept.joined(separator: "/") + target[path.endIndex...]
    }
}
