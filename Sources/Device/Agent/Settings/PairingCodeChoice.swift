/// The code that a user is shown who pairs an app with this device.
public enum PairingCodeChoice: String, Sendable, CaseIterable {
    /// The owner's key, which opens the device for good.
    case owner
    /// An invitation, which gives one app a key of its own.
    case invitation
}
