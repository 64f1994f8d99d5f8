import AgentModel
import AppProtocol
import Failover
import KeyFile
import Linux
import Netlink
import Supplicant

// What the policy wants, done.
extension DeviceAgent {
    func perform(_ action: PolicyAction) {
        log.trace("action: \(action)")
        switch action {
        case .join(let target): join(target)
        case .leave: leave(station)
        case .joinBeside(let target): joinBeside(target)
        // It was done before what follows of it.
        case .useSuccessor: break
        case .leaveSuccessor: leaveSuccessor()
        case .scan(let order): scan(order)
        case .cancelScan: cancelScan()
        case .watchSignal(let watch): watchSignal(watch)
        case .bringInterfaceUp: bringInterfaceUp()
        case .record(let decision): record(decision)
        case .store(.switchEnded(let id, let isCommitted)): switchEnded(id, isCommitted: isCommitted)
        case .probe(let epoch, let limit): probe(epoch, within: limit)
        case .switchProgress(let id, let progress): switchProgressed(id, progress)
        }
    }

    private func join(_ target: LinkTarget) {
        guard let network = book[target.network] else {
            handle(.joinFailed(epoch: target.epoch, .notFound))
            return
        }
        // Another access point of the same network is no other network: the address still counts there.
        let isAnother = target.network != station.lastLinked
        if isAnother { station.gate.close(over: addresses) } else { station.gate.open() }
        reach.willJoin(another: isAnother)
        join(network, target, with: station)
    }

    func join(_ network: StoredNetwork, _ target: LinkTarget, with station: Station) {
        station.closedWays = []
        let request = JoinRequest(
            ssid: network.ssid, credential: network.credential, isHidden: network.isHidden,
            bssid: target.bssid, frequencies: target.frequencies, offer: target.offer,
            floor: network.floor)
        performOnLink(of: station) { [self] in
            do throws(SupplicantError) {
                try await station.supplicant.join(request, attempt: target.epoch)
            } catch .superseded {
                return
            } catch {
                log.warning("joining \(network.ssid): \(error)")
                handle(.joinFailed(epoch: target.epoch, error.joinFailure))
            }
        }
    }

    func leave(_ station: Station) {
        station.grace = nil
        performOnLink(of: station) { [self] in
            do throws(SupplicantError) { try await station.supplicant.leave() } catch .superseded, .unavailable {} catch
            {
                log.warning("leaving the network: \(error)")
            }
        }
    }

    /// As soon as whoever signed in has logged off, which needs the link as it is, and only if nothing else is wanted by
    /// then.
    private func performOnLink(of station: Station, _ order: @escaping @AgentLoop () async -> Void) {
        station.linkOrders += 1
        let number = station.linkOrders
        Task {
            if station === self.station { await reach.farewell?.value }
            if number == station.linkOrders { await order() }
        }
    }

    private func probe(_ epoch: UInt64, within limit: Duration) {
        if let spare, epoch == policy.successor?.epoch {
            reach.probeSuccessor(epoch: epoch, through: spare.network, within: limit)
        } else {
            reach.probe(epoch: epoch, within: limit)
        }
    }

    /// Whether a network that is there is left on purpose: for another one, or for none.
    func isLeaving(by actions: [PolicyAction], after event: PolicyEvent) -> Bool {
        guard !event.endsLink else { return false }
        return actions.contains { action in
            switch action {
            case .join(let target): target.network != station.lastLinked
            case .leave, .useSuccessor: true
            default: false
            }
        }
    }

    private func bringInterfaceUp() {
        let interface = station.interface
        guard routes.link(named: interface) != nil else { return }
        log.notice("bringing \(interface) up")
        Task {
            do { try await routes.setLink(interface, up: true) } catch { log.warning("\(error)") }
        }
    }

    private func watchSignal(_ watch: SignalWatch?) {
        signal = watch.map { watch in
            SignalWatcher(watch, radio: radio, log: log) { [weak self] signal in self?.measured(signal) }
        }
        watchBeacons(watch != nil)
    }

    private func measured(_ reading: Int) {
        let accessPoint = policy.phase.accessPoint
        standing.measured(reading)
        hub.publish(
            .signal(SignalReading(signal: reading, bssid: accessPoint?.bssid, frequency: accessPoint?.frequency)))
        handle(.signal(reading))
    }

    private func record(_ decision: PolicyDecision) {
        let entry = history.append(decision) { ssid in
            NetworkName(
                ssid: ssid, hash: book.id(named: ssid).flatMap { book[$0] }?.hash(localKey: identity.localKey))
        }
        log.notice("\(entry.text)")
        hub.publish(.decision(entry))
    }
}

extension PolicyEvent {
    /// Whether the link in use has ended with it.
    var endsLink: Bool {
        switch self {
        case .linkLost, .interface(isUp: false), .supplicant(isAvailable: false): true
        default: false
        }
    }
}

extension PolicyAction {
    var isSuccession: Bool { if case .useSuccessor = self { true } else { false } }
}

/// The last decisions, for whoever asks why.
struct DecisionHistory {
    private static let capacity = ProtocolLimits.historyDecisions.upperBound
    private var decisions: [Decision] = []
    private var count = 0

    mutating func append(_ decision: PolicyDecision, name: (SSID) -> NetworkName) -> Decision {
        count += 1
        let entry = Decision(decision, seq: count, time: .now, name: name)
        if decisions.count == Self.capacity { decisions.removeFirst() }
        decisions.append(entry)
        return entry
    }

    func last(_ limit: Int) -> [Decision] { decisions.suffix(limit) }
}
