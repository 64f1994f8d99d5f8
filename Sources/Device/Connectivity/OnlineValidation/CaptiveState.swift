/// What a network says of itself through the captive portal API (RFC 8908, 5).
public struct CaptiveState: Sendable, Equatable {
    /// Whether somebody has to sign in first.
    public var isCaptive: Bool
    /// Where a person signs in; always https. Nil if not said, or not so that it can be used.
    public var userPortal: WebAddress?
    /// What the operator wishes to tell.
    public var venueInfo: WebAddress?
    /// Whether ``userPortal`` lets a person stay on before the time or the bytes run out.
    public var canExtendSession: Bool?
    /// Until the network closes again, from 0; counted from when it was asked.
    public var secondsRemaining: Int?
    /// Until the network closes again, from 0, both directions.
    public var bytesRemaining: Int?

    public init(
        isCaptive: Bool, userPortal: WebAddress? = nil, venueInfo: WebAddress? = nil, canExtendSession: Bool? = nil,
        secondsRemaining: Int? = nil, bytesRemaining: Int? = nil
    ) {
        (self.isCaptive, self.canExtendSession) = (isCaptive, canExtendSession)
        (self.userPortal, self.venueInfo) = (userPortal, venueInfo)
        (self.secondsRemaining, self.bytesRemaining) = (secondsRemaining, bytesRemaining)
    }
}
