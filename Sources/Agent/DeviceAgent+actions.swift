import AgentModel
import AppProtocol
import EventLoop
import FailoverPolicy
import Netlink
import Supplicant

// What the policy wants, done.
extension DeviceAgent {
    func perform(_ action: PolicyAction) {
        log.trace("action: \(action)")
        switch action {
        case .join(let target): join(target)
        case .leave: leave()
        case .scan(let order): scan(order)
        case .cancelScan: cancelScan()
        case .watchSignal(let watch): watchSignal(watch)
        case .bringInterfaceUp: bringInterfaceUp()
        case .record(let decision): record(decision)
        case .store(.switchEnded(let id, let isCommitted)): switchEnded(id, isCommitted: isCommitted)
        case .probe(let epoch, let limit): reach.probe(epoch: epoch, within: limit)
        case .switchProgress(let id, let progress): switchProgressed(id, progress)
        }
    }

    private func join(_ target: LinkTarget) {
        guard let network = book[target.network] else {
            handle(.joinFailed(epoch: target.epoch, .notFound))
            return
        }
        // Another access point of the same network is no other network: the address still counts there.
        let isAnother = target.network != lastLinked
        if isAnother { gate.close(over: addresses) } else { gate.open() }
        reach.willJoin(another: isAnother)
        let request = JoinRequest(
            ssid: network.ssid, credential: network.credential, isHidden: network.isHidden,
            bssid: target.bssid, frequencies: target.frequencies)
        performOnLink { [self] in
            do throws(SupplicantError) { try await supplicant.join(request, attempt: target.epoch) } catch .superseded {
                return
            } catch {
                log.warning("joining \(network.ssid): \(error)")
                handle(.joinFailed(epoch: target.epoch, error.joinFailure))
            }
        }
    }

    private func leave() {
        performOnLink { [self] in
            do throws(SupplicantError) { try await supplicant.leave() } catch .superseded, .unavailable {} catch {
                log.warning("leaving the network: \(error)")
            }
        }
    }

    /// As soon as whoever signed in has logged off, which needs the link as it is, and only if nothing else is wanted by
    /// then.
    private func performOnLink(_ order: @escaping @AgentLoop () async -> Void) {
        linkOrders += 1
        let number = linkOrders
        Task {
            await reach.farewell?.value
            if number == linkOrders { await order() }
        }
    }

    /// Whether a network that is there is left on purpose: for another one, or for none.
    func isLeaving(by actions: [PolicyAction], after event: PolicyEvent) -> Bool {
        switch event {
        case .linkLost, .interface(isUp: false), .supplicant(isAvailable: false): return false
        default: break
        }
        return actions.contains { action in
            switch action {
            case .join(let target): target.network != lastLinked
            case .leave: true
            default: false
            }
        }
    }

    private func bringInterfaceUp() {
        guard routes.link(named: settings.interface) != nil else { return }
        log.notice("bringing \(settings.interface) up")
        Task {
            do { try await routes.setLink(settings.interface, up: true) } catch { log.warning("\(error)") }
        }
    }

    private func watchSignal(_ watch: SignalWatch?) {
        signal = watch.map { watch in
            SignalWatcher(watch, radio: radio, log: log) { [weak self] signal in self?.measured(signal) }
        }
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
