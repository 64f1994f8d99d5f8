/// A network that wants somebody to sign in (RFC 8908).
public struct Portal: Sendable, Equatable, Codable {
    /// The states of a hotspot's sign-in.
    public enum State: String, Sendable, CaseIterable, Codable {
        case inactive, evaluating, authenticating, presentingUI, authenticated, maintaining
    }

    /// Where a person signs in, if the network told.
    public var url: String?
    public var state: State
    /// The provider that signs in, if one claimed the network.
    public var provider: String?
    /// How long, in seconds, and for how many bytes the sign-in lasts, where the network tells.
    public var secondsRemaining: Int?
    public var bytesRemaining: Int?

    public init(
        url: String? = nil, state: State = .inactive, provider: String? = nil, secondsRemaining: Int? = nil,
        bytesRemaining: Int? = nil
    ) {
        self.url = url
        self.state = state
        self.provider = provider
        self.secondsRemaining = secondsRemaining
        self.bytesRemaining = bytesRemaining
    }
}

/// How a sign-in stands: the answer to `portal.get` and `portal.answer`.
public struct PortalStatus: Sendable, Equatable, Codable {
    /// Nil where the network wants nobody to sign in.
    public var portal: Portal?
    /// What somebody is asked for now.
    public var request: PortalRequest?
    /// What went wrong last when the device tried to sign in, in words, without secrets.
    public var problem: String?

    public init(portal: Portal? = nil, request: PortalRequest? = nil, problem: String? = nil) {
        self.portal = portal
        self.request = request
        self.problem = problem
    }
}

/// A request that nobody needs to answer any more: the body of `portal.ended`.
public struct PortalEnded: Sendable, Equatable, Codable {
    public let id: Int

    public init(id: Int) { self.id = id }
}
