import AgentModel
import AppProtocol
import Failover
import KeyFile

/// Last published values, and other state kept between events.
struct LastPublished: Sendable {
    var history = DecisionHistory()
    /// Value of `reliableUplink` that was last sent to the policy.
    var otherUplink: Uplink?
    var used: NetworkID?
    /// Networks whose refused access points have been reported.
    var refused: Set<NetworkID> = []
    var connectivity = Connectivity()
    /// Interface last marked as captive.
    var captiveInterface: String?
    var path = TrafficPath.none
    var pathName = ""
    var isPathMetered = false
    var status: NetworkStatus?
    var published: NetworkStatus?
    var service = ServiceStatus()
    var beacons: (station: StationID, bssid: BSSID)?
    var signalWatches: UInt64 = 0
    var wake: Instant?
    /// Timers that are currently armed.
    var timers: Set<AgentTimer> = []
    var isListening = false
}

struct DecisionHistory: Sendable {
    private static let capacity = ProtocolLimits.historyDecisions.upperBound
    private var decisions: [Decision] = []
    private var count = 0

    mutating func append(_ decision: PolicyDecision, at time: Timestamp, name: (SSID) -> NetworkName) -> Decision {
        count += 1
        let entry = Decision(decision, seq: count, time: time, name: name)
        if decisions.count == Self.capacity { decisions.removeFirst() }
        decisions.append(entry)
        return entry
    }

    /// Appends an entry that is not a decision of the policy.
    mutating func append(
        kind: Decision.Kind, reason: ReasonCode, text: String, by key: KeyName? = nil, at now: ClockReading
    ) -> Decision {
        count += 1
        let entry = Decision(
            seq: count, time: now.time, monotonicMs: now.instant.milliseconds, kind: kind, from: nil, to: nil,
            reason: reason, text: text, by: key)
        if decisions.count == Self.capacity { decisions.removeFirst() }
        decisions.append(entry)
        return entry
    }

    func last(_ limit: Int) -> [Decision] { decisions.suffix(limit) }
}

struct ServiceStatus: Sendable {
    var text = ""
    /// Last reported signal in dBm.
    var signal: Int?

    /// Minimum reported change of the signal in dB. Fewer updates wake the service manager less often.
    private static let newsworthyChange = 5

    mutating func measured(_ reading: Int) {
        if let signal, abs(reading - signal) < Self.newsworthyChange { return }
        signal = reading
    }
}

extension AgentCore {
    /// Recent decisions, oldest first.
    package func history(_ limit: Int) -> [Decision] { lastPublished.history.last(limit) }

    mutating func commanded(_ type: MessageType, by key: KeyName?, _ text: String) {
        let entry = lastPublished.history.append(
            kind: Decision.Kind(rawValue: "command"), reason: ReasonCode(rawValue: type.rawValue), text: text, by: key,
            at: now)
        emit(.publish(.decision(entry)))
    }

    package var otherUplink: Uplink? { lastPublished.otherUplink }

    package var addresses: [String] { kernel.stations[inUse]?.addresses.map(\.text) ?? [] }

    /// Faults of DHCP servers or neighbours of the network in use, a line each.
    package var addressProblems: [String] { current.addressProblems }

    // MARK: The path of packets

    mutating func followPath() {
        let name = policy.phase.network.flatMap { registry[$0] }?.hash(localKey: localKey).base64 ?? ""
        let path: TrafficPath =
            switch policy.phase {
            case .online, .validating: .wifi(epoch: policy.linkEpoch)
            case .offline, .joining, .waitingForAddress: kernel.otherUplink.map { .other($0) } ?? .none
            }
        let isMetered =
            switch path {
            case .none: false
            case .wifi: isMetered(.wifi)
            case .other(let uplink): isMetered(uplink)
            }
        guard path != lastPublished.path || name != lastPublished.pathName || isMetered != lastPublished.isPathMetered
        else { return }
        (lastPublished.path, lastPublished.pathName, lastPublished.isPathMetered) = (path, name, isMetered)
        emit(.follow(path, name: name, isMetered: isMetered))
    }

    mutating func markCaptive() {
        var interface: String?
        if lastPublished.connectivity.internet == .captive {
            if case .wifi = lastPublished.path {
                interface = inUse.interface
            } else {
                interface = kernel.uplinkInterface
            }
        }
        guard interface != lastPublished.captiveInterface else { return }
        if let before = lastPublished.captiveInterface { emit(.setCaptive(false, interface: before)) }
        if let interface { emit(.setCaptive(true, interface: interface)) }
        lastPublished.captiveInterface = interface
    }

    mutating func measured(_ reading: Int, _ counts: StationInfo? = nil) {
        let accessPoint = policy.phase.accessPoint
        lastPublished.service.measured(reading)
        emit(
            .publish(
                .signal(SignalReading(signal: reading, bssid: accessPoint?.bssid, frequency: accessPoint?.frequency))))
        let share = counts.flatMap { loss.counted($0, at: now.instant) }
        let wasLosing = loss.isLosing
        guard loss.isNews(reading, share, below: signal?.watch.threshold, at: now.instant) else { return }
        // Send the loss before the signal, because the policy decides on the signal.
        if let share, wasLosing || loss.isLosing { sendToPolicy(.loss(percent: share)) }
        sendToPolicy(.signal(reading))
    }

    // MARK: Status

    /// Current status, without a new measurement.
    package func status(at now: ClockReading) -> NetworkStatus {
        let flags = NetworkFlags.allowed(
            uplink: lastPublished.otherUplink, radioPresent: kernel.stations[inUse]?.isPresent ?? false,
            switchInProgress: switches.ledger.current != nil, isStoreWritable: learned.isStoreWritable)
        var status = NetworkStatus(
            state: policy.phase.linkState, uplink: kernel.uplink, carrier: kernel.carrier, flags: flags,
            addresses: addresses, since: lastPublished.status?.since ?? now.time)
        if let network = policy.phase.network.flatMap({ registry[$0] }) {
            status.ssid = network.ssid
            status.hash = network.hash(localKey: localKey)
        }
        if let accessPoint = policy.phase.accessPoint {
            status.bssid = accessPoint.bssid
            status.frequency = accessPoint.frequency
        }
        status.connectivity = lastPublished.connectivity
        status.handover = handover.found
        if policy.isStandingBy, let network = policy.successor?.network.flatMap({ registry[$0] }) {
            status.standby = NetworkName(ssid: network.ssid, hash: network.hash(localKey: localKey))
        }
        status.modem = kernel.modem
        status.radio = radioStatus
        status.rescue = setupAccessPointStatus(at: now)
        status.refused = policy.refusals(at: now.instant).map { refusal in
            RefusedNetwork(
                ssid: refusal.network.ssid, security: refusal.bss.security, reason: refusal.failure,
                remedy: Self.explanation(refusal))
        }
        if status.carriedBy == .cellular { status.signal = kernel.modem?.signal }
        status.isMetered = isMetered(status.carriedBy ?? .wifi)
        status.deviceName = state.name
        return status
    }

    /// Asks for the connectivity if the status has changed. The answer publishes the status, after the preceding
    /// effects.
    mutating func updateStatus() { if renewStatus() { emit(.readConnectivity) } }

    /// - Returns: true if the status has changed.
    private mutating func renewStatus() -> Bool {
        var new = status(at: now)
        let old = lastPublished.status
        if new.bssid != old?.bssid { lastPublished.service.signal = nil }
        if new.state != old?.state || new.ssid != old?.ssid { new.since = now.time }
        lastPublished.status = new
        return new != old
    }

    mutating func publishStatus() {
        _ = renewStatus()
        guard let status = lastPublished.status, status.news != lastPublished.published?.news else { return }
        lastPublished.published = status
        emit(.publish(.networkChanged(status)))
    }

    mutating func updateServiceStatus() {
        let new = serviceStatus
        guard new != lastPublished.service.text else { return }
        lastPublished.service.text = new
        emit(.service(new))
    }

    /// Features of the app protocol that the core provides.
    package static let features = [
        "failover", "scan", "confirm", "joinOnce", "seal", "keys", "connectivity", "home", "besideUplink", "enterprise",
        "metrics", "stage", "prove", "options", "name",
    ]

    /// Why the device looks for no network.
    package enum SearchFault: Sendable {
        case nothingStored
        /// Each stored network is manual.
        case onlyManual

        package var text: String {
            switch self {
            case .nothingStored: "no network is stored"
            case .onlyManual: "all stored networks are manual (altnet switch joins one)"
            }
        }
    }

    /// Why the device looks for no network; nil if it may look for one.
    package var searchFault: SearchFault? {
        policy.networks.isEmpty ? (state.backups.isEmpty ? .nothingStored : .onlyManual) : nil
    }

    package var serviceStatus: String {
        if let missing = troubles.lastReported { return missing.summary(of: inUse) }
        let name = policy.phase.network.flatMap { registry[$0] }.map { "\"\($0.ssid)\"" } ?? "a network"
        let fault = wakeGuard.isRepeated ? "; slowed down by a bug, see the log" : ""
        let failed = failedUplinks.map { "; \($0.interface) does not reach the required level" }.joined()
        let uplink = (lastPublished.otherUplink == nil ? "" : "; another uplink carries the traffic") + failed + fault
        switch policy.phase {
        case .offline:
            return "offline" + (searchFault.map { ": \($0.text)" } ?? ", looking for a network") + uplink
        case .joining: return "joining \(name)" + uplink
        case .waitingForAddress: return "waiting for an address in \(name)" + uplink
        case .validating, .online:
            return "online in \(name)" + (lastPublished.service.signal.map { ", \($0) dBm" } ?? "") + uplink
        }
    }
}

extension NetworkStatus {
    /// The status without constantly changing values: times and the last check.
    fileprivate var news: NetworkStatus {
        var news = self
        news.rescue?.closesIn = nil
        guard var connectivity else { return news }
        connectivity.checked = nil
        connectivity.portal?.secondsRemaining = nil
        connectivity.portal?.bytesRemaining = nil
        for index in connectivity.targets.indices {
            connectivity.targets[index].since = Timestamp(millisecondsSince1970: 0)
        }
        news.connectivity = connectivity
        return news
    }
}

extension FailoverPolicy.Phase {
    package var linkState: LinkState {
        switch self {
        case .offline: .offline
        case .joining: .joining
        case .waitingForAddress: .waitingForAddress
        // The progress of a switch reports whether the device stays there.
        case .validating, .online: .online
        }
    }
}
