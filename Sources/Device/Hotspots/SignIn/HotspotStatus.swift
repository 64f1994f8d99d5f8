import AgentModel
import AppProtocol

/// How the sign-in stands.
public struct HotspotStatus: Sendable, Equatable {
    /// For `connectivity`: its state, its provider, and where a person signs in.
    public var portal = Portal()
    /// What a person is asked now: to be sent as `portal.request` whenever it becomes another one that is not nil.
    public var request: PortalRequest?
    /// Until when the agent should wait and stay at the network, because somebody is signing in; nil where nobody is.
    public var signingInUntil: Instant?
    /// Whether a network that is found to be captive now has somebody sign in. False where a person is asked or did not want
    /// to, after the device has logged off, and in the wait after nobody could.
    public var isTryingWhereCaptive = true
    /// When it is tried again, after nobody could sign in.
    public var retryAt: Instant?
    /// What went wrong last, with the provider's name, printable and without secrets.
    public var problem: String?

    public init() {}
}

/// Why a person's answer is not passed on.
public enum PortalAnswerRefusal: Error, Sendable, Equatable {
    /// Nothing is asked, or something else by now.
    case notAsked
    /// No field is called this.
    case unknownField(String)
    /// A field that is required has no value.
    case missingField(String)
    /// The value is longer than ``ProviderLimits/valueLength``, is no text, or is neither true nor false for a checkbox.
    case invalidValue(String)
}
