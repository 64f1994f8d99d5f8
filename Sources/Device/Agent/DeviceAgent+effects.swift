import AgentCore
import AgentModel
import AppProtocol
import Failover
import KeyFile
import Linux
import Netlink
import Supplicant

// What the core wants, done.
extension DeviceAgent {
    func perform(_ effect: Effect, at now: Instant) {
        switch effect {
        case .willJoin(let station, let isAnother): self[station].network.willJoin(another: isAnother)
        case .join(let station, let request, let attempt, let afterSignOff):
            join(request, attempt: attempt, with: self[station], afterSignOff: afterSignOff)
        case .leave(let station, let afterSignOff): leave(self[station], afterSignOff: afterSignOff)
        case .bringUp(let station):
            Task { do { try await routes.setLink(station.interface, up: true) } catch { log.warning("\(error)") } }
        case .use(let station):
            reach.use(self[station].network)
            maximumNames = nil
            steering?.use(station.interface)
        case .askSupplicant(let station, let question): ask(self[station], question)
        case .askKernel(let station, let link): ask(self[station], about: link)
        case .reviewHandover(let number, let station, let spare, let isSpareAnswering):
            Task {
                let found = await findHandover(
                    self[station], spare: spare.map { self[$0] }, isSpareAnswering: isSpareAnswering)
                handle(.handoverFound(number, found))
            }
        case .startSupplicants: forEachStation { $0.supplicant.start() }
        case .checkCountry: checkCountry()

        case .scan(let station, let owner, let ssids, let frequencies, let asksEverybody):
            scan(
                Netlink.ScanRequest(ssids: ssids, asksEverybody: asksEverybody, frequencies: frequencies), for: owner,
                with: self[station])
        case .abortScan(let stations): for station in stations { self[station].radio.abortScan() }
        case .readScan(let station, let order): readScan(self[station], after: order)
        case .claim(let results): claims.scanned(results)
        case .watchSignal(let station, let watch):
            signal = watch.map { watch in
                SignalWatcher(watch, radio: self[station].radio, log: log) { [weak self] in self?.handle(.signal($0)) }
            }
        case .watchBeacons(let station, let accessPoint):
            beacons = accessPoint.map { accessPoint in
                BeaconWatcher(
                    beacons: settings.silentBeacons, of: accessPoint.bssid, radio: self[station].radio
                ) { [weak self] in self?.handle(.silence(accessPoint, $0)) }
            }
        case .beaconsDuringScan(let isUnderWay): beacons?.scan(isUnderWay: isUnderWay)
        case .beaconsAnswered(let isThere): beacons?.asked(isThere: isThere)
        case .lookForTraffic: beacons?.lookForTraffic()

        case .signOff: reach.logOff()
        case .follow(let path, let name):
            outside.network = name
            reach.follow(path)
        case .leaveSuccessorProbe: reach.leaveSuccessor()
        case .probe(let epoch, let limit): reach.probe(epoch: epoch, within: limit)
        case .probeSuccessor(let epoch, let station, let limit):
            reach.probeSuccessor(epoch: epoch, through: self[station].network, within: limit)
        case .setCaptive(let isCaptive, let interface): reachability.setCaptive(isCaptive, on: interface)

        case .answer(let id, let result): answer(id, result)
        case .publish(let event): hub.publish(event)
        case .status(let status): publish(status)
        case .service(let text): onServiceStatus(text)
        case .addressesChanged: onAddressChange(Set(routes.addresses.map(\.text)))

        case .commit(let id, let change): commit(id, change)
        case .record(let event, let actions):
            log.trace("event: \(event); actions: \(actions)")
            recording?.append(event, at: now, actions)
        case .say(let level, let text): log.log(level: .init(level), "\(text)")
        case .explain(let part, let station): log.warning("\(Trouble(part, self[station]).advice)")
        case .wait(let timer, let moment, let leeway):
            timers[timer] = moment.map { moment in
                LoopTimer(after: moment - .now, leeway: leeway) { [weak self] in
                    self?.timers[timer] = nil
                    self?.handle(.timer(timer))
                }
            }
        }
    }

    /// The connectivity is the monitor's to add. That it was looked again, or that time goes by, is no news.
    private func publish(_ status: NetworkStatus) {
        var status = status
        status.connectivity = reach.connectivity
        guard status.news != published?.news else { return }
        published = status
        hub.publish(.networkChanged(status))
    }

    // MARK: Links

    private func join(_ request: JoinRequest, attempt: UInt64, with station: Station, afterSignOff: Bool) {
        station.closedWays = []
        performOnLink(of: station, afterSignOff: afterSignOff) { [self] in
            do throws(SupplicantError) {
                try await station.supplicant.join(request, attempt: attempt)
            } catch .superseded {
                return
            } catch {
                log.warning("joining \(request.ssid): \(error)")
                handle(.joinRefused(attempt: attempt, error.joinFailure))
            }
        }
    }

    private func leave(_ station: Station, afterSignOff: Bool) {
        performOnLink(of: station, afterSignOff: afterSignOff) { [self] in
            do throws(SupplicantError) { try await station.supplicant.leave() } catch .superseded, .unavailable {} catch
            {
                log.warning("leaving the network: \(error)")
            }
        }
    }

    /// As soon as the sign-off has ended, which needs the link as it is, and only if nothing else is wanted by then.
    private func performOnLink(
        of station: Station, afterSignOff: Bool, _ order: @escaping @AgentLoop () async -> Void
    ) {
        station.linkOrders += 1
        let number = station.linkOrders
        Task {
            if afterSignOff { await reach.farewell?.value }
            if number == station.linkOrders { await order() }
        }
    }

    private func ask(_ station: Station, _ question: LinkQuestion) {
        Task {
            let status = try? await station.supplicant.status()
            handle(.linkAnswer(station.id, question, LinkAnswer(status, closedWays: station.closedWays)))
        }
    }

    private func ask(_ station: Station, about link: FailoverPolicy.Link) {
        Task {
            do {
                if try await station.radio.link() == nil { handle(.linkGone(link)) }
            } catch {
                log.warning("\(error)")
            }
        }
    }

    // MARK: Which way to move the hardware allows

    private func findHandover(_ station: Station, spare: Station?, isSpareAnswering: Bool) async -> Handover {
        guard let phy = try? await station.radio.phy() else { return .breakBeforeMake(.radioMissing) }
        let (links, channels) = phy.stationConcurrency
        let obstacle: Handover.Obstacle? = links < 2 ? .oneLink : channels < 2 ? .oneChannel : nil
        guard let spare else { return .breakBeforeMake(obstacle ?? .notSet) }
        if obstacle == nil, spare.radio.interfaceIndex == nil { await addInterface(of: spare, beside: station) }
        guard let other = try? await spare.radio.phy() else { return .breakBeforeMake(.spareMissing) }
        if other.index == phy.index, let obstacle { return .breakBeforeMake(obstacle) }
        let isUp = spare.radio.isSupported && routes.link(named: spare.interface)?.isUp ?? false
        guard isUp, isSpareAnswering else { return .breakBeforeMake(.spareNotReady) }
        return .makeBeforeBreak
    }

    /// Makes the spare interface, where the radio in use has room for it. It goes with the radio, and not with the agent.
    private func addInterface(of spare: Station, beside station: Station) async {
        // The first interface is of a radio that may come back.
        guard let name = settings.spareInterface, name == spare.interface else { return }
        do {
            try await station.radio.addStation(name)
            log.notice("the radio of \(station.interface) has the interface \(name) too now")
        } catch {
            log.warning("\(error)")
        }
    }

    // MARK: Scans

    private func scan(_ request: Netlink.ScanRequest, for owner: ScanOwner, with station: Station) {
        Task {
            let end = await end(of: request, with: station) { [weak self] in self?.handle(.scanBegan(owner)) }
            handle(.scanEnded(owner, end))
        }
    }

    private func end(
        of request: Netlink.ScanRequest, with station: Station, _ onStart: @escaping @AgentLoop () -> Void
    ) async -> ScanEnd {
        do throws(NetlinkError) {
            let request = await fitting(request, station)
            return switch try await station.radio.scan(request, deadline: .seconds(50), onStart: onStart) {
            case .finished(let results): .finished(results)
            case .aborted: .aborted
            }
        } catch {
            // That the interface is missing is said by itself, and once.
            if !error.isBusy, !error.isInterfaceMissing { log.warning("\(error)") }
            return error.isBusy ? .busy(ProtocolError(error)) : .failed(ProtocolError(error))
        }
    }

    /// The request with as many names as the radio can call at once; the policy begins with another one each time.
    private func fitting(_ request: Netlink.ScanRequest, _ station: Station) async -> Netlink.ScanRequest {
        guard !request.ssids.isEmpty else { return request }
        if maximumNames == nil { maximumNames = try? await station.radio.phy().maximumScanSSIDs }
        let maximum = max(1, maximumNames ?? 1)
        var request = request
        request.ssids = Array(request.ssids.prefix(max(1, maximum - 1)))
        request.asksEverybody = request.ssids.count < maximum
        return request
    }

    private func readScan(_ station: Station, after order: ScanOrder?) {
        Task {
            do {
                handle(.scanRead(try await station.radio.scanResults(), after: order))
            } catch {
                log.warning("\(error)")
                handle(.scanRead(nil, after: order))
            }
        }
    }

    // MARK: The key file

    /// One change after the other, in the order in which the core has made them.
    private func commit(_ id: CommitID, _ change: StateChange) {
        lastCommit = Task { [lastCommit] in
            await lastCommit?.value
            do throws(ProtocolError) {
                let state = try await store.update { state throws(ProtocolError) in try change.apply(to: &state) }
                handle(.committed(id, state))
            } catch {
                handle(.refusedCommit(id, error))
            }
        }
    }
}

extension LinkAnswer {
    fileprivate init(_ status: SupplicantStatus?, closedWays: TransitionDisable) {
        switch status {
        case nil: self = .none
        case let status? where status.state == .completed:
            self = .linked(
                LinkFacts(
                    ssid: status.ssid, bssid: status.bssid, frequency: status.frequency, security: status.security,
                    protection: status.protection, raised: status.protection.raised(by: closedWays),
                    usesTKIP: status.usesTKIP))
        case _: self = .notLinked
        }
    }
}

extension ProtocolError {
    init(_ error: NetlinkError) {
        switch error {
        case _ where error.isInterfaceMissing: self.init(.interfaceMissing, "\(error)")
        case _ where error.isBusy: self.init(.scanBusy, "\(error)")
        default: self.init(.radioFailed, "\(error)")
        }
    }
}
