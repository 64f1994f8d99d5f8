import AgentModel
import AppProtocol

/// Why a conversation with a provider came to nothing.
public enum ProviderFault: Error, Sendable, Equatable {
    /// There is no host at the socket: the error number.
    case noHost(errno: Int32)
    /// The provider ended, or was ended, before it answered.
    case ended
    case timedOut
    /// What came is no answer: what is wrong with it.
    case garbage(String)
    /// The agent died while it read what this provider said.
    case leftAlone
    /// It answered with an error; so does the host where there is no such provider.
    case refused(ProtocolError)
}

extension ProviderFault: CustomStringConvertible {
    /// Printable, whatever the provider wrote.
    public var description: String {
        switch self {
        case .noHost(let errno): "nobody runs providers (error \(errno))"
        case .ended: "it ended before it answered"
        case .timedOut: "it did not answer in time"
        case .garbage(let complaint): "its answer is none: \(complaint.shortened)"
        case .leftAlone: "it is left alone, for the agent ended while it was being read"
        case .refused(let error): "it refused: \(error.message.shortened) [\(error.code.rawValue)]"
        }
    }
}

extension String {
    /// The beginning, printable, and in bytes no longer than a title may be.
    var shortened: String {
        var result = ""
        var length = 0
        for scalar in unicodeScalars {
            let next = String(scalar).printable
            length += next.utf8.count
            guard length <= ProviderLimits.titleLength else { break }
            result += next
        }
        return result
    }
}
