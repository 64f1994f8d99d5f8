/// What carries the default route.
public enum Uplink: String, Sendable, CaseIterable {
    case wifi
    case wired
    case cellular
    /// Anything else: a tunnel, a bridge.
    case other
}
