import AgentModel

/// Why the setting of the targets cannot be used. Told as a sentence that says what to do.
public enum TargetError: Error, Equatable, Sendable {
    /// Not `NAME=[SCHEME://]HOST:PORT`.
    case malformed(String)
    case badName(String)
    case duplicateName(String)
    case badScheme(String)
    case badHost(String)
    case badPort(String)
    case tooMany(Int)
}

extension TargetError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed(let text):
            "the target \(shown(text)) is not NAME=HOST:PORT, such as broker=mqtts://mqtt.example.com:8883"
        case .badName(let text):
            "the name \(shown(text)) of a target must be 1 to \(Target.longestName) letters, digits, - and _"
        case .duplicateName(let text):
            "two targets have the name \(shown(text)): give one of them another"
        case .badScheme(let text):
            "\(shown(text)) is not known: a target is one of \(Scheme.allCases.map(\.rawValue).joined(separator: ", "))"
        case .badHost(let text):
            "\(shown(text)) is neither a host name nor an address; an IPv6 address goes in brackets, a name that is not"
                + " ASCII in its xn-- form"
        case .badPort(let text):
            "\(shown(text)) is not a port: it must be 1 to 65535"
        case .tooMany(let count):
            "\(count) targets are too many: \(Target.largestCount) are possible"
        }
    }

    /// What the user wrote, fit for one line of a terminal.
    private func shown(_ text: String) -> String { "'" + String(text.prefix(64)).printable + "'" }
}
