import AgentModel
import Failover

// What happens to the device.
extension SimulatedDevice {
    var happeningMoment: Int64 {
        nextHappening < happenings.count
            ? passStart + happenings[nextHappening].at.milliseconds : passStart + world.passLength
    }

    mutating func happen() {
        settle()
        guard nextHappening < happenings.count else {
            beginPass()
            return
        }
        let happening = happenings[nextHappening]
        nextHappening += 1
        account.note(happening, at: now)
        switch happening.change {
        // The world knows, and the device will find out.
        case .power, .signal, .full, .move, .interference: break
        case .internet(let name, _): listen(after: name)
        case .address(let name, let time): addressesGivenOut(by: name, after: time)
        case .password: checkKey()
        case .newPassword(let ssid, let password):
            if book.tell(password, of: ssid) { publishNetworks() }
        case .command(let ssid, let confirmWithin, let confirmAfter):
            take(ssid, confirmWithin: confirmWithin, confirmAfter: confirmAfter)
        case .otherUplink(let uplink): uplinkChanged(to: uplink)
        case .suspend(let duration): suspend(for: duration)
        case .supplicantDies(let time): supplicantDies(backAfter: time)
        case .restart: restartAgent()
        }
    }

    /// Everything is again as it was at the scenario's beginning; only the device is where it got to.
    private mutating func beginPass() {
        passStart += world.passLength
        nextHappening = 0
        if isAsleep { resume() }
        if book.reset(to: world.scenario.networks) { publishNetworks() }
        uplinkChanged(to: nil)
        checkKey()
    }

    private mutating func addressesGivenOut(by name: String, after time: Duration?) {
        guard let link, !link.hasAddress, world.scenario.accessPoints[link.accessPoint].name == name else { return }
        let moment = addressMoment(time)
        self.link?.addressAt = moment
    }

    /// An access point that demands another password has thrown all devices out.
    private mutating func checkKey() {
        guard let link, world.span(of: link.accessPoint, at: now).state.key != link.key else { return }
        loseLink()
    }

    mutating func publishNetworks() {
        if isAsleep { missed.append(.networks(book.known)) } else { tell(.networks(book.known)) }
    }

    private mutating func uplinkChanged(to uplink: Uplink?) {
        guard uplink != otherUplink else { return }
        otherUplink = uplink
        if isAsleep { missed.append(.otherUplink(uplink)) } else { tell(.otherUplink(uplink)) }
    }

    // MARK: Commands

    private mutating func take(_ ssid: SSID, confirmWithin: Duration?, confirmAfter: Duration?) {
        // Nothing takes it while the device sleeps or the agent starts.
        guard isAgentAwake, let target = book.index(of: ssid) else { return }
        lastCommand += 1
        command = OpenCommand(
            id: lastCommand, target: target, cameFrom: link?.network, confirmAfter: confirmAfter)
        tell(.switchTo(book[target].id, id: lastCommand, confirmWithin: confirmWithin))
    }

    mutating func switchProgressed(_ id: UInt64, _ progress: SwitchProgress) {
        switch progress {
        case .accepted, .joining, .waitingForAddress, .validating: break
        case .waitingForConfirmation:
            guard let command, command.id == id, let after = command.confirmAfter else { return }
            confirmation = Confirmation(at: now + max(0, after.milliseconds), id: id)
        case .committed: account.result.committed += 1
        case .rolledBack: account.result.rolledBack += 1
        case .failed: account.result.failed += 1
        }
        guard progress.isFinal, command?.id == id else { return }
        command = nil
        confirmation = nil
    }

    /// A committed command makes its target the network that the device belongs in.
    mutating func store(switchEnded id: UInt64, isCommitted: Bool) {
        guard isCommitted, let command, command.id == id, book.prefer(command.target) else { return }
        publishNetworks()
    }

    // MARK: Sleep

    private mutating func suspend(for duration: Duration) {
        let end = now + max(0, duration.milliseconds)
        guard end > now else { return }
        wakeUp = isAsleep ? max(wakeUp, end) : end
        guard !isAsleep else { return }
        let hadLink = link != nil
        dropLink()
        missed = [.resumed]
        missed += [scan?.order, deferredScan].compactMap(\.self).map { .scanFailed(id: $0.id) }
        scan = nil
        deferredScan = nil
        if let join { missed.append(.joinFailed(epoch: join.target.epoch, .timeout)) }
        join = nil
        if hadLink { missed.append(.linkLost(.ownDoing)) }
        probe = nil
        isAsleep = true
    }

    mutating func resume() {
        settle()
        isAsleep = false
        wakeUp = .max
        for event in missed { tell(event) }
        missed = []
    }

    // MARK: Parts that die

    private mutating func supplicantDies(backAfter time: Duration) {
        guard supplicant.isRunning else { return }
        supplicant.isRunning = false
        supplicant.hadLink = link != nil
        // It takes the link with it. The agent notices its end and its return within 50 ms.
        dropLink()
        join = nil
        supplicant.noticed = now + 50
        supplicant.back = now + max(0, time.milliseconds) + 50
    }

    mutating func noticeDeathOfSupplicant() {
        supplicant.noticed = .max
        tell(.supplicant(isAvailable: false))
        if supplicant.hadLink { tell(.linkLost(.ownDoing)) }
    }

    mutating func supplicantReturns() {
        supplicant = SupplicantProcess()
        tell(.supplicant(isAvailable: true))
    }

    /// What it takes until the new agent is there.
    private static let agentStartTime: Int64 = 500

    private mutating func restartAgent() {
        guard isAgentUp else { return }
        scan = nil
        deferredScan = nil
        join = nil
        watch = nil
        probe = nil
        confirmation = nil
        reports.append(.restart)
        isAgentUp = false
        agentStart = now + Self.agentStartTime
    }

    /// Tells a new policy what there is, in the agent's order.
    mutating func startAgent() {
        isAgentUp = true
        agentStart = .max
        tell(.networks(book.known))
        for (id, frequency) in book.remembered { tell(.remembered(id, frequency)) }
        for (id, bssid) in book.proven { tell(.proven(id, bssid)) }
        if let command {
            tell(
                .interrupted(
                    id: command.id, target: book[command.target].id, cameFrom: command.cameFrom.map { book[$0].id }))
        }
        tell(.interface(isUp: true))
        if otherUplink != nil { tell(.otherUplink(otherUplink)) }
        guard supplicant.isRunning else { return }
        if let link {
            let track = world.tracks[link.accessPoint]
            tell(
                .linkFound(
                    book[link.network].id, AccessPoint(bssid: track.bssid, frequency: track.frequency)))
            tell(.address(isReady: link.hasAddress))
        }
        tell(.supplicant(isAvailable: true))
    }
}
