import AgentModel

/// How a living link is doing, and what was done about it.
struct Weakness: Sendable {
    var judge = SignalJudge()
    /// Nil while the link is fine.
    var nextScan: Instant?
    var scans = 0
    /// Time of the last scan of all channels.
    var fullScanAt: Instant?
    /// Time of the last scan, and the link's signal then, in dBm.
    var lastScan: (at: Instant, level: Int?)?
    /// A signal that wavers about the threshold is no reason to scan all the time.
    var quietUntil: Instant?
    /// Since when the link is confirmed to be weak. An access point seen before may be gone, and the link still lives.
    var confirmedAt: Instant?
    /// The latest verdict.
    var verdict = SignalJudge.Verdict.fine
    /// When the doubt began.
    var doubtedSince: Instant?
    /// How closely the signal is watched.
    var pace = Pace.calm
    /// Whether the history says already that nothing better is there.
    var isReported = false
    /// Better access points of the network, while the link is fine.
    var stronger = StrongerAccessPoint()
    /// Of not being on another network.
    var regret = Regret()

    /// Scans all channels again, if there is reason to scan at all.
    mutating func startOver(at now: Instant) {
        guard nextScan != nil else { return }
        nextScan = now
        fullScanAt = nil
        scans = 0
    }
}

/// How closely the signal of a link is watched.
enum Pace: Sendable {
    /// All is well, or nothing would be done about it.
    case calm
    /// It has been weak for long, and nothing came of it.
    case patient
    /// It may be weak.
    case alert
    /// Every second counts.
    case critical
}

// Decisions about a link that is alive: good, weak, useless, or not to the preferred network.
extension FailoverPolicy {
    /// In dBm; a driver that says anything else says nothing.
    private static let credibleSignals = -150...50

    mutating func measured(_ signal: Int, at now: Instant, _ actions: inout [PolicyAction]) {
        guard case .online(let link) = phase, Self.credibleSignals.contains(signal) else { return }
        weakness.judge.add(
            signal, at: now, thresholds: settings.thresholds(for: link.accessPoint.frequency), settings: settings)
        jam.forget(at: now)
        countRegret(of: link, at: now)
        proceed(at: now, &actions)
    }

    /// Adds up what it costs to stay, where another network is better. Once it has come to the price of the move, the move is made, and
    /// the two together are at most twice what the best decision would have cost.
    private mutating func countRegret(of link: Link, at now: Instant) {
        let time = weakness.regret.elapse(to: now, atMost: Self.longestSample)
        let hour = hour(of: now)
        if isJammed { histories[link.network]?.lostByHour.lost(jam.share * time, in: hour) }
        guard let level = weakness.judge.level, isJammed || weakness.judge.verdict(settings: settings) > .fine else {
            return weakness.regret.add(nil, for: time)
        }
        let here = min(1, LinkPrice.rate(at: level, on: link.accessPoint.frequency, settings: settings) + jam.share)
        let others = networks.flatMap { network in
            scanCache.accessPoints(of: network.id, since: now - settings.weakScan.last).compactMap { bss -> Double? in
                let isSibling = isJammed || isLosingFrames
                guard network.id != link.network || isSibling && bss.bssid != link.accessPoint.bssid else { return nil }
                let jamming = jam.reaches(bss.frequency, from: link.accessPoint.frequency) ? jam.share : 0
                let rate = LinkPrice.rate(
                    at: scanCache.steadySignal(of: bss, in: network.id), on: bss.frequency, settings: settings)
                return min(1, rate + jamming) + (network.id == preferred ? 0 : awayRate)
            }
        }
        // The scan that shows them is under way.
        guard !others.isEmpty || scan == nil else { return }
        weakness.regret.add(
            others.min().map { best in here + (link.network == preferred ? 0 : awayRate) - best }, for: time)
    }

    /// Of a move inside the network, which keeps address and connections, in seconds of outage.
    static let roamPrice = 0.2

    /// More time than this between two samples is time of which nothing is known.
    private static let longestSample = Duration.seconds(30)

    /// Whether staying has cost as much as a move to another network, and back where the device belongs here.
    func isMovePaid(from link: Link, to network: NetworkID) -> Bool {
        if network == link.network { return weakness.regret.seconds >= Self.roamPrice }
        let back = link.network == preferred ? price(ofMoveTo: link.network) : 0
        return weakness.regret.seconds >= price(ofMoveTo: network) + back
    }

    /// Leaves a link for a better one where there is reason to, and sees to it that a better one would be known.
    mutating func reconsider(_ link: Link, at now: Instant, _ actions: inout [PolicyAction]) {
        judge(link, at: now, &actions)
        // Without wpa_supplicant there is nothing to go to, and one move is enough at a time.
        guard otherUplink == nil, isReady, !isMoving else { return }
        if followNotice(link, at: now, &actions) { return }
        let isBad = isBad(link)
        let isAboutToLose = weakness.verdict == .doubtful && isSoonLosingFrames
        if weakness.verdict >= .sagging || isAboutToLose || link.uselessness != nil || isJammed,
            let better = betterAccessPoint(than: link, at: now)
        {
            depart(from: link, to: better, departureCause(of: link), at: now, &actions)
            return
        }
        if let stronger = strongerAccessPoint(than: link, at: now) {
            depart(from: link, to: stronger, .weak, at: now, &actions)
            return
        }
        if isBad {
            if let nextScan = weakness.nextScan, nextScan <= now, canScan {
                orderEscapeScan(link, at: now, &actions)
            }
            reportStay(link, at: now, &actions)
        }
        if link.uselessness != nil || isEnding, isStandingBy, let network = successor?.network {
            return leaveForStandby(network, because: departureCause(of: link), at: now, &actions)
        }
        if returnToPreferred(from: link, at: now, &actions) { return }
        if !isBad {
            scanForUnseen(link, at: now, &actions)
            scanForStronger(link, at: now, &actions)
        }
        seekStandby(beside: link, at: now, &actions)
    }

    /// Follows the signal from fine to critical and back.
    private mutating func judge(_ link: Link, at now: Instant, _ actions: inout [PolicyAction]) {
        let verdict = weakness.judge.verdict(settings: settings)
        let previous = weakness.verdict
        weakness.verdict = verdict
        if verdict == .fine {
            guard previous > .fine else { return }
            weakness = Weakness(
                nextScan: link.uselessness == nil && !isJammed ? nil : weakness.nextScan,
                quietUntil: weakness.quietUntil, stronger: weakness.stronger)
            watchSignal(of: link.accessPoint, &actions)
            return
        }
        // Once when the doubt begins, to know what else there is, and once when it is confirmed, to decide on fresh
        // observations.
        if previous == .fine { weakness.nextScan = max(now, weakness.quietUntil ?? now) }
        if previous < .sagging, verdict >= .sagging {
            weakness.confirmedAt = now
            weakness.nextScan = now
        }
        if previous < .weak, verdict >= .weak { weakness.nextScan = now }
        if previous < .fading, verdict >= .fading {
            weakness.nextScan = now
            weakness.scans = 0
        }
        // A device whose link got worse since the last scan moves, and its surroundings have changed.
        if let last = weakness.lastScan, let before = last.level, let level = weakness.judge.level,
            level <= before - settings.rescanDrop, now - last.at >= settings.criticalScan.first
        {
            weakness.nextScan = now
        }
        let doubtedSince = weakness.doubtedSince ?? now
        weakness.doubtedSince = doubtedSince
        let isOld = now - doubtedSince >= settings.patienceAfter
        let isUrgent =
            verdict >= .fading || weakness.judge.isBelowCritical
            || isSoonLosingFrames && hasOthers(than: link)
        let pace: Pace =
            otherUplink != nil ? .calm : isOld && verdict != .fading ? .patient : isUrgent ? .critical : .alert
        if pace != weakness.pace {
            weakness.pace = pace
            watchSignal(of: link.accessPoint, &actions)
        }
    }

    /// Whether the link is left because its signal will not last. An unusable network and a jammed channel
    /// have waits of their own.
    var isEnding: Bool { weakness.verdict >= .fading }

    private func departureCause(of link: Link) -> PolicyDecision.Cause {
        if let uselessness = link.uselessness { return .failure(uselessness) }
        if isJammed { return .jammed }
        return switch weakness.verdict {
        case .critical: .critical
        case .fading: .fading
        case .weak, .sagging, .doubtful, .fine: isLosingFrames ? .critical : .weak
        }
    }

    mutating func depart(
        from link: Link, to better: Candidate, _ cause: PolicyDecision.Cause, at now: Instant,
        _ actions: inout [PolicyAction]
    ) {
        if cause == .jammed { jammedChannels.leave(link.accessPoint.frequency, at: now) }
        if link.uselessness != nil {
            wayOut.moves(
                toSibling: better.network.id == link.network, thatLedNowhere: better.rank.reputation == .useless)
        }
        if !isJoinedBeside(better.network.id) {
            roamDamping.departs(
                from: link.accessPoint.bssid, to: better.bss.bssid, isRoam: better.network.id == link.network, at: now,
                settings: settings)
        }
        join(better.network.id, at: better.bss, purpose: .automatic, cause: cause, at: now, &actions)
    }

    private mutating func reportStay(_ link: Link, at now: Instant, _ actions: inout [PolicyAction]) {
        guard weakness.verdict >= .weak || link.uselessness != nil, scan == nil, !weakness.isReported else { return }
        weakness.isReported = true
        record(
            .stay, from: link.network, fromBSSID: link.accessPoint.bssid,
            isHeld(link, at: now) ? .commanded : .noCandidate,
            considered: considerations(choosing: nil, at: now), at: now, &actions)
    }

    private mutating func orderEscapeScan(_ link: Link, at now: Instant, _ actions: inout [PolicyAction]) {
        // Other access points of the same network count as well; where none was ever seen, there may still be one.
        let places = Set(networks.flatMap { scanCache.places(of: $0.id) }).union(places(beside: link))
        // The first scan is short if it can be, and so are further ones while it showed something; if it did not, every
        // channel is worth its time now and then.
        let isOld = weakness.doubtedSince.map { now - $0 >= settings.patienceAfter } ?? (weakness.scans > 8)
        let patience = link.uselessness == nil ? settings.weakScan.last * 4 : settings.patientFullScan
        // Where frames are lost every second counts, and the scan of all channels takes seconds.
        let pause = isOld ? patience : isLosingFrames ? settings.weakScan.last : settings.weakScan.first * 2
        let wasFull = weakness.fullScanAt.map { now - $0 < pause } ?? false
        let isQuick = !places.isEmpty && (weakness.scans == 0 || wasFull || hasProspect(link, at: now))
        var frequencies = isQuick ? places.sorted() : []
        let reason: ScanOrder.Reason = link.uselessness == nil ? .weak : .unusable
        var isOrdered = orderScan(frequencies, reason: reason, at: now, &actions)
        if !isOrdered, isLosingFrames, !isQuick, !places.isEmpty {
            frequencies = places.sorted()
            isOrdered = orderScan(frequencies, reason: reason, at: now, &actions)
        }
        guard isOrdered else {
            let isUrgent = isScanUrgent(because: reason)
            weakness.nextScan = now + budget.wait(for: frequencies, isUrgent: isUrgent)
            return
        }
        if frequencies.isEmpty { weakness.fullScanAt = now }
        weakness.lastScan = (now, weakness.judge.level)
        let isUrgent = weakness.verdict >= .fading || link.uselessness != nil || isSoonLosingFrames
        let waits = isUrgent ? settings.criticalScan : settings.weakScan
        weakness.nextScan = now + waits.wait(after: weakness.scans)
        weakness.scans += 1
        weakness.quietUntil = now + settings.weakScan.first
    }

    /// Whether the last scans showed something better: its channels are scanned again before the link is left for it.
    private func hasProspect(_ link: Link, at now: Instant) -> Bool {
        // On a link that leads nowhere signals say nothing about what is better.
        guard link.uselessness == nil else { return false }
        let start = max(link.since, now - settings.weakScan.first)
        return networks.contains { network in
            scanCache.accessPoints(of: network.id, since: start).contains { bss in
                bss.bssid != link.accessPoint.bssid && isOpen(bss, of: network.id, at: now)
                    && objection(to: bss, of: network.id, at: now) == nil
            }
        }
    }

    /// Time of the next scan, while the link lives.
    func scanMoments(_ link: Link) -> [Instant?] {
        guard otherUplink == nil, isReady, !isMoving else { return [] }
        return [
            isBad(link) ? weakness.nextScan : nextUnseenScan(link), isBad(link) ? nil : strongerScan(link),
            preferredReturnMoment(link), noticeMoment(link),
            standbyMoment,
        ]
    }

    /// Whether there is reason to scan for something better.
    private func isBad(_ link: Link) -> Bool { weakness.verdict > .fine || link.uselessness != nil || isJammed }

    private func preferredReturnMoment(_ link: Link) -> Instant? {
        guard let preferred = preferredNetwork(from: link), let scan = preferredReturn.nextScan else { return nil }
        // If it is blocked or of no use, the wait is for the end of that.
        let history = histories[preferred]
        return [scan, history?.block?.until, history?.uselessness?.until].compactMap(\.self).max()
    }

    /// Whether a command put the device where it is, not long ago.
    private func isHeld(_ link: Link, at now: Instant) -> Bool {
        (visit ?? choice).map { $0.network == link.network && $0.heldUntil > now } ?? false
    }

    /// Whether lost frames have cost more than is put up with for a command's sake.
    private var isLosingMuch: Bool { isLosingFrames && weakness.regret.seconds >= Self.patienceWithChoice }

    /// In seconds of outage.
    private static let patienceWithChoice = 5.0

    private func betterAccessPoint(than link: Link, at now: Instant) -> Candidate? {
        guard link.uselessness == nil else { return usefulAccessPoint(insteadOf: link, at: now) }
        guard now - link.since >= settings.betweenSwitches else { return nil }
        // The user's choice is not left for being weak; where frames are lost, or nothing gets through, it is.
        let isHeld = isHeld(link, at: now) && !isEnding && !isJammed && !isLosingMuch
        let earliest = isJammed ? nil : weakness.confirmedAt ?? weakness.doubtedSince ?? now
        return accessPoints(at: now, since: earliest).first { candidate in
            let isRoaming = candidate.network.id == link.network
            guard mayFollow(candidate, link, at: now), isRoaming || !isHeld else { return false }
            if isJammed { return isWayOutOfJam(candidate, of: link, at: now) }
            guard objection(to: candidate.bss, of: candidate.network.id, at: now) == nil else { return false }
            guard weakness.verdict > .doubtful || isRoaming else { return false }
            let isUrgent = weakness.verdict >= .fading
            guard candidate.rank.reputation <= (isUrgent ? .suspect : .sound) else { return false }
            if candidate.rank.isUnstable, !isUrgent { return false }
            let isPaid = isMovePaid(from: link, to: candidate.network.id)
            guard isRoaming || isUrgent || isPaid || isSoonLosingFrames else { return false }
            return isRoaming || weakness.verdict >= .weak || isPaid && isLosingFrames
                || gain(of: candidate.bss, in: candidate.network.id) ?? 0 >= 2 * settings.margin
        }
    }

    /// Whether an access point is another one than the link's, nothing is held against it, and moves of its kind are not too many.
    private func mayFollow(_ candidate: Candidate, _ link: Link, at now: Instant) -> Bool {
        guard candidate.bss.bssid != link.accessPoint.bssid, isOpen(candidate, at: now) else { return false }
        return candidate.network.id == link.network
            ? roamDamping.allowsRoam(at: now, settings: settings)
            : roamDamping.allowsDeparture(at: now, settings: settings) && candidate.network.ssid != ssid(link.network)
    }

    /// Where to go from a link that leads nowhere. That is no place to rest; its own back-off sees to it that this is no dance.
    private func usefulAccessPoint(insteadOf link: Link, at now: Instant) -> Candidate? {
        let all = accessPoints(at: now)
        let next = nextUseless(of: all, from: link, at: now)
        let fitting = all.filter { candidate in
            guard candidate.rank.quality <= .usable, mayFollow(candidate, link, at: now) else { return false }
            if candidate.bss.bssid == next { return true }
            // Another access point of the network may have a way out of its own.
            return candidate.network.id == link.network
                ? candidate.rank.reputation == .suspect && wayOut.allowsSibling
                : candidate.rank.reputation <= .suspect
        }
        // A good link is first: to a sound network, then to an access point of this one.
        let good = fitting.filter { $0.rank.quality == .good }
        return good.first { $0.rank.reputation == .sound } ?? good.first { $0.network.id == link.network }
            ?? fitting.first
    }

    /// The access point that is tried again although it led nowhere: the one that was tried longest ago, when that has its turn.
    private func nextUseless(of all: [Candidate], from link: Link, at now: Instant) -> BSSID? {
        all.filter { candidate in
            candidate.rank.reputation == .useless && candidate.bss.bssid != link.accessPoint.bssid
                && wayOut.isTurn(ofSibling: candidate.network.id == link.network, after: now - link.since, at: now)
        }.min { triedWhenUseless($0, from: link) < triedWhenUseless($1, from: link) }?.bss.bssid
    }

    private func triedWhenUseless(_ candidate: Candidate, from link: Link) -> Instant {
        let history = histories[candidate.network.id]
        let moment = candidate.network.id == link.network ? history?.deadSince(candidate.bss.bssid) : history?.triedAt
        return moment ?? .distantPast
    }

    mutating func watchSignal(of accessPoint: AccessPoint, _ actions: inout [PolicyAction]) {
        let threshold = settings.thresholds(for: accessPoint.frequency).weak
        let interval =
            switch weakness.pace {
            case .calm: settings.calmSampling
            case .patient: settings.unsupervisedSampling
            case .alert: settings.alertSampling
            case .critical: settings.criticalSampling
            }
        actions.append(
            .watchSignal(
                SignalWatch(
                    threshold: threshold, interval: interval,
                    unsupervisedInterval: min(interval, settings.unsupervisedSampling))))
    }
}
