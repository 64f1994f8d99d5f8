import AgentModel

/// How long providers may take, and how often they are tried.
public struct HotspotSettings: Sendable, Equatable {
    /// Time limits of the single commands, the start of the provider's process included.
    public var filterLimit: Duration = .seconds(1)
    public var evaluateLimit: Duration = .seconds(5)
    public var authenticateLimit: Duration = .seconds(60)
    public var maintainLimit: Duration = .seconds(30)
    /// The device moves on no later than this.
    public var logoffLimit: Duration = .seconds(2)
    /// How much longer than a limit the agent is asked to wait: who comes next when it is over has to be heard of before.
    public var handover: Duration = .seconds(2)
    /// How many providers are asked at a time.
    public var parallel = 4
    /// How long a person may take to answer, and how often one may be asked in one attempt to sign in.
    public var personLimit: Duration = .seconds(600)
    public var dialogues = 5
    /// How long the agent has to find out whether a provider that says so has signed in.
    public var confirmLimit: Duration = .seconds(15)
    /// How often a sign-in is maintained where the provider does not say, and the shortest that it may say.
    public var maintainInterval: Duration = .seconds(300)
    public var shortestMaintainInterval: Duration = .seconds(10)
    /// The waits after a round in which no provider signed in: doubled each time, from the first to the last. A sign-in
    /// that lasts less long than the first counts as none.
    public var waits = BackOff(first: .seconds(30), last: .seconds(3600))
    /// Of how many networks the provider that signed in is remembered.
    public var rememberedNetworks = 16

    public init() {}
}
