import AgentModel
import KeyFile
import MQTTBridge

/// A version of the devices' program.
package struct Release: Sendable, Codable, Equatable {
    package let version: String
    /// Whether the version fails on some devices (``UpgradeScenario``).
    package let isBad: Bool

    package init(_ version: String, isBad: Bool = false) { (self.version, self.isBad) = (version, isBad) }
}

/// Events on one device during an upgrade.
struct UpgradeScenario: Equatable {
    enum Fault { case crashes, staysOffline }

    /// Fault of a bad release on this device. An eighth of the devices has each fault.
    let fault: Fault?
    /// Whether the device loses its power during its first trial of a version: one device in 20.
    let losesPower: Bool

    init(of number: Int) {
        fault =
            switch RotationScenario.part(of: number, salt: 3, 8) {
            case 0: .crashes
            case 1: .staysOffline
            default: nil
            }
        losesPower = RotationScenario.part(of: number, salt: 4, 20) == 0
    }
}

/// A device's updater, such as RAUC or Mender: it starts a version on trial, checks that the device comes online, and
/// confirms the version or starts the confirmed one again.
package struct Updater {
    var confirmed: Release
    /// Version to start next; the confirmed one, except for a trial.
    var next: Release
    /// Time limit of the current trial; nil without a trial.
    var trialEnd: Instant?
    var hasLostPower = false
    var starts: UInt64 = 0

    /// Time from the stop of a version to the start of the next one: goodbye and reboot.
    package static let reboot = Duration.seconds(12)
    /// Time limit of the health check, as of `altnet wait-online`.
    package static let health = Duration.seconds(60)
    static let checkInterval = Duration.seconds(1)
}

/// Results of upgrades, as numbers of trials.
package struct UpgradeOutcome: Sendable, Codable, Equatable {
    package var confirmed = 0
    package var undone = 0
    package var powerCuts = 0
    /// Starts of a version on the key file that another version has left.
    package var handovers = 0
    /// Handovers after which the state differed.
    package var changedStates = 0

    package init() {}

    package static func + (left: UpgradeOutcome, right: UpgradeOutcome) -> UpgradeOutcome {
        var sum = left
        sum.confirmed += right.confirmed
        sum.undone += right.undone
        sum.powerCuts += right.powerCuts
        sum.handovers += right.handovers
        sum.changedStates += right.changedStates
        return sum
    }
}

extension Fleet {
    /// Has the updaters of each `every`th device install a release, at random times within `spread`. Devices that run
    /// it already do nothing.
    package func upgrade(to release: Release, every: Int, within spread: Duration) {
        if updaters.isEmpty {
            updaters = slots.map { slot in
                let release = Release(slot.device.version)
                return Updater(confirmed: release, next: release)
            }
        }
        for number in slots.indices where (settings.first + number) % every == 0 {
            guard updaters[number].confirmed != release, updaters[number].next == updaters[number].confirmed else {
                continue
            }
            updaters[number].next = release
            let wait = RotationScenario.part(
                of: settings.first + number, salt: 5, max(1, spread.milliseconds))
            plan(.stop, number, in: .milliseconds(wait))
        }
    }

    func stopProgram(_ number: Int) {
        perform(slots[number].device.stopBridge(at: now, transport.time), number)
        plan(.boot, number, in: Updater.reboot)
    }

    /// Starts the next version on the key file that the previous one has left.
    func boot(_ number: Int) {
        var left = slots[number].device.state
        if !slots[number].isDark { left = slots[number].device.stop(at: now, transport.time) }
        darken(number)
        updaters[number].starts += 1
        let release = updaters[number].next
        guard let state = try? reopened(left, of: number),
            let device = try? device(number, state, runs: updaters[number].starts, version: release.version)
        else {
            upgradeOutcome.changedStates += 1
            return
        }
        upgradeOutcome.handovers += 1
        if state != left.normalised() { upgradeOutcome.changedStates += 1 }
        slots[number].device = device
        let isTrial = release != updaters[number].confirmed
        let fault = release.isBad ? UpgradeScenario(of: settings.first + number).fault : nil
        if isTrial {
            updaters[number].trialEnd = now + Updater.health
            plan(.check, number, in: Updater.checkInterval)
            slots[number].device.storeCell(of: release.version)
        }
        guard fault != .crashes else { return }
        slots[number].isDark = false
        var effects: [Bridge.Effect] = []
        if fault == .staysOffline {
            for name in settings.scenario.accessPoints.map(\.name) { effects += changed(number, "\(name) off") }
        }
        perform(effects + slots[number].device.start(at: now, transport.time), number)
    }

    /// Returns the state that a program reads from the key file that another one has written.
    private func reopened(_ state: StoredState, of number: Int) throws -> StoredState {
        let folder = "\(settings.keyFiles)/\(settings.first + number)"
        func open() throws -> KeyFile {
            try KeyFile.open(
                path: folder + "/store/keyfile", maximumBackups: KeyFile.allowedMaximum.upperBound,
                rootKey: RootKeyFile(path: folder + "/key/root-key"))
        }
        do { try open().commit(state) }
        return try open().state
    }

    func checkTrial(_ number: Int) {
        guard let end = updaters[number].trialEnd else { return }
        let losesPower = UpgradeScenario(of: settings.first + number).losesPower
        if losesPower, !updaters[number].hasLostPower {
            updaters[number].hasLostPower = true
            upgradeOutcome.powerCuts += 1
            darken(number)
            undo(number)
        } else if !slots[number].isDark, slots[number].device.isOnline {
            updaters[number].trialEnd = nil
            updaters[number].confirmed = updaters[number].next
            upgradeOutcome.confirmed += 1
        } else if end <= now {
            undo(number)
        } else {
            plan(.check, number, in: Updater.checkInterval)
        }
    }

    /// Starts the confirmed version again.
    private func undo(_ number: Int) {
        updaters[number].trialEnd = nil
        updaters[number].next = updaters[number].confirmed
        upgradeOutcome.undone += 1
        plan(slots[number].isDark ? .boot : .stop, number, in: slots[number].isDark ? Updater.reboot : .zero)
    }
}
