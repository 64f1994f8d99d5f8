import AgentModel
import Failover

extension SimulatedDevice {
    var happenings: [Scenario.Happening] { world.happenings }

    var happeningMoment: Int64 {
        nextHappening < happenings.count
            ? passStart + happenings[nextHappening].at.milliseconds : passStart + world.passLength
    }

    mutating func performNext() {
        settle()
        guard nextHappening < happenings.count else {
            beginPass()
            return
        }
        let happening = happenings[nextHappening]
        nextHappening += 1
        account.recordHappening(happening, at: now)
        switch happening.change {
        // The world already contains these changes. The device notices their consequences.
        case .power, .signal, .full, .move, .interference: break
        case .internet(let name, _): listen(after: name)
        case .address(let name, let time): addressesGivenOut(by: name, after: time)
        case .password: checkKeys()
        case .newPassword(let ssid, let password): reportWhenAwake(.passwordGiven(ssid, password: password))
        case .command(let ssid, let confirmWithin, let confirmAfter):
            // A command is lost while the device sleeps or the agent starts.
            guard let target = world.scenario.networks.firstIndex(where: { $0.ssid == ssid }) else { break }
            report(.command(target, confirmWithin: confirmWithin, confirmAfter: confirmAfter))
        case .otherUplink(let uplink): uplinkChanged(to: uplink)
        case .suspend(let duration): suspend(for: duration)
        case .supplicantDies(let time): supplicantDies(backAfter: time)
        case .restart: restartAgent()
        }
    }

    /// Starts the scenario again. The device keeps its state.
    private mutating func beginPass() {
        passStart += world.passLength
        nextHappening = 0
        if isAsleep { resume() }
        report(.passBegan)
        uplinkChanged(to: nil)
        checkKeys()
    }

    private mutating func reportWhenAwake(_ report: DeviceReport) {
        if isAsleep { missed.append(report) } else { self.report(report) }
    }

    private mutating func addressesGivenOut(by name: String, after time: Duration?) {
        for index in stations.indices {
            guard let link = stations[index].link, !link.hasAddress,
                world.scenario.accessPoints[link.accessPoint].name == name
            else { continue }
            let moment = addressMoment(time)
            stations[index].link?.addressAt = moment
        }
    }

    /// Ends links to access points whose password has changed.
    private mutating func checkKeys() {
        for index in stations.indices {
            guard let link = stations[index].link, world.span(of: link.accessPoint, at: now).state.key != link.key
            else { continue }
            loseLink(of: index)
        }
    }

    private mutating func uplinkChanged(to uplink: Uplink?) {
        guard uplink != otherUplink else { return }
        otherUplink = uplink
        reportWhenAwake(.otherUplink(uplink))
    }

    // MARK: Sleep

    private mutating func suspend(for duration: Duration) {
        let end = now + max(0, duration.milliseconds)
        guard end > now else { return }
        wakeUp = isAsleep ? max(wakeUp, end) : end
        guard !isAsleep else { return }
        missed = [.resumed]
        if let scan { missed.append(.scanEnded(scan.number, isAborted: true)) }
        scan = nil
        for index in stations.indices {
            let station = stations[index]
            dropLink(of: index)
            if let join = station.join { missed.append(.joinFailed(index, attempt: join.order.attempt, .timeout)) }
            if station.link != nil { missed.append(.linkLost(index, .ownDoing)) }
            if station.lease != nil { missed.append(.addressRemoved(index)) }
            stations[index] = Station()
        }
        isAsleep = true
    }

    mutating func resume() {
        settle()
        isAsleep = false
        wakeUp = .max
        for report in missed { self.report(report) }
        missed = []
    }

    // MARK: Crashes and restarts

    private mutating func supplicantDies(backAfter time: Duration) {
        guard supplicant.isRunning else { return }
        supplicant.isRunning = false
        // All links end. The agent notices the end and the return of wpa_supplicant after 50 ms.
        for index in stations.indices {
            if stations[index].link != nil { supplicant.unlinked.insert(index) }
            giveUpJoin(of: index)
            dropLink(of: index)
        }
        supplicant.noticed = now + 50
        supplicant.back = now + max(0, time.milliseconds) + 50
    }

    mutating func noticeDeathOfSupplicant() {
        supplicant.noticed = .max
        report(.supplicant(isAvailable: false, unlinked: supplicant.unlinked))
    }

    mutating func supplicantReturns() {
        supplicant = SupplicantProcess()
        report(.supplicant(isAvailable: true, unlinked: []))
    }

    /// Time to restart the agent, in milliseconds.
    private static let agentStartTime: Int64 = 500

    private mutating func restartAgent() {
        guard isAgentUp else { return }
        report(.stopped)
        killAgent(backAfter: Self.agentStartTime)
    }

    /// Ends the agent as a crash does, without its last actions.
    mutating func killAgent(backAfter time: Int64) {
        guard isAgentUp else { return }
        forgetOrders()
        isAgentUp = false
        agentStart = now + time
    }

    mutating func forgetOrders() {
        let wasScanning = !isRadioFree
        scan = nil
        watch = nil
        confirmAt = .max
        for index in stations.indices {
            giveUpJoin(of: index)
            stations[index].probe = nil
        }
        if wasScanning { scanIsOver() }
    }

    mutating func startAgent() {
        isAgentUp = true
        agentStart = .max
        report(.started)
    }
}
