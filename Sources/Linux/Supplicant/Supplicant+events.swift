import AgentModel
import Linux

extension Supplicant {
    /// One event of wpa_supplicant, in its turn between the answers.
    func handle(_ event: ControlEvent, _ line: Substring) {
        if case .transitionDisabled(let disabled) = event { return tell(.transitionDisabled(disabled)) }
        switch attempt?.phase {
        case .trying(let progress, let deadline):
            if let attempt { advance(attempt, progress, deadline, event, line) }
        case .failing(let failure, let network, _):
            let refined = JoinProgress.refined(failure, by: event, network: network)
            guard refined != failure else { return }
            attempt?.phase = .failing(refined, network: network, detail: PrintableLine.of(line))
        case .preparing, .over, nil:
            handleUnbidden(event)
        }
    }

    /// Takes the word of a status over that of the events, some of which may have been lost.
    func reconcile(_ status: SupplicantStatus) {
        switch attempt?.phase {
        case .trying(let progress, _):
            guard let attempt, let bssid = status.link, status.networkID == progress.network else { return }
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
        case .failed(let failure): fail(attempt, progress.network, failure, detail: PrintableLine.of(line))
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
                fail(attempt, progress.network, progress.silentFailure, detail: "the access point did not answer")
            default: break
            }
        }
    }

    /// What happens to a link, where no join waits for it.
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
        default:
            break
        }
    }
    /// Nothing is told before `available`: the status that follows it says it all.
    private func tell(_ event: SupplicantEvent) {
        if isAvailable { onEvent(event) }
    }
}
