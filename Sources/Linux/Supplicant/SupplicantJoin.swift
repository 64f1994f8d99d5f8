import AgentModel
import Linux

extension Supplicant {
    /// Joins a network, and returns once wpa_supplicant has accepted it. Within the join limit, exactly one event with
    /// this `attempt` follows: `connected` or `joinFailed`, perhaps before the return. No event follows if this method
    /// throws, or if a later `join`, `leave` or `stop` replaces the join.
    ///
    /// The old link ends with `disconnected` (locally generated) when wpa_supplicant has accepted the new network, even
    /// within one network. With `request.roam`, the link moves without that event. If roaming fails or the settings
    /// differ, the network is joined again.
    /// - Throws: `unavailable`, `unsupported`, `interfaceDown`, `superseded`, or the failure of a command.
    public func join(_ request: JoinRequest, attempt number: UInt64) async throws(SupplicantError) {
        supersede()
        let attempt = JoinAttempt(number: number, request)
        self.attempt = attempt
        try await sequences.pass { [self] () throws(SupplicantError) in
            do throws(SupplicantError) {
                try await beginJoin(attempt)
            } catch {
                endJoin(attempt)
                throw error
            }
        }
    }

    /// Ends the link or the running join, and removes all networks.
    public func leave() async throws(SupplicantError) {
        supersede()
        try await sequences.pass { [self] () throws(SupplicantError) in
            try await forgetNetworks(readyChannel())
        }
    }

    /// Enables the check of certificate dates on the current link, even if an earlier agent made the link. The server
    /// must authenticate again; for that, wpa_supplicant may end the link.
    /// - Returns: true if the link was made without the check.
    @discardableResult
    public func checkCertificateTimes() async throws(SupplicantError) -> Bool {
        var isNew = false
        try await sequences.pass { [self] () throws(SupplicantError) in
            let channel = try readyChannel()
            guard attempt == nil, let network = try await channel.status().networkID else { return }
            do throws(SupplicantError) {
                let value = try await channel.text(.variable("phase1", ofNetwork: network))
                guard value.contains(NetworkBlock.timesDoNotCount) else { return }
            } catch .refused {
                return  // The network has no such variable.
            }
            // The changed variable makes wpa_supplicant drop its keys and usually the link (wpa_sm_pmksa_free_cb). The
            // next join checks the dates. After REAUTHENTICATE, the change would interrupt the authentication.
            try await channel.ask(ControlCommand(network: network, NetworkBlock.timeCheck(true)))
            try await channel.ask(.authenticateAgain)
            isNew = true
        }
        return isNew
    }

    private func forgetNetworks(
        _ channel: ControlChannel, except kept: Int? = nil
    ) async throws(SupplicantError) {
        if let kept {
            try await channel.forgetNetworks(except: kept)
        } else {
            settled = nil
            try await channel.forgetNetworks()
        }
        for network in keyed.sorted() where network != kept { try await forgetKey(of: network, channel) }
    }

    /// Overwrites the blob of a private key, because wpa_supplicant has no command to remove it.
    private func forgetKey(of network: Int, _ channel: ControlChannel) async throws(SupplicantError) {
        guard keyed.remove(network) != nil else { return }
        let setting = NetworkBlock.Setting(name: NetworkBlock.privateKey, value: .blob(Secret([0])))
        guard let name = setting.blobName(ofNetwork: network) else { return }
        try await channel.askLeniently(ControlCommand(blob: name, Secret([0])))
    }

    func supersede() {
        if let attempt { endJoin(attempt) }
    }

    /// Ends the attempt. Reports the outcome if wpa_supplicant had accepted the attempt.
    func endJoin(_ attempt: JoinAttempt, _ outcome: SupplicantEvent? = nil) {
        let wasAccepted = attempt.isAccepted
        attempt.phase = .over
        if self.attempt === attempt { self.attempt = nil }
        if let outcome, wasAccepted { onEvent(outcome) }
    }

    /// Returns the usable key managements. Some firmware fails at SAE if the access point offers WPA2, too
    /// (raspberrypi/linux#7634). In this case, omits SAE unless the network has used it before.
    private func keyManagement(for request: JoinRequest) -> Set<String> {
        let isWanted = request.offer != .wpa2wpa3 || request.minimumSecurity.contains(.sae)
        return isSAEForFirmware && !isWanted ? keyManagement.subtracting(["SAE"]) : keyManagement
    }

    /// Tries the remaining ways to roam, then joins the network.
    private func beginJoin(_ attempt: JoinAttempt) async throws(SupplicantError) {
        guard self.attempt === attempt else { throw .superseded }
        _ = try readyChannel()
        let block = try NetworkBlock(
            attempt.request, keyManagement: keyManagement(for: attempt.request), ciphers: ciphers)
        while !attempt.ways.isEmpty {
            if try await roam(attempt, block, attempt.ways.removeFirst()) { return }
        }
        try await select(attempt, block)
    }

    /// Roams to another access point of the network.
    /// - Returns: true if wpa_supplicant has started.
    private func roam(
        _ attempt: JoinAttempt, _ block: NetworkBlock, _ way: JoinRequest.Roam
    ) async throws(SupplicantError) -> Bool {
        guard let target = attempt.request.bssid, let accessPoint = block.accessPoint,
            let settled, settled.block.covers(block), let link, link != target
        else { return false }
        let channel = try readyChannel()
        do throws(SupplicantError) {
            try await channel.askLeniently(ControlCommand("BSSID_IGNORE clear"))
            try await channel.ask(ControlCommand(network: settled.network, accessPoint))
            guard self.attempt === attempt else { throw .superseded }
            let command: ControlCommand =
                switch way {
                case .overTheAir: .roam(to: target)
                case .overTheDistributionSystem: .fastTransition(to: target)
                }
            try await channel.ask(command) { [self] _ in
                guard self.attempt === attempt else { return }
                attempt.isPromised = true
                let limit =
                    switch way {
                    case .overTheAir: timing.roamLimit
                    case .overTheDistributionSystem: timing.distributionLimit
                    }
                attempt.phase = .trying(
                    JoinProgress(network: settled.network, target: target), deadline: roamDeadline(attempt, way, limit))
                supervise()
            }
            return true
        } catch .refused {
            // wpa_supplicant has not seen the access point, or cannot roam from this link.
            return false
        }
    }

    private func roamDeadline(_ attempt: JoinAttempt, _ way: JoinRequest.Roam, _ limit: Duration) -> LoopTimer {
        LoopTimer(after: limit) { [weak self] in
            guard let self, case .trying(let progress, _) = attempt.phase else { return }
            if way == .overTheDistributionSystem, !progress.isSearching {
                // The answer has arrived; the link is moving.
                attempt.phase = .trying(progress, deadline: roamDeadline(attempt, .overTheAir, timing.roamLimit))
            } else {
                goOn(attempt)
            }
        }
    }

    /// Tries the next way after a failure.
    func goOn(_ attempt: JoinAttempt) {
        attempt.phase = .preparing
        Task {
            await sequences.pass { [self] in
                do throws(SupplicantError) {
                    try await beginJoin(attempt)
                } catch {
                    endJoin(attempt, .joinFailed(attempt: attempt.number, error.joinFailure, detail: "\(error)"))
                }
            }
        }
    }

    private func select(_ attempt: JoinAttempt, _ block: NetworkBlock) async throws(SupplicantError) {
        guard self.attempt === attempt else { throw .superseded }
        let channel = try readyChannel()
        let request = attempt.request
        // Clears access points that wpa_supplicant ignores after failures.
        try await channel.askLeniently(ControlCommand("BSSID_IGNORE clear"))
        // Stops a driver's search for another network first: otherwise, wpa_supplicant 2.10 ends the search but does
        // not start the new one.
        if request.isUnseen, joinsUnseen { try await forgetNetworks(channel) }
        let network = try await channel.addNetwork()
        do throws(SupplicantError) {
            try await choose(unseen: request.isUnseen, channel)
            if block.hasPrivateKey { keyed.insert(network) }
            for setting in block.settings {
                if case .blob(let content) = setting.value, let name = setting.blobName(ofNetwork: network) {
                    try await channel.ask(ControlCommand(blob: name, content))
                }
                try await channel.ask(ControlCommand(network: network, setting))
            }
            // The answer to STATUS has a unique form, so this command also detects duplicate answers.
            if try await channel.status().state == .interfaceDisabled { throw .interfaceDown }
            guard self.attempt === attempt else { throw .superseded }
            try await channel.ask(.selectNetwork(network)) { [self] _ in accepted(attempt, network, block) }
        } catch {
            try? await channel.askLeniently(.removeNetwork(network))
            try? await forgetKey(of: network, channel)
            throw error
        }
    }

    /// Sets whether the driver searches for the network (`AP_SCAN 2`), or wpa_supplicant scans before the join
    /// (`AP_SCAN 1`, its default).
    private func choose(unseen isUnseen: Bool, _ channel: ControlChannel) async throws(SupplicantError) {
        guard isUnseen != joinsUnseen else { return }
        joinsUnseen = isUnseen
        do throws(SupplicantError) {
            try await channel.ask(ControlCommand("AP_SCAN \(isUnseen ? 2 : 1)"))
        } catch {
            joinsUnseen = !isUnseen
            throw error
        }
    }

    private func accepted(_ attempt: JoinAttempt, _ network: Int, _ block: NetworkBlock) {
        guard self.attempt === attempt else { return }
        (attempt.isPromised, attempt.isJoining) = (true, true)
        settled = (network, block)
        if link != nil { handle(.disconnected(reason: 0, locallyGenerated: true), "") }
        let deadline = LoopTimer(after: timing.joinLimit) { [weak self] in self?.deadlinePassed(attempt) }
        attempt.phase = .trying(JoinProgress(network: network), deadline: deadline)
        supervise()
    }
}

extension Supplicant {
    func succeed(_ attempt: JoinAttempt, _ network: Int, _ bssid: BSSID) {
        link = bssid
        endJoin(attempt, .connected(attempt: attempt.number, bssid: bssid))
        Task {
            try? await sequences.pass { [self] () throws(SupplicantError) in
                // A later accepted join cleans up and must keep its network.
                guard self.attempt?.isAccepted != true, settled?.network == network else { return }
                let channel = try readyChannel()
                try await forgetNetworks(channel, except: network)
                // wpa_supplicant asks only access points that support it (hostap 2.10,
                // wpas_rrm_send_neighbor_rep_request).
                if link == bssid { try await channel.askLeniently(.neighbours) }
            }
        }
    }

    /// Stops wpa_supplicant before the failure is reported. The caller can then send the next command, and later lines
    /// may name the cause (`JoinProgress.refined`).
    func fail(_ attempt: JoinAttempt, _ network: Int, _ failure: JoinFailure, detail: String) {
        attempt.phase = .failing(failure, network: network, detail: detail)
        Task {
            try? await sequences.pass { [self] () throws(SupplicantError) in
                guard self.attempt === attempt else { return }
                try await forgetNetworks(readyChannel())
            }
            guard case .failing(let failure, _, let detail) = attempt.phase else { return }
            endJoin(attempt, .joinFailed(attempt: attempt.number, failure, detail: detail))
        }
    }

    private func deadlinePassed(_ attempt: JoinAttempt) {
        Task {
            let status = try? await readyChannel().status()
            guard case .trying(let progress, _) = attempt.phase else { return }
            if let status, let bssid = status.link, progress.isMade(network: status.networkID, bssid) {
                return succeed(attempt, progress.network, bssid)
            }
            let failure: JoinFailure =
                switch status?.state {
                case .interfaceDisabled: .interfaceDown
                case .scanning: .notFound
                default: .timeout
                }
            fail(attempt, progress.network, failure, detail: "no link in \(timing.joinLimit)")
        }
    }
}

/// A join from the call to its outcome.
@AgentLoop
final class JoinAttempt {
    let number: UInt64
    let request: JoinRequest
    /// Remaining ways to roam before the network is joined again.
    var ways: [JoinRequest.Roam]
    var phase = Phase.preparing
    /// True if wpa_supplicant has accepted the join or a roam, so that an event must follow.
    var isPromised = false
    /// True if the network is joined without roaming.
    var isJoining = false

    enum Phase {
        /// The network is being set up. Events still concern the old link.
        case preparing
        /// wpa_supplicant has accepted the selection. The timer ends the attempt.
        case trying(JoinProgress, deadline: LoopTimer)
        /// The attempt has failed. wpa_supplicant is stopped before the report.
        case failing(JoinFailure, network: Int, detail: String)
        case over
    }

    init(number: UInt64, _ request: JoinRequest) {
        (self.number, self.request) = (number, request)
        ways =
            switch request.roam {
            case .overTheAir: [.overTheAir]
            case .overTheDistributionSystem: [.overTheDistributionSystem, .overTheAir]
            case nil: []
            }
    }

    /// True if an event must follow.
    var isAccepted: Bool { if case .over = phase { false } else { isPromised } }
}

extension Supplicant {
    func handle(_ event: ControlEvent, _ line: Substring) {
        if case .transitionDisabled(let disabled) = event { return report(.transitionDisabled(disabled)) }
        if case .easyConnect(let line) = event {
            if let news = easyConnect.handle(line) { report(.easyConnect(news)) }
            return
        }
        switch attempt?.phase {
        case .trying(let progress, let deadline):
            if let attempt { advance(attempt, progress, deadline, event, line) }
        case .failing(let failure, let network, _):
            let refined = JoinProgress.refined(failure, by: event, network: network)
            guard refined != failure else { return }
            attempt?.phase = .failing(refined, network: network, detail: event.explanation ?? PrintableLine.of(line))
        case .preparing, .over, nil:
            handleUnbidden(event)
        }
    }

    /// Corrects the state from a status, because events may be lost.
    func reconcile(_ status: SupplicantStatus) {
        switch attempt?.phase {
        case .trying(let progress, _):
            guard let attempt, let bssid = status.link, progress.isMade(network: status.networkID, bssid) else {
                return
            }
            succeed(attempt, progress.network, bssid)
        case .preparing, .failing:
            break
        case .over, nil:
            switch (link, status.link) {
            case (nil, let bssid?): handleUnbidden(.connected(network: nil, bssid))
            // A rekeying link is still up.
            case (.some, nil) where status.state == .fourWayHandshake || status.state == .groupHandshake: break
            case (.some, nil): handleUnbidden(.disconnected(reason: 0, locallyGenerated: false))
            case (.some, let bssid?): link = bssid
            case (nil, nil): break
            }
        }
    }

    private func advance(
        _ attempt: JoinAttempt, _ progress: JoinProgress, _ deadline: LoopTimer,
        _ event: ControlEvent, _ line: Substring
    ) {
        var progress = progress
        let effect = progress.handle(event)
        attempt.phase = .trying(progress, deadline: deadline)
        switch effect {
        case .succeeded(let bssid): succeed(attempt, progress.network, bssid)
        case .failed where !attempt.isJoining: goOn(attempt)
        case .failed(let failure):
            let detail = event.explanation ?? PrintableLine.of(line)
            fail(attempt, progress.network, failure, detail: detail)
        case .askWhetherAuthenticating: askWhetherAuthenticating(attempt, progress)
        case nil: break
        }
    }

    private func askWhetherAuthenticating(_ attempt: JoinAttempt, _ progress: JoinProgress) {
        Task {
            guard let status = try? await readyChannel().status(), case .trying(progress, _) = attempt.phase
            else { return }
            switch status.state {
            case .scanning, .disconnected, .inactive:
                guard attempt.isJoining else { return goOn(attempt) }
                fail(attempt, progress.network, progress.silentFailure, detail: "the access point did not answer")
            default: break
            }
        }
    }

    /// Usual beacon interval. Access points announce the end of a link as a number of beacons.
    private static let usualBeaconInterval = Duration.microseconds(102_400)

    private func handleUnbidden(_ event: ControlEvent) {
        switch event {
        case .connected(_, let bssid):
            link = bssid
            report(.connected(attempt: nil, bssid: bssid))
        case .disconnected(let reason, let locallyGenerated):
            // A failed join ends with this line, too.
            guard link != nil else { return }
            link = nil
            report(.disconnected(reason: reason, locallyGenerated: locallyGenerated))
        case .disassociationImminent(let beacons):
            guard link != nil else { return }
            report(.disassociationImminent(within: Self.usualBeaconInterval * beacons))
        case .transitionRequested: if link != nil { report(.transitionRequested) }
        case .neighbour(let bssid, let frequency): if link != nil { report(.neighbour(bssid, frequency)) }
        case .certificateRefused:
            report(.certificateRefused(event.explanation ?? "the server's certificate is refused"))
        default:
            break
        }
    }
    /// Reports an event if `available` was reported. Otherwise, the status of the setup covers the event.
    private func report(_ event: SupplicantEvent) {
        if isAvailable { onEvent(event) }
    }
}
