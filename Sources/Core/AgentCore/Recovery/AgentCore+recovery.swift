import AgentModel
import AppProtocol
import Failover

struct RadioRecovery: Sendable {
    var steps: RecoverySteps
    var firmware = FirmwareWatch()
    var joins = FailedJoins()
    /// Whether the interface has been present since the start of the agent.
    var wasPresent = false
    var isMuteReported = false
    /// Time of the next review; nil if none is due.
    var wake: Instant?
    /// Time of the next firmware check; nil if none is due.
    var check: Instant?
}

/// Successive failed joins to near access points, which suggest a faulty radio.
struct FailedJoins: Sendable {
    private var count = 0
    private var since: Instant?

    mutating func failed(at now: Instant) {
        since = since ?? now
        count = min(count, .max - 1) + 1
    }

    mutating func succeeded() { self = FailedJoins() }

    func isRun(at now: Instant) -> Bool { count >= Self.run && since.map { now - $0 >= Self.time } ?? false }

    private static let run = 6
    private static let time = Duration.seconds(120)
}

extension AgentCore {
    // MARK: Firmware

    mutating func radioAnswered(_ station: StationID, _ isAnswer: Bool) {
        guard station == inUse else { return }
        if isAnswer {
            recovery.firmware.succeeded()
            if recovery.isMuteReported { log(.notice, "the firmware of \(inUse) answers again") }
            recovery.isMuteReported = false
        } else {
            recovery.firmware.failed(at: now.instant)
            if recovery.firmware.isMute, !recovery.isMuteReported {
                recovery.isMuteReported = true
                let data = isOnline ? ": traffic flows, but the radio can neither scan nor roam" : ""
                log(.error, "the firmware of \(inUse) does not answer commands\(data)")
            }
            if !recovery.firmware.isMute {
                recovery.check = now.instant + FirmwareWatch.retry
                wait(.radioCheck, until: recovery.check)
            }
        }
        reviewRecovery()
    }

    mutating func radioCheckDue() {
        recovery.check = nil
        guard isCheckWorthwhile else { return }
        emit(.checkRadio(inUse))
        scheduleCheck()
    }

    /// True for FullMAC firmware with a link or a fault. Normal use tests other radios.
    private var isCheckWorthwhile: Bool {
        guard let station = kernel.stations[inUse], station.joinsByItself, station.isPresent, station.isUp else {
            return false
        }
        return policy.phase.accessPoint != nil || recovery.firmware.isMute
    }

    /// Schedules the next check, aligned to multiples of the interval, to share wake-ups.
    private mutating func scheduleCheck() {
        guard isCheckWorthwhile, recovery.check == nil else { return }
        let interval = FirmwareWatch.interval.milliseconds
        let moment = now.instant + .milliseconds(interval - now.instant.milliseconds % interval)
        recovery.check = moment
        wait(.radioCheck, until: moment, leeway: .milliseconds(200))
    }

    // MARK: Recovery steps

    private var isOnline: Bool { if case .online = policy.phase { true } else { false } }

    private var fault: RecoverySteps.Fault? {
        guard let station = kernel.stations[inUse], station.isSupported, station.block == nil else { return nil }
        let wasThere = recovery.wasPresent || recovery.steps.state.needsPowerCycle
        guard station.isPresent else { return wasThere ? .missing : nil }
        if recovery.firmware.isMute { return .mute }
        if recovery.joins.isRun(at: now.instant) { return .joinsFail }
        if policy.refusedScans.count >= Self.refusals { return .scansRefused }
        return policy.noInternetSince == nil ? nil : .carriesNothing
    }

    private static let refusals = 3

    mutating func reviewRecovery() {
        if kernel.stations[inUse]?.isPresent == true { recovery.wasPresent = true }
        scheduleCheck()
        let fault = fault
        // Hold while the policy can still try something else, or a command runs.
        let isOnHold = fault == .carriesNothing && !policy.isStranded(at: now.instant)
        for output in recovery.steps.review(fault, isOnline: isOnline, isOnHold: isOnHold, at: now.instant) {
            switch output {
            case .perform(let step, let fault): perform(step, against: fault)
            case .cured(let fault, let time, let steps): cured(fault, after: time, steps: steps)
            }
        }
        guard recovery.steps.nextWake != recovery.wake else { return }
        recovery.wake = recovery.steps.nextWake
        wait(.recovery, until: recovery.wake, leeway: .milliseconds(500))
    }

    private mutating func perform(_ step: RecoverySteps.Step, against fault: RecoverySteps.Fault) {
        if step.isToBeRemembered { emit(.rememberRecovery(recovery.steps.state)) }
        let text = "the \(fault.part) of \(inUse): \(fault.words); \(advice(on: step, against: fault))"
        log(step == .tellOwner ? .error : .warning, text)
        remember(fault, text)
        switch step {
        case .abort:
            scans.isAborting = scans.isScanning
            emit(.abortScan([inUse]))
            stepEnded(step)
        case .disconnect:
            emit(.disconnect(inUse))
            if let epoch = policy.phase.epoch {
                sendToPolicy(isOnline ? .linkLost(.ownDoing) : .joinFailed(epoch: epoch, .interrupted))
            }
            stepEnded(step)
        case .reassociate:
            leave(inUse)
            sendToPolicy(.linkLost(.ownDoing))
            stepEnded(step)
        case .renewAddress, .cycleInterface, .restartSupplicant, .rebindDriver, .reboot: emit(.recover(inUse, step))
        case .tellOwner: stepEnded(step)
        }
    }

    private func advice(on step: RecoverySteps.Step, against fault: RecoverySteps.Fault) -> String {
        guard step == .tellOwner else { return step.words }
        if fault == .carriesNothing { return "\(step.words): restart the router, and check its internet access" }
        return recovery.steps.state.needsPowerCycle
            ? "rebinding its driver did not help: power the device off and on"
            : "\(step.words): restart the device, and power it off and on if that does not help"
    }

    /// Handles the end of a step and restores settings that the driver has lost.
    mutating func stepEnded(_ step: RecoverySteps.Step, problem: String? = nil) {
        if let problem { log(.warning, "\(step.words) failed: \(problem)") }
        recovery.steps.ended(step, at: now.instant)
        switch step {
        case .cycleInterface, .restartSupplicant, .rebindDriver:
            emit(.restoreRadio(inUse))
            if let signal { emit(.watchSignal(inUse, signal.watch)) }
        case .abort, .disconnect, .renewAddress, .reassociate, .tellOwner, .reboot: break
        }
        recovery.wake = recovery.steps.nextWake
        wait(.recovery, until: recovery.wake, leeway: .milliseconds(500))
    }

    private mutating func cured(_ fault: RecoverySteps.Fault, after time: Duration, steps: Int) {
        guard steps > 0 else { return }
        let text =
            "the \(fault.part) of \(inUse) works again after \(time.components.seconds) s, the fault was: \(fault.words)"
        log(.notice, text)
        remember(fault, text)
        recovery.joins.succeeded()
        emit(.rememberRecovery(recovery.steps.state))
    }

    private mutating func remember(_ fault: RecoverySteps.Fault, _ text: String) {
        let entry = lastPublished.history.append(
            kind: Decision.Kind(rawValue: "recovery"), reason: ReasonCode(rawValue: fault.rawValue), text: text, at: now
        )
        emit(.publish(.decision(entry)))
    }

    /// Counts a failed join to a near access point, which a working radio can join.
    mutating func recordFailedJoin(_ attempt: UInt64, _ failure: JoinFailure) {
        guard [.timeout, .linkLost].contains(failure), !policy.isUnseen(attempt), policy.isNear(attempt) else { return }
        recovery.joins.failed(at: now.instant)
    }

    /// Last step for a link that carries nothing, in words; nil without that fault and before the first step.
    package var linkFault: String? {
        guard let (fault, _, step) = recovery.steps.fault, let step, fault == .carriesNothing else { return nil }
        return "\(fault.words); \(step.words)"
    }

    /// Fault in words, and whether a power cycle is needed; nil without a fault and before the first step.
    package var radioFault: (text: String, needsPowerCycle: Bool)? {
        guard let (fault, _, step) = recovery.steps.fault, let step, fault != .carriesNothing else { return nil }
        return ("the radio of \(inUse): \(fault.words); \(step.words)", recovery.steps.state.needsPowerCycle)
    }

    /// Fault and current step for the status; nil without a fault of the radio.
    var radioStatus: RadioStatus? {
        if case .blocked(let block)? = troubles.lastReported {
            return RadioStatus(block, since: troubles.since ?? now.time)
        }
        guard let (fault, since, step) = recovery.steps.fault, fault != .carriesNothing else { return nil }
        let start = Timestamp(
            millisecondsSince1970: now.time.millisecondsSince1970 - (now.instant - since).milliseconds)
        return RadioStatus(
            fault: fault.rawValue, since: start, step: step?.rawValue,
            needsPowerCycle: recovery.steps.state.needsPowerCycle)
    }
}
