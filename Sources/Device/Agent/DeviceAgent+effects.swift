import AgentCore
import AgentModel
import AppProtocol
import Failover
import Glibc
import Hotspots
import Linux
import Netlink
import Supplicant

// Performs the core's effects.
extension DeviceAgent {
    func perform(_ effect: Effect, at now: Instant) {
        switch effect {
        case .join(let station, let request, let attempt, let isAnother, let afterSignOff):
            join(request, attempt: attempt, another: isAnother, with: self[station], afterSignOff: afterSignOff)
        case .leave(let station, let afterSignOff): leave(self[station], afterSignOff: afterSignOff)
        case .seekAddress(let station, let request): self[station].addresses?.seek(request)
        case .confirmAddress(let station): self[station].addresses?.confirm()
        case .setStaticIPv6(let station, let address): self[station].addresses?.setStaticIPv6(address)
        case .dropAddress(let station): self[station].addresses?.drop(leaving: false)
        case .bringUp(let station):
            Task { do { try await routes.setLink(station.interface, up: true) } catch { log.warning("\(error)") } }
        case .use(let station):
            reach.use(self[station].network)
            steering?.use(station.interface)
            publishNameServers()
        case .askSupplicant(let station, let question): askSupplicant(self[station], question)
        case .askKernel(let station, let link): askKernel(self[station], about: link)
        case .reviewHandover(let number, let station, let spare, _):
            review(number, self[station], spare.map { self[$0] })
        case .addInterface(let number, let new, let station): addInterface(of: self[new], beside: self[station], number)
        case .startSupplicants: forEachStation { $0.supplicant.start() }
        case .readRules(let station): readRules(of: self[station])
        case .listenForConfigurator(let station, let isWanted): listenForConfigurator(self[station], isWanted)

        case .askNameLimit(let station): askNameLimit(of: self[station])
        case .scan(let station, let owner, let ssids, let frequencies, let asksEverybody):
            scan(
                Netlink.ScanRequest(ssids: ssids, asksEverybody: asksEverybody, frequencies: frequencies), for: owner,
                with: self[station])
        case .abortScan(let stations): for station in stations { self[station].radio.abortScan() }
        case .readScan(let station, let order): readScan(self[station], after: order)
        case .claim(let networks): claim(networks)
        case .watchSignal(let station, let watch): watchSignal(of: self[station], watch)
        case .measure(let station, let number): measure(self[station], number)
        case .watchBeacons(let station, let accessPoint):
            beacons = accessPoint.map { accessPoint in
                BeaconLossMonitor(
                    BeaconLossDetector(beacons: settings.silentBeacons, idlePace: settings.idlePace),
                    radio: self[station].radio,
                    askGateway: { [weak self] in self?.askGateway(of: station) },
                    onEvent: { [weak self] in self?.handle(.silence(accessPoint, $0)) })
            }
        case .beaconsDuringScan(let isUnderWay): beacons?.handle(.scan(isUnderWay: isUnderWay))
        case .beaconsAnswered(let isThere): beacons?.handle(.asked(isThere: isThere))
        case .lookForTraffic: beacons?.lookForTraffic()

        case .checkRadio(let station): checkRadio(of: self[station])
        case .disconnect(let station): disconnect(self[station])
        case .recover(let station, let step): recover(self[station], step)
        case .restoreRadio(let station): restoreRadio(of: self[station])
        case .rememberRecovery(let memory): rememberRecovery(memory)

        case .askSetupAccessPointRadio(let number, let station): askSetupAccessPointRadio(number, beside: self[station])
        case .openSetupAccessPoint(let number, let order): openSetupAccessPoint(number, order)
        case .closeSetupAccessPoint(let number): closeSetupAccessPoint(number)
        case .rememberSetupAccessPoint(let opening): rememberSetupAccessPoint(opening)

        case .signOff: reach.logOff()
        case .follow(let path, let name, let isMetered):
            // Use a pseudonym: the name appears in file names and log lines.
            outside.network = NetworkHash(base64: name).map { names.name(of: $0).base64 } ?? ""
            reach.follow(path, isMetered: isMetered)
        case .standsBy(let station, let isStandingBy): standsBy(self[station], isStandingBy)
        case .checkUplinks(let candidates, let lost):
            if !candidates.isEmpty { steering?.keepPaths() }
            uplinks.follow(candidates, lost: lost)
        case .prefer(let uplink): steering?.prefer(uplink?.interface)
        case .leaveSuccessorProbe: reach.handle(.leaveSuccessor)
        case .probe(let epoch, let limit): reach.probe(epoch: epoch, within: limit)
        case .probeSuccessor(let epoch, let station, let limit):
            reach.handle(.probeSuccessor(epoch: epoch, station, within: limit))
        case .setCaptive(let isCaptive, let interface): reachability.setCaptive(isCaptive, on: interface)

        case .answer(let id, let result): answer(id, result)
        case .publish(let event):
            hub.publish(event)
            if case .networkChanged(let status) = event { announce(status.deviceName) }
        case .readConnectivity: handle(.connectivity(reach.connectivity))
        case .service(let text): onServiceStatus(text)
        case .addressesChanged: onAddressChange(Set(routes.addresses.map(\.text)))

        case .commit(let id, let change): commit(id, change)
        case .checkStore: checkStore()
        case .record(let event, let actions):
            log.trace("event: \(event); actions: \(actions)")
            recording?.append(event, at: now, actions)
        case .log(let level, let text): log.log(level: .init(level), "\(text)")
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

    // MARK: Links

    private func join(
        _ request: JoinRequest, attempt: UInt64, another isAnother: Bool, with station: Station, afterSignOff: Bool
    ) {
        performOnLink(of: station, afterSignOff: afterSignOff) { [self] in
            if request.roam == nil { station.addresses?.drop(leaving: isAnother) }
            station.certificateTimes = nil
            enter(request.ssid, with: station)
            do throws(SupplicantError) {
                try await station.supplicant.join(withTimeChecks(request), attempt: attempt)
            } catch .superseded {
                return
            } catch {
                log.warning("cannot join \(request.ssid): \(error)")
                handle(.joinRefused(attempt: attempt, error.joinFailure))
            }
        }
    }

    private func leave(_ station: Station, afterSignOff: Bool) {
        performOnLink(of: station, afterSignOff: afterSignOff) { [self] in
            station.addresses?.drop(leaving: true)
            station.certificateTimes = nil
            do throws(SupplicantError) { try await station.supplicant.leave() } catch .superseded, .unavailable {} catch
            {
                log.warning("cannot leave the network: \(error)")
            }
        }
    }

    /// Performs the order. With `afterSignOff`, waits until a hotspot provider has signed off, which needs the link.
    /// Skips the order if a later one has replaced it.
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

    private func askSupplicant(_ station: Station, _ question: LinkQuestion) {
        Task {
            let status = try? await station.supplicant.status()
            if let ssid = status?.ssid, status?.state == .completed { enter(ssid, with: station) }
            handle(.linkAnswer(station.id, question, LinkAnswer(status)))
            if status?.security == .enterprise { checkCertificateTimes(of: station) }
        }
    }

    // MARK: Certificate dates

    /// Disables the check of a certificate's validity dates while the device does not know the time.
    private func withTimeChecks(_ request: JoinRequest) -> JoinRequest {
        guard case .enterprise = request.credential, !ClockKnowledge.read().isKnown else { return request }
        log.notice("clock is not set: the certificate's validity dates are checked later for \(request.ssid)")
        var request = request
        request.checksCertificateTimes = false
        return request
    }

    /// Authenticates again, with a check of the dates, as soon as the device knows the time.
    private func checkCertificateTimes(of station: Station) {
        guard ClockKnowledge.read().isKnown else {
            station.certificateTimes = LoopTimer(every: .seconds(30)) { [weak self, weak station] in
                if let station { self?.checkCertificateTimes(of: station) }
            }
            return
        }
        station.certificateTimes = nil
        Task {
            do throws(SupplicantError) {
                guard try await station.supplicant.checkCertificateTimes() else { return }
                log.notice("clock is set: re-authenticating to check the certificate's validity dates")
            } catch {
                log.warning("cannot re-authenticate to check the certificate's validity dates: \(error)")
            }
        }
    }

    private func askKernel(_ station: Station, about link: FailoverPolicy.Link) {
        Task {
            do {
                if try await station.radio.link() == nil { handle(.linkGone(link)) }
            } catch {
                log.warning("\(error)")
            }
        }
    }

    // MARK: Handover

    private func review(_ number: UInt64, _ station: Station, _ spare: Station?) {
        Task {
            let radios = HandoverRadios(
                inUse: HandoverRadios.Radio(try? await station.radio.phy()),
                spare: HandoverRadios.Radio(try? await spare?.radio.phy()))
            handle(.radiosFound(number, radios))
        }
    }

    /// Creates the spare interface. The agent does not remove it: it stays as long as the radio.
    private func addInterface(of spare: Station, beside station: Station, _ number: UInt64) {
        Task {
            do {
                try await station.radio.addStation(spare.interface)
                log.notice("added the interface \(spare.interface) to the radio of \(station.interface)")
            } catch {
                log.warning("\(error)")
            }
            review(number, station, spare)
        }
    }

    /// Sends the gateways a frame that they answer.
    private func askGateway(of station: StationID) {
        guard let index = self[station].radio.interfaceIndex else { return }
        for gateway in Set(routes.defaultRoutes.filter { $0.index == index }.compactMap(\.gateway)) {
            if let address = IPAddress(bytes: gateway) { routes.ask(address, on: index) }
        }
    }

    // MARK: The signal

    /// Hysteresis in dB. The kernel reports a crossing of the threshold only beyond this margin.
    private static let hysteresis = 2

    private func watchSignal(of station: Station, _ watch: SignalWatch?) {
        station.signalWatches += 1
        guard let watch else { return }
        let number = station.signalWatches
        Task {
            do {
                try await station.radio.watchSignal(
                    at: watch.threshold + Self.hysteresis, hysteresis: Self.hysteresis)
            } catch {
                log.debug("the driver does not monitor the signal: \(error)")
                if number == station.signalWatches { handle(.signalUnsupervised(station.id)) }
            }
        }
    }

    private func measure(_ station: Station, _ number: UInt64) {
        AgentLoop.begin { [weak self] in
            do throws(NetlinkError) {
                guard var info = try await station.radio.station() else { return }
                guard let self else { return }
                handle(.radioAnswered(station.id, true))
                // In power save the radio misses some beacons, so their number means nothing.
                if settings.powerSave[station.ssid] != .off { info.beaconsReceived = nil }
                if let strength = info.strength { handle(.measured(number, strength, info)) }
            } catch {
                self?.reportUnanswered(error, by: station)
            }
        }
    }

    private func readRules(of station: Station) {
        Task { if let country = try? await station.radio.regulatoryDomain() { handle(.rules(country)) } }
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
            return switch try await station.radio.scan(request, deadline: .seconds(50), onStart: onStart) {
            case .finished(let results): .finished(results)
            case .aborted: .aborted
            }
        } catch {
            // The core reports a missing interface itself, once.
            if error.isInterfaceMissing || error.isInterfaceDown { return .failed(ProtocolError(error)) }
            if error.isBusy { return .busy(ProtocolError(error)) }
            // A refusal of the firmware (EBADE) proves that it answers.
            if error.errno != EBADE { reportUnanswered(error, by: station) }
            let joinsUnseen = (try? await station.radio.abilities())?.joinsByItself ?? false
            return .refused(
                ProtocolError(error), joinsUnseen: joinsUnseen, isConnecting: error.errno == EAGAIN)
        }
    }

    private func askNameLimit(of station: Station) {
        Task { handle(.nameLimit(station.id, try? await station.radio.phy().maximumScanSSIDs)) }
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

    private func claim(_ networks: [BSS]) {
        Task { [hotspots = reach.hotspots] in
            handle(.claimed(await hotspots?.filter(networks.compactMap(ScannedHotspot.init)) ?? [:]))
        }
    }

    // MARK: The key file

    /// Checks, after all earlier changes, whether the store can be written.
    func checkStore() {
        lastCommit = Task { [lastCommit] in
            await lastCommit?.value
            handle(.storeChecked(isWritable: await store.isWritable))
        }
    }

    /// Commits the change after all earlier changes, in the core's order.
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

extension HandoverRadios.Radio {
    fileprivate init?(_ phy: Phy?) {
        guard let phy else { return nil }
        let (links, channels) = phy.stationConcurrency
        self.init(index: Int(phy.index), links: links, channels: channels)
    }
}

extension ScannedHotspot {
    fileprivate init?(_ bss: BSS) {
        guard let ssid = bss.ssid else { return nil }
        self.init(ssid: ssid, bssid: bss.bssid, signal: bss.signal, security: bss.security)
    }
}

extension LinkAnswer {
    fileprivate init(_ status: SupplicantStatus?) {
        switch status {
        case nil: self = .none
        case let status? where status.state == .completed:
            self = .linked(
                LinkFacts(
                    ssid: status.ssid, bssid: status.bssid, frequency: status.frequency, security: status.security,
                    protection: status.protection, usesTKIP: status.usesTKIP))
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
