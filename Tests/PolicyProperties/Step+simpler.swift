extension HostileHistory {
    package static func joined(_ first: Step, _ second: Step) -> Step {
        Step(delay: first.delay + second.delay, isPunctual: second.isPunctual, stimuli: second.stimuli)
    }

    package static func simpler(_ step: Step) -> [Step] {
        var simpler: [Step] = []
        for index in step.stimuli.indices where step.stimuli.count > 1 {
            var shorter = step
            shorter.stimuli.remove(at: index)
            simpler.append(shorter)
        }
        for delay in [0, 1, step.delay / 2, step.delay / 1000 * 1000] where abs(delay) < abs(step.delay) {
            var sooner = step
            sooner.delay = delay
            simpler.append(sooner)
        }
        if !step.isPunctual {
            var punctual = step
            punctual.isPunctual = true
            simpler.append(punctual)
        }
        for index in step.stimuli.indices {
            for stimulus in step.stimuli[index].simpler {
                var plainer = step
                plainer.stimuli[index] = stimulus
                simpler.append(plainer)
            }
        }
        return simpler
    }
}

extension Stimulus {
    fileprivate var simpler: [Stimulus] {
        switch self {
        case .networks(let indices, let preferred, let generation):
            var simpler = indices.indices.map { left in
                var fewer = indices
                fewer.remove(at: left)
                return Stimulus.networks(fewer, preferred: preferred, generation: generation)
            }
            if preferred != nil { simpler.append(.networks(indices, preferred: nil, generation: generation)) }
            return simpler
        case .scanned(let answer, let observations):
            return observations.indices.flatMap { index -> [Stimulus] in
                var fewer = observations
                fewer.remove(at: index)
                var plainer = observations
                plainer[index] = Observation(
                    accessPoint: observations[index].accessPoint, signal: observations[index].signal)
                let isPlain = plainer == observations
                return [.scanned(answer, fewer)] + (isPlain ? [] : [.scanned(answer, plainer)])
            }
        case .switchTo(let index, .some, let joinOnce):
            return [.switchTo(index, confirmWithin: nil, joinOnce: joinOnce)]
        case .switchTo(let index, nil, joinOnce: true): return [.switchTo(index, confirmWithin: nil)]
        case .interrupted(let target, .some): return [.interrupted(target: target, cameFrom: nil)]
        case .settings(.hasty), .settings(.patient): return [.settings(.usual)]
        case .linkLost(.ownDoing), .linkLost(.silence): return [.linkLost(.other)]
        default: return []
        }
    }
}
