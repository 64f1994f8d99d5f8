import AgentModel

/// How long providers may take, and how often they are tried.
public struct HotspotSettings: Sendable, Equatable {
    /// Time limits of the single commands, the start of the provider's process included.
    public var filterLimit: Duration = .seconds(1)
    public var evaluateLimit: Duration = .seconds(5)
    public var authenticateLimit: Duration = .seconds(60)
    public var maintainLimit: Duration = .seconds(30)
    public var logoffLimit: Duration = .seconds(5)
    /// How long a person may take to answer.
    public var personLimit: Duration = .seconds(600)
    /// How long the agent has to find out whether a provider that says so has signed in.
    public var confirmLimit: Duration = .seconds(15)
    /// How often a provider maintains a sign-in where it does not say.
    public var maintainInterval: Duration = .seconds(300)
    /// The waits after a round in which no provider signed in: doubled each time, from the first to the last.
    public var firstWait: Duration = .seconds(30)
    public var longestWait: Duration = .seconds(3600)
    /// Of how many networks the provider that signed in is remembered.
    public var rememberedNetworks = 16

    public init() {}
}
