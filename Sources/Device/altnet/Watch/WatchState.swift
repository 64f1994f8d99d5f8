import AgentModel
import AppProtocol
import Terminal

/// State of `altnet watch`. Its size is limited, as the device is untrusted. Times of the chart are from this program's
/// monotonic clock, as the device's clock may be set.
struct WatchState: Sendable, Equatable {
    enum Connection: Sendable, Equatable {
        case connected
        case lost(since: Instant, reason: String)
    }

    enum Link: Sendable, Equatable {
        case on(SSID)
        /// The device is online over a network without a name.
        case unnamed
        case down
        case unknown
    }

    struct Stretch: Sendable, Equatable {
        let start: Instant
        let link: Link
    }

    struct Happening: Sendable, Equatable {
        let time: Timestamp
        let text: String
        var paint: Style.Paint?
    }

    /// Time span of the chart.
    static let horizon = Duration.seconds(300)
    private static let maximumHappenings = 100
    private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

    private(set) var connection = Connection.connected
    private(set) var device: Capabilities?
    private(set) var status: NetworkStatus?
    private(set) var change: SwitchStatus?
    /// Signals of the link, also across changes of the network.
    private(set) var link = SignalTrace()
    private(set) var candidates: [SSID: SignalTrace] = [:]
    private(set) var stretches: [Stretch] = []
    /// Events, oldest first.
    private(set) var happenings: [Happening] = []
    /// Letters of stored networks and networks that the device was in.
    private(set) var letters: [SSID: Character] = [:]

    private var stored: [SSID] = []
    private var decisions: [Decision] = []

    // MARK: The connection

    mutating func connected(to device: Capabilities) {
        self.device = device
        connection = .connected
    }

    /// - Parameter reason: text for the user.
    mutating func lost(_ reason: String, at now: Instant) {
        if case .lost(let since, _) = connection {
            connection = .lost(since: since, reason: reason)
            return
        }
        connection = .lost(since: now, reason: reason)
        change = nil
        interrupt(.unknown, at: now)
    }

    // MARK: Answers and events of the device

    /// - Parameter age: time for which the status has lasted.
    mutating func update(_ status: NetworkStatus, age: Duration = .zero, at now: Instant) {
        self.status = status
        let link: Link = status.state == .online ? status.ssid.map(Link.on) ?? .unnamed : .down
        if stretches.isEmpty {
            stretches.append(Stretch(start: Self.moment(age, before: now), link: link))
        } else if stretches.last?.link != link {
            interrupt(link, at: now)
        }
        if let ssid = status.ssid { name(ssid) }
        if let signal = status.wifiSignal { measure(signal, at: now) }
    }

    mutating func update(_ list: BackupList) {
        stored = list.networks.map(\.ssid)
        for ssid in stored { name(ssid) }
    }

    /// Adds the results for networks with a letter. Ignores other results.
    mutating func update(_ results: ScanResults, at now: Instant) {
        for network in results.networks {
            guard let ssid = network.ssid, letters[ssid] != nil, ssid != status?.ssid else { continue }
            let age = Duration.milliseconds(max(0, network.ageMs))
            guard age < Self.horizon else { continue }
            let time = now.advanced(by: .zero - age)
            // The strongest result is first: of several access points with one SSID, use the first.
            guard candidates[ssid]?.samples.last.map({ time - $0.time >= .seconds(1) }) ?? true else { continue }
            candidates[ssid, default: SignalTrace()].add(network.signal, at: time)
        }
        forget(before: now.advanced(by: .zero - Self.horizon))
    }

    mutating func update(_ history: History) {
        for decision in history.decisions { add(decision) }
    }

    /// - Parameter age: time since the event, for events from before the connection.
    mutating func handle(_ event: Event, age: Duration = .zero, at now: Instant) {
        let then = Self.moment(age, before: now)
        let moment = stretches.last.map { max($0.start, then) } ?? then
        switch event.body {
        case .networkChanged(let status): update(status, at: moment)
        case .signal(let reading):
            if age < Self.horizon { measure(reading.signal, at: moment) }
        case .backupsChanged(let list): update(list)
        case .switchProgress(let change): handleSwitch(change, at: event.time)
        case .decision(let decision): add(decision)
        case .targetChanged(let target):
            let wording = ConnectivityDisplayText.target(target, now: nil)
            addHappening(wording.text, wording.paint, at: event.time)
        case .portalRequest(let request):
            addHappening(ConnectivityDisplayText.request(request), .yellow, at: event.time)
        case .scanFinished, .portalEnded: break
        case .gap(let gap): addHappening(DisplayText.gap(gap), .yellow, at: event.time)
        }
    }

    private mutating func handleSwitch(_ change: SwitchStatus, at time: Timestamp) {
        guard change.phase.isOutcome else {
            self.change = change
            return
        }
        self.change = nil
        let reason = change.text.map { ": \($0.printable)" } ?? ""
        addHappening(
            "switch: \(DisplayText.phase(change.phase))\(reason)", change.phase == .committed ? .green : .red, at: time)
    }

    private mutating func add(_ decision: Decision) {
        guard !decisions.contains(decision) else { return }
        decisions.append(decision)
        if decisions.count > Self.maximumHappenings { decisions.removeFirst() }
        addHappening(decision.text.printable, DisplayText.paint(decision.kind), at: decision.time)
    }

    private mutating func addHappening(_ text: String, _ paint: Style.Paint?, at time: Timestamp) {
        let place = happenings.lastIndex { $0.time <= time }.map { $0 + 1 } ?? 0
        happenings.insert(Happening(time: time, text: text, paint: paint), at: place)
        if happenings.count > Self.maximumHappenings { happenings.removeFirst() }
    }

    // MARK: Signals

    private mutating func measure(_ signal: Int, at now: Instant) {
        link.add(signal, at: now)
        forget(before: now.advanced(by: .zero - Self.horizon))
    }

    private static func moment(_ age: Duration, before now: Instant) -> Instant {
        now.advanced(by: .zero - min(age, horizon * 2))
    }

    private mutating func interrupt(_ link: Link, at now: Instant) {
        stretches.append(Stretch(start: now, link: link))
        self.link.interrupt()
    }

    private mutating func forget(before time: Instant) {
        link.forget(before: time)
        for ssid in candidates.keys { candidates[ssid]?.forget(before: time) }
        candidates = candidates.filter { !$0.value.samples.isEmpty }
        // Keep the last stretch before the chart's start, as it is still visible.
        if let first = stretches.lastIndex(where: { $0.start <= time }) { stretches.removeFirst(first) }
        if stretches.count > SignalTrace.maximumSamples { stretches.removeFirst(stretches.count / 4) }
    }

    /// Assigns a letter to a network if one is free.
    private mutating func name(_ ssid: SSID) {
        guard letters[ssid] == nil else { return }
        if letters.count == Self.letters.count {
            letters = letters.filter { stored.contains($0.key) || candidates[$0.key] != nil }
        }
        letters[ssid] = Self.letters.first { letter in !letters.values.contains(letter) }
    }
}
