import AgentModel
import Linux

// How wpa_supplicant's death is noticed, fastest first: the kernel tells that its process ended (any death, at once); its
// socket file goes or is replaced (an orderly exit, a restart); a command finds nobody at the socket; a command is not
// answered in time (it hangs). The supervision asks for no reason now and then, for the last two.

extension Supplicant {
    func connect() {
        guard isStarted, channel == nil else { return }
        retry = nil
        let handlers = ControlChannel.Handlers(
            onEvent: { [weak self] event, line in self?.handle(event, line) },
            onPeer: { [weak self] process in self?.follow(process) },
            onEnd: { [weak self] in self?.channelEnded() })
        do throws(SupplicantError) {
            let channel = try ControlChannel(
                path: controlSocket, replyDirectory: replyDirectory, requestLimit: timing.requestLimit,
                handlers: handlers)
            self.channel = channel
            Task { await greet(channel) }
        } catch {
            unreachable()
        }
    }

    func disconnect() {
        channel?.close()
        channel = nil
        isGreeted = false
        supervision = nil
        process?.watch.close()
        process = nil
    }

    func socketFileChanged() {
        if channel == nil {
            failures = 0
            connect()
        } else {
            examine()
        }
    }

    /// Has wpa_supplicant send its events and leave all decisions to us, and learns what it can and what it does.
    private func greet(_ channel: ControlChannel) async {
        do throws(SupplicantError) {
            try await channel.ask(.attach)
            try await channel.ask(ControlCommand("STA_AUTOCONNECT 0"))
            // Both ways to derive SAE's password element (IEEE 802.11-2020, 12.4.4): some access points know only one.
            try await channel.askLeniently(ControlCommand("SET sae_pwe 2"))
            // Without a value: whatever its configuration file says, it scans only to join.
            try await channel.askLeniently(ControlCommand("AUTOSCAN "))
            if let country { try await channel.askLeniently(ControlCommand("SET country \(country)")) }
            let keyManagement = try await channel.words(.keyManagement)
            let ciphers = try await channel.words(.ciphers)
            try await channel.ask(.status) { [self] answer in adopt(answer) }
            if !isAvailable, link == nil { try await channel.forgetNetworks() }
            guard self.channel === channel else { return }
            (self.keyManagement, self.ciphers) = (keyManagement, ciphers)
            isGreeted = true
            failures = 0
            supervise()
            becomeAvailable()
        } catch .refused {
            if self.channel === channel { unreachable() }
        } catch {
            // The channel ended by itself, and says so.
        }
    }

    /// The channel ended by itself: a time-out, an answer that made no sense, or nobody is there any more.
    private func channelEnded() {
        guard let channel, !channel.isOpen else { return }
        guard isGreeted else { return unreachable() }
        // wpa_supplicant opens a new socket of its own accord when a client's queue was full. Nothing else is lost then.
        self.channel = nil
        isGreeted = false
        supervision = nil
        connect()
    }

    /// Nobody answers: try again later.
    private func unreachable() {
        disconnect()
        becomeUnavailable()
        guard isStarted else { return }
        let wait = timing.retry.wait(after: failures)
        failures += 1
        retry = LoopTimer(after: wait, leeway: wait / 10) { [weak self] in self?.connect() }
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

    /// Learns which process answers, and hears from then on when it ends.
    private func follow(_ id: Int32) {
        guard id != process?.id else { return }
        // A new process knows nothing of what the old one was told, even if nobody saw that one go.
        if let process {
            process.watch.close()
            becomeUnavailable()
        }
        process = ProcessWatch(process: id) { [weak self] in self?.processEnded() }.map { (id, $0) }
    }

    private func processEnded() {
        failures = 0
        unreachable()
    }

    func supervise() {
        let interval = process == nil || attempt != nil ? timing.closeSupervision : timing.supervision
        supervision = LoopTimer(every: interval) { [weak self] in self?.examine() }
    }

    /// Sees whether wpa_supplicant is still there and where its events said it was.
    private func examine() {
        guard let channel, isGreeted else { return }
        AgentLoop.begin { [self] in
            _ = try? await channel.ask(.status) { [self] answer in adopt(answer) }
            guard self.channel === channel, isGreeted else { return }
            supervise()
        }
    }
}
