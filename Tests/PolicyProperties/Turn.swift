import AgentModel
import Failover

/// One turn that the world around the device takes.
package struct Turn: Hashable, Sendable {
    /// How much later than the turn before, in ms.
    package var delay: Int
    package var change: Change

    package enum Change: Hashable, Sendable {
        /// An access point gets or loses its power.
        case power(Int, isOn: Bool)
        /// The mean of an access point's signal at the device, in dBm.
        case level(Int, Int)
        /// The result of joining an access point; nil if it works.
        case fault(Int, JoinFailure?)
        case address(Int, isGiven: Bool)
        /// The reach of a network, through any of its access points.
        case internet(Int, ProbeResult)
        /// Another program takes the interface down, for good or until it is asked for.
        case interfaceDown(isStuck: Bool)
        case interfaceUp
        case supplicant(isRunning: Bool)
        case uplink(Uplink?)
        case networks([Int], preferred: Int?)
        /// A command, and whether the app confirms it where that is wanted.
        case command(Int, confirmWithin: Int?, isConfirmed: Bool)
        case restart
        /// In s.
        case suspend(Int)
        /// The clock goes back, in ms.
        case clockBack(Int)
        /// Nothing changes.
        case nothing
    }
}

extension Turn {
    /// Simpler forms, the simplest first.
    var simpler: [Turn] {
        var simpler: [Turn] = []
        for delay in [0, 1000, 60_000, delay / 2, delay / 1000 * 1000] where delay < self.delay {
            simpler.append(Turn(delay: delay, change: change))
        }
        return simpler + change.simpler.map { Turn(delay: delay, change: $0) }
    }
}

extension Turn.Change {
    fileprivate var simpler: [Self] {
        switch self {
        case .nothing: []
        case .level(let index, let level) where level != -50 && level != -90:
            [.nothing, .level(index, -50), .level(index, -90)]
        case .command(let index, .some, _): [.nothing, .command(index, confirmWithin: nil, isConfirmed: false)]
        case .networks(let indices, let preferred?):
            [.networks(indices, preferred: nil)]
                + indices.indices.map { left in
                    var fewer = indices
                    fewer.remove(at: left)
                    return .networks(fewer, preferred: preferred)
                }
        case .networks(let indices, nil):
            indices.indices.map { left in
                var fewer = indices
                fewer.remove(at: left)
                return .networks(fewer, preferred: nil)
            }
        case .suspend(let seconds) where seconds > 60: [.nothing, .suspend(60), .suspend(seconds / 2)]
        default: [.nothing]
        }
    }
}
