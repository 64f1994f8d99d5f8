import AgentModel
import Failover

// Events around the device.
extension World {
    package mutating func perform(_ turn: Turn) throws(Violation) {
        try run(until: now + .milliseconds(turn.delay))
        switch turn.change {
        case .power(let index, let isOn): change(index) { $0.isOn = isOn }
        case .level(let index, let level): change(index) { $0.level = level }
        case .fault(let index, let fault): change(index) { $0.fault = fault }
        case .address(let index, let isGiven):
            change(index) { $0.givesAddress = isGiven }
            try addressChanged(at: index)
        case .internet(let network, let result):
            for index in accessPoints.indices where Neighbourhood.networkIndex(ofAccessPoint: index) == network {
                change(index) { $0.internet = result }
                // If there is a target, its silence is noticed before the next probe.
                guard result == .failed, let link, link.accessPoint == index, noise(salt: 10) > 0 else { continue }
                answers.append(Answer(at: now + .seconds(6), order: .silence(epoch: link.epoch)))
            }
        case .interfaceDown(let isStuck):
            isInterfaceStuck = isStuck
            try setInterfaceDown()
        case .interfaceUp:
            isInterfaceStuck = false
            try bringInterfaceUp()
        case .supplicant(let isRunning):
            guard isRunning != isSupplicantRunning else { break }
            isSupplicantRunning = isRunning
            try send([.supplicant(isAvailable: isRunning)])
        case .uplink(let uplink):
            self.uplink = uplink
            try send([.otherUplink(uplink)])
        case .networks(let indices, let preferred):
            networks = indices.map { Neighbourhood.network($0, isPreferred: $0 == preferred) }
            try send([.networks(networks)])
        case .command(let index, let confirmWithin, let isConfirmed):
            try command(index, confirmWithin: confirmWithin, isConfirmed: isConfirmed)
        case .restart: try restart()
        case .suspend(let seconds): try suspend(for: .seconds(seconds))
        case .clockBack(let milliseconds):
            // The policy's time stands still until the clock has made up for it.
            try send([.tick])
            _ = try watched.handle([.tick], at: now - .milliseconds(milliseconds))
        case .nothing: break
        }
        liveness.update(self)
    }

    private mutating func change(_ index: Int, _ body: (inout Site) -> Void) {
        body(&accessPoints[index])
        guard !accessPoints[index].isAlive else { return }
        for link in [link, beside].compactMap(\.self) where link.accessPoint == index {
            answers.append(Answer(at: now + .seconds(1), order: .linkBroken(epoch: link.epoch)))
        }
    }

    private mutating func addressChanged(at index: Int) throws(Violation) {
        guard var link, link.accessPoint == index else { return }
        if accessPoints[index].givesAddress {
            answers.append(Answer(at: now + .seconds(1), order: .address(epoch: link.epoch)))
        } else if link.hasAddress {
            link.hasAddress = false
            self.link = link
            try send([.address(isReady: false)])
        }
    }

    private mutating func setInterfaceDown() throws(Violation) {
        guard isInterfaceUp else { return }
        isInterfaceUp = false
        let hadLink = link != nil
        link = nil
        watch = nil
        nextSample = nil
        try send((hadLink ? [.linkLost(.ownDoing)] : []) + [.interface(isUp: false)])
    }

    private mutating func command(_ index: Int, confirmWithin: Int?, isConfirmed: Bool) throws(Violation) {
        switches += 1
        let target = NetworkID(index)
        if openSwitch == nil {
            openSwitch = Switch(
                id: switches, target: target, cameFrom: watched.policy.phase.network, isConfirmed: isConfirmed)
        }
        liveness.disturbed(at: now)
        try send([.switchTo(target, id: switches, confirmWithin: confirmWithin.map { .seconds($0) })])
    }

    /// The agent ends without a word, and starts anew.
    private mutating func restart() throws(Violation) {
        liveness.disturbed(at: now)
        answers.removeAll { answer in
            switch answer.order {
            case .interfaceUp, .linkBroken: false
            case .scan, .join, .joinBeside, .address, .probe, .silence, .signIn, .confirmation: true
            }
        }
        watched = WatchedPolicy(settings: settings, at: now)
        beside = nil
        watch = nil
        nextSample = nil
        var events: [PolicyEvent] = [.networks(networks)]
        if let uplink { events.append(.otherUplink(uplink)) }
        if let openSwitch {
            events.append(.interrupted(id: openSwitch.id, target: openSwitch.target, cameFrom: openSwitch.cameFrom))
        }
        events += [.interface(isUp: isInterfaceUp), .supplicant(isAvailable: isSupplicantRunning)]
        if traits.hasSpare { events.append(.spare(isReady: true)) }
        let network = link.map { NetworkID(Neighbourhood.networkIndex(ofAccessPoint: $0.accessPoint)) }
        if let link, let network, networks.contains(where: { $0.id == network }) {
            events.append(.linkFound(network, Neighbourhood.accessPoint(link.accessPoint)))
            if link.hasAddress { events.append(.address(isReady: true)) }
        }
        try send(events)
        if let link, accessPoints[link.accessPoint].givesAddress, !link.hasAddress {
            answers.append(Answer(at: now + .seconds(1), order: .address(epoch: link.epoch)))
        }
    }

    /// The machine sleeps: no answer and no tick until it wakes up.
    private mutating func suspend(for duration: Duration) throws(Violation) {
        now = now + duration
        answers = answers.map { Answer(at: max($0.at, now), order: $0.order) }
        liveness.disturbed(at: now)
        try send([.resumed])
    }
}
