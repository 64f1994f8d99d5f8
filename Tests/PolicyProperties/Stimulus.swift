import AgentModel
import Failover

/// Something that happens to the policy, told without the numbers that the policy gives: so a history still means
/// something when a part of it is left out.
package enum Stimulus: Hashable, Sendable {
    case settings(SettingsVariant)
    /// Networks of the neighbourhood, and which of them is preferred.
    case networks([Int], preferred: Int?, generation: Int = 0)
    case remembered(Int, Frequency)
    case interface(Bool)
    case supplicant(Bool)
    case spare(Bool)
    case otherUplink(Uplink?)
    /// The access point that the device is on already.
    case linkFound(Int)
    case interrupted(target: Int, cameFrom: Int?)
    case scanned(Answer, [Observation])
    case scanFailed(Answer)
    case scanRefused(Answer, joinsUnseen: Bool)
    case associated(Answer, accessPoint: Int)
    case joinFailed(Answer, JoinFailure)
    case linkLost(LinkEnd)
    case successorLost(Answer)
    case address(Bool)
    case successorAddress(Answer, Bool)
    case signal(Int)
    case probed(Answer, ProbeResult)
    case doubted(Answer)
    /// For so many ms from now on.
    case signingIn(Answer, Int)
    /// The same.
    case postponed(Answer, Int)
    case switchTo(Int, confirmWithin: Int?, joinOnce: Bool = false)
    case confirmed(Answer)
    case resumed
    case tick
    case stop

    /// To which order something is an answer.
    package enum Answer: Hashable, Sendable, CaseIterable {
        case latest
        case previous
        case future
        /// Another program's scan.
        case anotherProgram
    }

    package struct Observation: Hashable, Sendable {
        package var accessPoint: Int
        package var signal: Int
        /// In ms; negative if the radio's clock is ahead.
        package var age = 0
        package var isEvilTwin = false
    }
}

/// One moment of a history.
package struct Step: Hashable, Sendable {
    /// How much later than the step before, in ms. The clock may go back.
    package var delay: Int
    /// Whether the policy is told the time whenever it asked for it until then.
    package var isPunctual = true
    /// Events of one moment.
    package var stimuli: [Stimulus]
}

/// The numbers that the policy gave to what it ordered last.
struct Orders {
    private var scan: UInt64 = 0
    /// The numbers of the last join, and of the last probe or join.
    private var joined: UInt64 = 0
    private var probed: UInt64 = 0
    private var lastSwitch: UInt64 = 0
    private var generation = 0

    mutating func record(_ actions: [PolicyAction]) {
        for action in actions {
            switch action {
            case .scan(let order): scan = order.id
            case .join(let target), .joinBeside(let target): (joined, probed) = (target.epoch, target.epoch)
            case .probe(let epoch, _): probed = epoch
            default: break
            }
        }
    }

    mutating func event(_ stimulus: Stimulus, at now: Instant) -> PolicyEvent {
        switch stimulus {
        case .settings(let variant): return .settings(variant.settings)
        case .networks(let indices, let preferred, let generation):
            self.generation = generation
            return .networks(
                indices.map { Neighbourhood.network($0, isPreferred: $0 == preferred, generation: generation) })
        case .remembered(let index, let frequency): return .remembered(id(index), frequency)
        case .interface(let isUp): return .interface(isUp: isUp)
        case .supplicant(let isAvailable): return .supplicant(isAvailable: isAvailable)
        case .spare(let isReady): return .spare(isReady: isReady)
        case .otherUplink(let uplink): return .otherUplink(uplink)
        case .linkFound(let index):
            return .linkFound(
                id(Neighbourhood.networkIndex(ofAccessPoint: index)), Neighbourhood.accessPoint(index))
        case .interrupted(let target, let cameFrom):
            lastSwitch += 1
            return .interrupted(id: lastSwitch, target: id(target), cameFrom: cameFrom.map(id))
        case .scanned(let answer, let observations):
            let results = observations.map {
                Neighbourhood.observation(
                    of: $0.accessPoint, signal: $0.signal, lastSeen: now - .milliseconds($0.age),
                    isEvilTwin: $0.isEvilTwin)
            }
            return .scanned(id: answer == .anotherProgram ? nil : answer.number(scan), results)
        case .scanFailed(let answer): return .scanFailed(id: answer.number(scan))
        case .scanRefused(let answer, let joinsUnseen):
            return .scanRefused(id: answer.number(scan), joinsUnseen: joinsUnseen)
        case .associated(let answer, let index):
            return .associated(epoch: answer.number(joined), Neighbourhood.accessPoint(index))
        case .joinFailed(let answer, let failure): return .joinFailed(epoch: answer.number(joined), failure)
        case .linkLost(let end): return .linkLost(end)
        case .successorLost(let answer): return .successorLost(epoch: answer.number(joined))
        case .address(let isReady): return .address(isReady: isReady)
        case .successorAddress(let answer, let isReady):
            return .successorAddress(epoch: answer.number(joined), isReady: isReady)
        case .signal(let signal): return .signal(signal)
        case .probed(let answer, let result): return .probed(epoch: answer.number(probed), result)
        case .doubted(let answer): return .doubted(epoch: answer.number(probed))
        case .signingIn(let answer, let milliseconds):
            return .signingIn(epoch: answer.number(probed), until: now + .milliseconds(milliseconds))
        case .postponed(let answer, let milliseconds):
            return .postponed(epoch: answer.number(probed), until: now + .milliseconds(milliseconds))
        case .switchTo(let index, let confirmWithin, let joinOnce):
            lastSwitch += 1
            return .switchTo(
                id(index), id: lastSwitch, confirmWithin: confirmWithin.map { .seconds($0) }, joinOnce: joinOnce)
        case .confirmed(let answer): return .confirmed(id: answer.number(lastSwitch))
        case .resumed: return .resumed
        case .tick: return .tick
        case .stop: return .stop
        }
    }

    private func id(_ index: Int) -> NetworkID {
        NetworkID(index + generation * Neighbourhood.networkCount)
    }
}

extension Stimulus.Answer {
    fileprivate func number(_ latest: UInt64) -> UInt64 {
        switch self {
        case .latest, .anotherProgram: latest
        case .previous: latest == 0 ? 0 : latest - 1
        case .future: latest + 1
        }
    }
}
