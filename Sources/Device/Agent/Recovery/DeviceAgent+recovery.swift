import AgentCore
import AgentModel
import Glibc
import Linux
import Netlink
import Supplicant

// Carries out the steps against a fault of the radio.
extension DeviceAgent {
    /// Asks what the firmware has to answer, and tells whether it did.
    func checkRadio(of station: Station) {
        AgentLoop.begin { [weak self] in
            do throws(NetlinkError) {
                // Without a link there is nothing to ask about.
                guard try await station.radio.station() != nil else { return }
                self?.handle(.radioAnswered(station.id, true))
            } catch {
                self?.tellUnanswered(error, by: station)
            }
        }
    }

    /// Errors that say that the firmware does not answer; others are about the interface, or about the question.
    func tellUnanswered(_ error: NetlinkError, by station: Station) {
        guard error.isFirmwareSilent else { return }
        log.debug("\(error)")
        handle(.radioAnswered(station.id, false))
    }

    /// Ends the link, or what the driver takes for a join: some refuse scans until it is ended.
    func disconnect(_ station: Station) {
        Task {
            do throws(SupplicantError) { try await station.supplicant.leave() } catch { log.debug("\(error)") }
            // Where wpa_supplicant knows of no link the driver may still know one.
            do throws(NetlinkError) { try await station.radio.disconnect() } catch { log.debug("\(error)") }
        }
    }

    func recover(_ station: Station, _ step: RecoveryLadder.Step) {
        switch step {
        case .cycleInterface: cycleInterface(of: station)
        case .restartSupplicant:
            Task {
                do throws(SupplicantError) {
                    try await station.supplicant.restart()
                    handle(.recoveryEnded(step, problem: nil))
                } catch {
                    handle(.recoveryEnded(step, problem: "\(error)"))
                }
            }
        case .rebindDriver, .reboot:
            radioHelper.ask(step == .reboot ? .reboot : .rebind(station.interface)) { [weak self] problem in
                self?.handle(.recoveryEnded(step, problem: problem))
            }
        case .abort, .disconnect, .tellOwner: handle(.recoveryEnded(step, problem: nil))
        }
    }

    private func cycleInterface(of station: Station) {
        let step = RecoveryLadder.Step.cycleInterface
        Task {
            do {
                try await routes.setLink(station.interface, up: false)
            } catch {
                return handle(.recoveryEnded(step, problem: "\(error)"))
            }
            // brcmfmac takes half a second to bring its firmware down.
            interfacePause = LoopTimer(after: .seconds(1)) { [weak self] in
                guard let self else { return }
                interfacePause = nil
                Task {
                    do {
                        try await routes.setLink(station.interface, up: true)
                        handle(.recoveryEnded(step, problem: nil))
                    } catch {
                        handle(.recoveryEnded(step, problem: "\(error)"))
                    }
                }
            }
        }
    }

    /// Sets what a driver forgets when it begins anew.
    func restoreRadio(of station: Station) {
        Task { await station.supplicant.setCountry() }
        setPowerSave(of: station)
        noteRadio(of: station)
    }

    /// The interface is there: its abilities are read, which some decisions go by, and root's helper notes which device
    /// is behind it, for when it is not there any more.
    func noteRadio(of station: Station) {
        Task {
            _ = try? await station.radio.abilities()
            refreshSurroundings()
        }
        radioHelper.ask(.note(station.interface)) { [log] problem in
            if let problem { log.debug("the device behind an interface is not noted: \(problem)") }
        }
    }

    func rememberRecovery(_ memory: RecoveryLadder.Memory) {
        Task {
            do { try await recoveryStore.write(memory) } catch {
                log.warning("what was done about the radio is not remembered after a restart: \(error)")
            }
        }
    }

    /// Power save is set on an interface that has just come, for drivers switch it on by themselves, and in each network.
    func setPowerSave(of station: Station) {
        station.powerSave = nil
        let choice = settings.powerSave[station.ssid]
        guard let isOn = choice.isOn else { return }
        setPowerSave(isOn, of: station.radio)
        guard choice == .traffic else { return }
        station.powerSave = PowerSaveWatcher(of: station.radio) { [weak self, radio = station.radio] isOn in
            self?.setPowerSave(isOn, of: radio)
        }
    }

    /// A radio whose link only stands by sleeps between beacons, unless that is left to the driver.
    func standsBy(_ station: Station, _ isStandingBy: Bool) {
        guard isStandingBy, settings.powerSave[station.ssid] != .driver else { return setPowerSave(of: station) }
        station.powerSave = nil
        setPowerSave(true, of: station.radio)
    }

    /// The station is in this network now, or on its way there.
    func enter(_ ssid: SSID, with station: Station) {
        guard ssid != station.ssid else { return }
        let before = settings.powerSave[station.ssid]
        station.ssid = ssid
        if settings.powerSave[ssid] != before { setPowerSave(of: station) }
    }

    private func setPowerSave(_ isOn: Bool, of radio: WirelessRadio) {
        Task {
            do throws(NetlinkError) { try await radio.setPowerSave(isOn) } catch { log.debug("\(error)") }
        }
    }
}

extension NetlinkError {
    /// Whether the driver has waited for its firmware in vain, or the firmware has refused.
    var isFirmwareSilent: Bool {
        if case .timedOut = reason { return true }
        return errno == EIO || errno == ETIMEDOUT || errno == EBADE
    }
}
