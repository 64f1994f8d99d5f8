import AgentModel
import Linux

// wpa_supplicant's coming and going. What `ControlConnection` cannot notice, the supervision does, which asks for no reason now and
// then.

extension Supplicant {
    func connect() {
        connection.start { [weak self] event in
            guard let self else { return }
            switch event {
            case .opened(let channel):
                supervision = nil
                Task { await greet(channel) }
            case .told(let event, let line): handle(event, line)
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

    /// Has wpa_supplicant send its events and leave all decisions to us, and learns what it can and what it does.
    private func greet(_ channel: ControlChannel) async {
        do throws(SupplicantError) {
            try await channel.ask(.attach)
            try await channel.ask(ControlCommand("STA_AUTOCONNECT 0"))
            // Both ways to derive SAE's password element (IEEE 802.11-2020, 12.4.4): some access points know only one.
            try await channel.askLeniently(ControlCommand("SET sae_pwe 2"))
            // Whatever an agent before this one has said last.
            try await channel.askLeniently(ControlCommand("AP_SCAN 1"))
            joinsUnseen = false
            // Without a value: whatever its configuration file says, it scans only to join.
            try await channel.askLeniently(ControlCommand("AUTOSCAN "))
            if let country { try await channel.askLeniently(ControlCommand("SET country \(country)")) }
            var keyManagement = try await channel.words(.keyManagement)
            // Where wpa_supplicant does it for firmware, SAE is in the list of authentications alone (hostap 2.10).
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
            // The channel ended by itself, and says so.
        }
    }

    /// The interface is gone: a join under way is over, and what wpa_supplicant was asked is not waited for, as it may be
    /// held up in the kernel. The connection to it is made anew.
    public func interfaceRemoved() {
        link = nil
        if let attempt {
            end(attempt, .joinFailed(attempt: attempt.number, .interfaceDown, detail: "the interface is gone"))
        }
        guard let channel = connection.channel, connection.isSettled, channel.isAsking else { return }
        connection.renew()
    }

    /// Takes in a status at its place between the events.
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
            let detail = "wpa_supplicant went away"
            end(attempt, .joinFailed(attempt: attempt.number, .supplicantUnavailable, detail: detail))
        }
        guard isAvailable else { return }
        isAvailable = false
        onEvent(.unavailable)
    }

    func supervise() {
        let interval = !connection.isWatchingProcess || attempt != nil ? timing.closeSupervision : timing.supervision
        supervision = LoopTimer(every: interval) { [weak self] in self?.examine() }
    }

    /// Sees whether wpa_supplicant is still there and where its events said it was.
    private func examine() {
        guard let channel = connection.channel, connection.isSettled else { return }
        AgentLoop.begin { [self] in
            _ = try? await channel.ask(.status) { [self] answer in adopt(answer) }
            guard connection.channel === channel, connection.isSettled else { return }
            supervise()
        }
    }
}
