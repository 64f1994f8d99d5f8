/// When the spare interface joins the next network.
public enum StandbyChoice: String, Sendable, CaseIterable {
    /// Never: there might as well be no such interface.
    case off
    /// When the present one is about to be left.
    case whenWeak = "when-weak"
    case always
}
