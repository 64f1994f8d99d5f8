/// What came back, within the limits that were given.
public struct WebAnswer: Sendable, Equatable {
    /// Where it was asked for.
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

    /// Where a redirection leads: nobody goes there by himself. Nil if it is none, or leads nowhere on the web.
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
