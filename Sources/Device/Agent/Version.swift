/// The agent's version, as `altnet --version` and the app protocol tell it.
public enum Version {
    public static let current = "0.1.0"
}
