import AgentModel
import Failover

/// Whatever decides in a simulation: altnet's policy, or a model of somebody else's.
public protocol LinkPolicy {
    mutating func handle(_ event: PolicyEvent, at now: Instant) -> [PolicyAction]
    /// When it wants to be sent `.tick`, at the latest.
    var nextWake: Instant? { get }
}

extension FailoverPolicy: LinkPolicy {}
