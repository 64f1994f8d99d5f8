/// Condition under which the spare interface joins the next network.
public enum StandbyChoice: String, Sendable, CaseIterable {
    case off
    case whenWeak = "when-weak"
    case always
}
