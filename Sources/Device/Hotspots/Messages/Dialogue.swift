import AppProtocol

/// What a provider wants a person to do: what is shown, and what is to be filled in.
public struct Dialogue: Sendable, Equatable {
    public var title: String
    public var message: String
    /// A page that the person may open instead, with `http` or `https`.
    public var url: String?
    /// None where the person has only to agree, or to open the page.
    public var fields: [PortalRequest.Field]

    public init(title: String, message: String, url: String? = nil, fields: [PortalRequest.Field] = []) {
        self.title = title
        self.message = message
        self.url = url
        self.fields = fields
    }
}
