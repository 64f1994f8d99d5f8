import AgentModel
import Linux

extension Supplicant {
    /// Has wpa_supplicant join a network, and returns once it accepted that.
    ///
    /// The outcome is exactly one event with the same `attempt`, `connected` or `joinFailed`, within the join limit and
    /// a moment; it can come before this returns. There is no event where this throws, and none for a join that a later
    /// `join`, `leave` or `stop` replaced. The old link ends (`disconnected`, locally generated) as soon as
    /// wpa_supplicant turns to the new network, and not before it is known to accept it. That is so too for another
    /// access point of the same network where the request has no `roam`: a network of its own for wpa_supplicant, which
    /// ends the old link and joins it. With one the link goes over, and nothing is said of the old one's end. Where that
    /// fails, or the network was joined by other settings, it is joined anew.
    public func join(_ request: JoinRequest, attempt number: UInt64) async throws(SupplicantError) {
        supersede()
        let attempt = JoinAttempt(number: number, request)
        self.attempt = attempt
        try await sequences.pass { [self] () throws(SupplicantError) in
            do throws(SupplicantError) {
                try await begin(attempt)
            } catch {
                end(attempt)
                throw error
            }
        }
    }

    /// Ends the link, or the join under way, and has wpa_supplicant forget all networks.
    public func leave() async throws(SupplicantError) {
        supersede()
        try await sequences.pass { [self] () throws(SupplicantError) in
            try await forgetNetworks(readyChannel())
        }
    }

    /// Has the times in the certificate of the server count from now on, where the join left them out: the server has to
    /// show it again. wpa_supplicant ends the link for that, or keeps it while it asks.
    ///
    /// Also of a link that an earlier process has made.
    /// - Returns: whether the link was made without.
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
            // With a changed variable wpa_supplicant lets go of the keys that were made before, and mostly of the link with
            // them (wpa_sm_pmksa_free_cb): it is then made anew, by a join that checks the times. The other way around,
            // the change would come in the middle of the conversation.
            try await channel.ask(ControlCommand(network: network, NetworkBlock.timeCheck(true)))
            try await channel.ask(.authenticateAgain)
            isNew = true
        }
        return isNew
    }

    /// Has wpa_supplicant forget all networks, or all but one, and the keys in blobs, which it keeps otherwise.
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

    /// There is no command that takes a blob away.
    private func forgetKey(of network: Int, _ channel: ControlChannel) async throws(SupplicantError) {
        guard keyed.remove(network) != nil else { return }
        let setting = NetworkBlock.Setting(name: NetworkBlock.privateKey, value: .blob(Secret([0])))
        guard let name = setting.blobName(ofNetwork: network) else { return }
        try await channel.askLeniently(ControlCommand(blob: name, Secret([0])))
    }

    func supersede() {
        if let attempt { end(attempt) }
    }

    /// The attempt is over, with an event where one was promised.
    func end(_ attempt: JoinAttempt, _ outcome: SupplicantEvent? = nil) {
        let wasAccepted = attempt.isAccepted
        attempt.phase = .over
        if self.attempt === attempt { self.attempt = nil }
        if let outcome, wasAccepted { onEvent(outcome) }
    }

    /// Some firmware fails at SAE where the access point offers WPA2 too (raspberrypi/linux#7634): there it is not named, as for
    /// drivers that have none, unless the network's floor has it.
    private func keyManagement(for request: JoinRequest) -> Set<String> {
        let isWanted = request.offer != .wpa2wpa3 || request.floor.contains(.sae)
        return isSAEForFirmware && !isWanted ? keyManagement.subtracting(["SAE"]) : keyManagement
    }

    /// Begins by the first of the ways that are left.
    private func begin(_ attempt: JoinAttempt) async throws(SupplicantError) {
        guard self.attempt === attempt else { throw .superseded }
        _ = try readyChannel()
        let block = try NetworkBlock(
            attempt.request, keyManagement: keyManagement(for: attempt.request), ciphers: ciphers)
        while !attempt.ways.isEmpty {
            if try await roam(attempt, block, attempt.ways.removeFirst()) { return }
        }
        try await select(attempt, block)
    }

    /// Has the link go over to another access point of its network.
    /// - Returns: whether wpa_supplicant has begun to.
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
            // It has not seen the access point, or lets no link go over.
            return false
        }
    }

    private func roamDeadline(_ attempt: JoinAttempt, _ way: JoinRequest.Roam, _ limit: Duration) -> LoopTimer {
        LoopTimer(after: limit) { [weak self] in
            guard let self, case .trying(let progress, _) = attempt.phase else { return }
            if way == .overTheDistributionSystem, !progress.isSearching {
                // The answer has come, and the link goes over.
                attempt.phase = .trying(progress, deadline: roamDeadline(attempt, .overTheAir, timing.roamLimit))
            } else {
                goOn(attempt)
            }
        }
    }

    /// One way has failed: the next is taken.
    func goOn(_ attempt: JoinAttempt) {
        attempt.phase = .preparing
        Task {
            await sequences.pass { [self] in
                do throws(SupplicantError) {
                    try await begin(attempt)
                } catch {
                    end(attempt, .joinFailed(attempt: attempt.number, error.joinFailure, detail: "\(error)"))
                }
            }
        }
    }

    private func select(_ attempt: JoinAttempt, _ block: NetworkBlock) async throws(SupplicantError) {
        guard self.attempt === attempt else { throw .superseded }
        let channel = try readyChannel()
        let request = attempt.request
        // Access points that failed before were put aside. The choice is not wpa_supplicant's.
        try await channel.askLeniently(ControlCommand("BSSID_IGNORE clear"))
        // A driver that still looks for another network is stopped first: else wpa_supplicant (2.10) ends that, and does not
        // begin with this one.
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
            // Its answer is like no other, so it also shows that no answer came twice.
            if try await channel.status().state == .interfaceDisabled { throw .interfaceDown }
            guard self.attempt === attempt else { throw .superseded }
            try await channel.ask(.selectNetwork(network)) { [self] _ in accepted(attempt, network, block) }
        } catch {
            try? await channel.askLeniently(.removeNetwork(network))
            try? await forgetKey(of: network, channel)
            throw error
        }
    }

    /// Whether wpa_supplicant has the driver look for the network (`AP_SCAN 2`), or scans before it joins (1, its own
    /// choice).
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

// Outcomes.
extension Supplicant {
    func succeed(_ attempt: JoinAttempt, _ network: Int, _ bssid: BSSID) {
        link = bssid
        end(attempt, .connected(attempt: attempt.number, bssid: bssid))
        Task {
            try? await sequences.pass { [self] () throws(SupplicantError) in
                // A join that got further in the meantime clears up itself, and must not lose its network.
                guard self.attempt?.isAccepted != true, settled?.network == network else { return }
                let channel = try readyChannel()
                try await forgetNetworks(channel, except: network)
                // One that has none to name is not asked (hostap 2.10, wpas_rrm_send_neighbor_rep_request).
                if link == bssid { try await channel.askLeniently(.neighbours) }
            }
        }
    }

    /// Brings wpa_supplicant to rest, and tells of the failure then: the caller finds it ready for the next
    /// command, and what it says to the end can name the cause (`JoinProgress.refined`).
    func fail(_ attempt: JoinAttempt, _ network: Int, _ failure: JoinFailure, detail: String) {
        attempt.phase = .failing(failure, network: network, detail: detail)
        Task {
            try? await sequences.pass { [self] () throws(SupplicantError) in
                guard self.attempt === attempt else { return }
                try await forgetNetworks(readyChannel())
            }
            guard case .failing(let failure, _, let detail) = attempt.phase else { return }
            end(attempt, .joinFailed(attempt: attempt.number, failure, detail: detail))
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
    /// The caller's number for it.
    let number: UInt64
    let request: JoinRequest
    /// The ways to go over to the access point that were not tried yet, before the network is joined anew.
    var ways: [JoinRequest.Roam]
    var phase = Phase.preparing
    /// Whether wpa_supplicant has taken on one of the ways, so that the caller was promised an event.
    var isPromised = false
    /// Whether it joins the network anew.
    var isJoining = false

    enum Phase {
        /// wpa_supplicant is being told of the network. Events on the air still concern the old link.
        case preparing
        /// wpa_supplicant accepted to select it. The timer ends it.
        case trying(JoinProgress, deadline: LoopTimer)
        /// It failed, and wpa_supplicant is brought to rest before the caller is told.
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

    /// Whether the caller was promised an event.
    var isAccepted: Bool { if case .over = phase { false } else { isPromised } }
}

extension Supplicant {
    /// One event of wpa_supplicant, in its turn between the answers.
    func handle(_ event: ControlEvent, _ line: Substring) {
        if case .transitionDisabled(let disabled) = event { return tell(.transitionDisabled(disabled)) }
        if case .easyConnect(let line) = event {
            if let news = easyConnect.handle(line) { tell(.easyConnect(news)) }
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

    /// Takes the word of a status over that of the events, some of which may have been lost.
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
            // A link that gets new keys is none that is gone.
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
        let step = progress.handle(event)
        attempt.phase = .trying(progress, deadline: deadline)
        switch step {
        case .succeeded(let bssid): succeed(attempt, progress.network, bssid)
        case .failed where !attempt.isJoining: goOn(attempt)
        case .failed(let failure):
            let detail = event.explanation ?? PrintableLine.of(line)
            fail(attempt, progress.network, failure, detail: detail)
        case .askWhetherAuthenticating: askWhetherAuthenticating(attempt, progress)
        case nil: break
        }
    }

    /// Finds out whether an authentication ended of which wpa_supplicant told nothing.
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

    /// Access points count the time until they end a link in beacons, and few have other intervals.
    private static let usualBeaconInterval = Duration.microseconds(102_400)

    /// Handles an event of a link that no join waits for.
    private func handleUnbidden(_ event: ControlEvent) {
        switch event {
        case .connected(_, let bssid):
            link = bssid
            tell(.connected(attempt: nil, bssid: bssid))
        case .disconnected(let reason, let locallyGenerated):
            // A join that failed to make a link ends with the same line.
            guard link != nil else { return }
            link = nil
            tell(.disconnected(reason: reason, locallyGenerated: locallyGenerated))
        case .leavingAsked(let beacons):
            guard link != nil else { return }
            tell(.leavingAsked(within: Self.usualBeaconInterval * beacons))
        case .moveAsked: if link != nil { tell(.moveAsked) }
        case .neighbour(let bssid, let frequency): if link != nil { tell(.neighbour(bssid, frequency)) }
        case .certificateRefused:
            tell(.certificateRefused(event.explanation ?? "the server's certificate is refused"))
        default:
            break
        }
    }
    /// Nothing is told before `available`: the status that follows it says it all.
    private func tell(_ event: SupplicantEvent) {
        if isAvailable { onEvent(event) }
    }
}
