import AgentCore
import AgentModel
import Glibc
import Linux
import Netlink
import Supplicant

// Performs the recovery steps for the radio.
extension DeviceAgent {
    /// Sends a request that the firmware must answer, and reports the result.
    func checkRadio(of station: Station) {
        AgentLoop.begin { [weak self] in
            do throws(NetlinkError) {
                // Without a link the firmware is not asked, so the result proves nothing.
                guard try await station.radio.station() != nil else { return }
                self?.handle(.radioAnswered(station.id, true))
            } catch {
                self?.reportUnanswered(error, by: station)
            }
        }
    }

    /// Reports an error that means that the firmware is silent. Other errors concern the interface or the request.
    func reportUnanswered(_ error: NetlinkError, by station: Station) {
        guard error.isFirmwareSilent else { return }
        log.debug("\(error)")
        handle(.radioAnswered(station.id, false))
    }

    /// Ends the link or the driver's join. Some drivers refuse scans until then.
    func disconnect(_ station: Station) {
        Task {
            do throws(SupplicantError) { try await station.supplicant.leave() } catch { log.debug("\(error)") }
            // The driver may have a link that wpa_supplicant does not know.
            do throws(NetlinkError) { try await station.radio.disconnect() } catch { log.debug("\(error)") }
        }
    }

    func recover(_ station: Station, _ step: RecoverySteps.Step) {
        switch step {
        case .renewAddress:
            station.addresses?.confirm(isDoubted: true)
            handle(.recoveryEnded(step, problem: nil))
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
        case .abort, .disconnect, .reassociate, .tellOwner: handle(.recoveryEnded(step, problem: nil))
        }
    }

    private func cycleInterface(of station: Station) {
        let step = RecoverySteps.Step.cycleInterface
        Task {
            do {
                try await routes.setLink(station.interface, up: false)
            } catch {
                return handle(.recoveryEnded(step, problem: "\(error)"))
            }
            // brcmfmac takes half a second to stop its firmware.
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

    /// Restores settings that a driver loses when it restarts.
    func restoreRadio(of station: Station) {
        Task { await station.supplicant.setCountry() }
        setPowerSave(of: station)
        recordRadio(of: station)
    }

    /// Reads the radio's abilities. Makes root's helper record the device behind the interface, so that the helper can
    /// rebind its driver even if the interface is gone.
    func recordRadio(of station: Station) {
        Task { _ = try? await station.radio.abilities() }
        radioHelper.ask(.remember(station.interface)) { [log] problem in
            if let problem { log.debug("cannot record the device of the interface: \(problem)") }
        }
    }

    func rememberRecovery(_ memory: RecoverySteps.PersistentState) {
        Task {
            do { try await recoveryStore.write(memory) } catch {
                log.warning("cannot store the steps of the radio's recovery: \(error)")
            }
        }
    }

    /// Sets power save for the current network. Drivers enable it on a new interface.
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

    /// Enables power save on a standby link, unless the driver decides.
    func standsBy(_ station: Station, _ isStandingBy: Bool) {
        guard isStandingBy, settings.powerSave[station.ssid] != .driver else { return setPowerSave(of: station) }
        station.powerSave = nil
        setPowerSave(true, of: station.radio)
    }

    /// Records the station's network and updates power save.
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
    /// True if the firmware did not answer the driver, or refused the request.
    var isFirmwareSilent: Bool {
        if case .timedOut = reason { return true }
        return errno == EIO || errno == ETIMEDOUT || errno == EBADE
    }
}
