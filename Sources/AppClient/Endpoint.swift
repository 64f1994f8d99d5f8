/// Where a device answers.
public enum Endpoint: Sendable, Hashable {
    /// The agent on this machine.
    case unixSocket(path: String)
}

extension Endpoint: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unixSocket(let path): path
        }
    }
}
