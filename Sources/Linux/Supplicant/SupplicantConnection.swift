import AgentModel
import Linux

// Availability of wpa_supplicant. Regular status checks find losses that `ControlConnection` cannot detect.

extension Supplicant {
    func connect() {
        connection.start { [weak self] event in
            guard let self else { return }
            switch event {
            case .opened(let channel):
                supervision = nil
                Task { await greet(channel) }
            case .received(let event, let line): handle(event, line)
            case .otherProcess:
                keyed = []
                becomeUnavailable()
            case .fileChanged: examine()
            case .lost:
                supervision = nil
                becomeUnavailable()
            }
        }
    }

    /// Sets up a new channel: requests events, disables automatic decisions, and reads capabilities and state.
    private func greet(_ channel: ControlChannel) async {
        do throws(SupplicantError) {
            try await channel.ask(.attach)
            try await channel.ask(ControlCommand("STA_AUTOCONNECT 0"))
            // Enables both ways to derive SAE's password element (IEEE 802.11-2020, 12.4.4), because some access points
            // support only one.
            try await channel.askLeniently(ControlCommand("SET sae_pwe 2"))
            // Resets the mode that an earlier agent may have set.
            try await channel.askLeniently(ControlCommand("AP_SCAN 1"))
            joinsUnseen = false
            // The empty value disables automatic scans of the configuration file.
            try await channel.askLeniently(ControlCommand("AUTOSCAN "))
            if let country { try await channel.askLeniently(ControlCommand("SET country \(country)")) }
            var keyManagement = try await channel.words(.keyManagement)
            // hostap 2.10 lists SAE for firmware only as an authentication method.
            var isSAEForFirmware = false
            if !keyManagement.contains("SAE") {
                isSAEForFirmware = try await channel.words(.authentication).contains("SAE")
            }
            if isSAEForFirmware { keyManagement.insert("SAE") }
            let ciphers = try await channel.words(.ciphers)
            try await channel.ask(.status) { [self] answer in adopt(answer) }
            if !isAvailable, link == nil { try await channel.forgetNetworks() }
            guard connection.channel === channel else { return }
            (self.keyManagement, self.isSAEForFirmware) = (keyManagement, isSAEForFirmware)
            self.ciphers = ciphers
            connection.settle()
            supervise()
            becomeAvailable()
        } catch .refused {
            if connection.channel === channel { connection.giveUp() }
        } catch {
            // The `onEnd` of the channel handles this end.
        }
    }

    /// Fails a running join because the interface is gone. Replaces the connection if a command is unanswered, because
    /// wpa_supplicant may hang in the kernel.
    public func interfaceRemoved() {
        link = nil
        if let attempt {
            endJoin(attempt, .joinFailed(attempt: attempt.number, .interfaceDown, detail: "the interface is gone"))
        }
        guard let channel = connection.channel, connection.isSettled, channel.isAsking else { return }
        connection.renew()
    }

    /// Applies a status, in its order among the events.
    private func adopt(_ answer: ControlAnswer) {
        guard case .text(let text) = answer else { return }
        let status = SupplicantStatus(text)
        if isAvailable {
            reconcile(status)
        } else {
            link = status.link
        }
    }

    private func becomeAvailable() {
        guard !isAvailable else { return }
        isAvailable = true
        onEvent(.available)
    }

    private func becomeUnavailable() {
        link = nil
        if let attempt {
            let detail = "the connection to wpa_supplicant was lost"
            endJoin(attempt, .joinFailed(attempt: attempt.number, .supplicantUnavailable, detail: detail))
        }
        guard isAvailable else { return }
        isAvailable = false
        onEvent(.unavailable)
    }

    func supervise() {
        let interval = !connection.isWatchingProcess || attempt != nil ? timing.closeSupervision : timing.supervision
        supervision = LoopTimer(every: interval) { [weak self] in self?.examine() }
    }

    /// Checks if wpa_supplicant answers and if events were lost.
    private func examine() {
        guard let channel = connection.channel, connection.isSettled else { return }
        AgentLoop.begin { [self] in
            _ = try? await channel.ask(.status) { [self] answer in adopt(answer) }
            guard connection.channel === channel, connection.isSettled else { return }
            supervise()
        }
    }
}
