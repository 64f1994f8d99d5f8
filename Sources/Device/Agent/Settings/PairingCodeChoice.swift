/// Code that a user gets to pair an app.
public enum PairingCodeChoice: String, Sendable, CaseIterable {
    /// The owner's key, which never expires.
    case owner
    /// An invitation for one app, which gets its own key.
    case invitation
}
