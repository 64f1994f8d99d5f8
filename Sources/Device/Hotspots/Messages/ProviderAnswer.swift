import AgentModel

/// What a provider answers.
public enum ProviderAnswer: Sendable, Equatable {
    case hello
    /// The access points, of those that it was asked about, that it may serve.
    case serves([BSSID])
    case evaluated(Confidence)
    /// To `authenticate` and to `answer`.
    case signIn(SignInResult)
    case maintained(MaintainResult)
    case loggedOff
}

/// How sure a provider is that it can sign in to a network.
public enum Confidence: String, Sendable, CaseIterable, Comparable {
    case none, low, high

    public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

public enum SignInResult: Sendable, Equatable {
    /// The device is signed in.
    /// - Parameters:
    ///   - maintainIn: when to maintain it, in seconds; nil for the agent's own interval.
    ///   - session: what the provider wants to have again when it maintains and logs off.
    case success(maintainIn: Int?, session: Secret?)
    /// A person has to do something first. The provider then gets `answer`.
    case uiRequired(Dialogue)
    /// Not now.
    /// - Parameter retryAfter: in seconds.
    case temporaryFailure(retryAfter: Int?)
    /// Not at this network.
    case failure(reason: String)
}

public enum MaintainResult: Sendable, Equatable {
    /// - Parameter next: when to maintain it again, in seconds; nil for the agent's own interval.
    case success(next: Int?)
    /// The device is signed in no longer.
    case authenticationRequired
}
