import AgentModel

/// What an access point does at a moment, apart from its signal.
public struct AccessPointState: Sendable, Hashable {
    public internal(set) var isOn: Bool
    public internal(set) var internet: Scenario.AccessPoint.Internet
    /// From the association until there is an address; nil where none is given out.
    public internal(set) var addressTime: Duration?
    public internal(set) var isFull: Bool
    /// Whether it lets the device in with what the device knows of its network at that moment.
    public internal(set) var admission: Admission
    /// Stands for its password: where it changes, every link ends.
    var key: Key
    /// Whether a link may exist: the device was told this password at some time in the pass.
    var hasToldKey: Bool

    /// Passwords are told apart, and nothing else is done with them.
    typealias Key = Int

    public enum Admission: Sendable, Hashable {
        case admitted
        case wrongPassword
        /// The device knows no network by this name with such a security.
        case notKnown
    }
}
