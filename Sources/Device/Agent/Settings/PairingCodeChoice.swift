/// Code that a user gets to pair an app.
public enum PairingCodeChoice: String, Sendable, CaseIterable {
    /// The owner's key, valid without limit.
    case owner
    /// An invitation, for one app with a key of its own.
    case invitation
}
