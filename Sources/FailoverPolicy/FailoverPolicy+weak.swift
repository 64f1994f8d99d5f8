import AgentModel

/// How a living link is doing, and what was done about it.
struct Weakness: Sendable, Hashable {
    var judge = SignalJudge()
    /// Nil while the link is fine.
    var nextScan: Instant?
    var scans = 0
    /// A signal that wavers about the threshold is no reason to scan all the time.
    var quietUntil: Instant?
    /// Since when the link is confirmed to be weak. What was seen before may be gone, and the link still lives.
    var confirmedAt: Instant?
    /// What the verdict was when it was last looked at.
    var verdict = SignalJudge.Verdict.fine
    /// Whether the history says already that nothing better is there.
    var isReported = false
}

/// Scans for networks that were never seen, while all is well.
struct Survey: Sendable, Hashable {
    var next: Instant?
    var scans = 0
}

// What is done about a link that is alive, be it good or weak.
extension FailoverPolicy {
    mutating func measured(_ signal: Int, at now: Instant) {
        guard case .online(let link) = phase else { return }
        weakness.judge.add(signal, at: now, thresholds: settings.thresholds(for: link.accessPoint.frequency))
        proceed(at: now)
    }

    /// Leaves a link that is confirmed to be weak for a better one, and sees to it that a better one would be known.
    mutating func reconsider(_ link: Link, at now: Instant) {
        let verdict = weakness.judge.verdict(at: now, settings: settings)
        let previous = weakness.verdict
        weakness.verdict = verdict
        guard verdict > .fine else {
            if previous > .fine {
                weakness = Weakness(quietUntil: weakness.quietUntil)
                watchSignal(of: link.accessPoint, closely: false)
            }
            lookForUnseen(at: now)
            return
        }
        if previous == .fine { watchSignal(of: link.accessPoint, closely: true) }
        // Once when the doubt begins, to know what else there is, and once when it is confirmed, to decide on fresh sights.
        if previous == .fine { weakness.nextScan = max(now, weakness.quietUntil ?? now) }
        if previous < .weak, verdict >= .weak {
            weakness.nextScan = now
            weakness.confirmedAt = now
        }

        if verdict >= .weak, let better = betterNetwork(than: link, at: now) {
            departures.append(now)
            join(better, purpose: .automatic, cause: verdict == .critical ? .critical : .weak, at: now)
            return
        }
        if let nextScan = weakness.nextScan, nextScan <= now, scan == nil { orderWeakScan(link, at: now) }
        if verdict >= .weak, scan == nil, !weakness.isReported {
            weakness.isReported = true
            record(
                .stay, from: link.network, isHeld(link, at: now) ? .commanded : .noCandidate,
                considered: considerations(choosing: nil, at: now), at: now)
        }
    }

    /// When to look for networks that were never seen; nil if all were.
    var nextSurvey: Instant? {
        guard weakness.verdict == .fine, command == nil else { return nil }
        return networks.contains { air.places(of: $0.id).isEmpty } ? survey.next : nil
    }

    private mutating func lookForUnseen(at now: Instant) {
        guard scan == nil, let nextSurvey, nextSurvey <= now else { return }
        survey.next = now + settings.survey.wait(after: survey.scans)
        survey.scans += 1
        orderScan([], reason: .survey, at: now)
    }

    private mutating func orderWeakScan(_ link: Link, at now: Instant) {
        let others = networks.filter { $0.id != link.network }
        let places = Set(others.flatMap { air.places(of: $0.id) })
        let allAreKnown = others.allSatisfy { !air.places(of: $0.id).isEmpty }
        // The first looks are quick where they can be; when they found nothing, every channel is worth its time.
        let isQuick = allAreKnown && weakness.scans < 2
        weakness.nextScan = now + settings.weakScan.wait(after: weakness.scans)
        weakness.scans += 1
        weakness.quietUntil = now + settings.weakScan.first
        guard !others.isEmpty else { return }
        orderScan(isQuick ? places.sorted() : [], reason: .weak, at: now)
    }

    /// Whether a command put the device where it is, not long ago.
    private func isHeld(_ link: Link, at now: Instant) -> Bool {
        held.map { $0.network == link.network && $0.until > now } ?? false
    }

    private mutating func betterNetwork(than link: Link, at now: Instant) -> NetworkID? {
        departures.removeAll { now - $0 > settings.switchLimitWindow }
        guard !isHeld(link, at: now), departures.count < settings.switchLimit,
            now - link.since >= settings.betweenSwitches
        else { return nil }
        return candidates(at: now, since: weakness.confirmedAt).first {
            $0.network.id != link.network && !isBlocked($0.network.id, at: now) && objection(to: $0.bss) == nil
        }?.network.id
    }

    mutating func watchSignal(of accessPoint: AccessPoint, closely: Bool) {
        let threshold = settings.thresholds(for: accessPoint.frequency).weak
        let interval = closely ? settings.alertSampling : settings.calmSampling
        actions.append(.watchSignal(SignalWatch(threshold: threshold, interval: interval, unsupervisedInterval: min(interval, settings.unsupervisedSampling))))
    }
}
