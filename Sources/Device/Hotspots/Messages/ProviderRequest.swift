import AgentModel

/// What the agent asks of a provider.
public struct ProviderRequest: Sendable, Equatable {
    /// The answer carries it back.
    public let id: String
    public let content: Content

    public init(id: String, content: Content) {
        self.id = id
        self.content = content
    }

    public enum Content: Sendable, Equatable {
        /// Comes first in every conversation: whether this is a provider that speaks the protocol at all.
        case hello
        /// Which of these networks it may serve, without any use of a network.
        case filterScanList([ScannedHotspot])
        /// Whether it can sign in to this network, which the device has joined.
        case evaluate(CaptiveNetwork)
        case authenticate(CaptiveNetwork)
        /// What a person filled in, by the fields' names, after `uiRequired` in the same conversation.
        case answer([String: Secret])
        /// Whether the device is still signed in, and what else keeps it so. With what the provider kept at its sign-in.
        case maintain(CaptiveNetwork, session: Secret?)
        case logoff(CaptiveNetwork, session: Secret?)
    }

    /// The names under which requests travel.
    public enum Kind: String, Sendable, CaseIterable {
        case hello, filterScanList, evaluate, authenticate, answer, maintain, logoff
    }

    public var kind: Kind { content.kind }
}

extension ProviderRequest.Content {
    public var kind: ProviderRequest.Kind {
        switch self {
        case .hello: .hello
        case .filterScanList: .filterScanList
        case .evaluate: .evaluate
        case .authenticate: .authenticate
        case .answer: .answer
        case .maintain: .maintain
        case .logoff: .logoff
        }
    }
}
