import AgentModel
import AppClient
import AppProtocol
import AppServer
import TestTime
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// The client and the server with each other.
@Suite struct ConnectionTests {
    @Test func everyMessageArrivesAndIsAnswered() async throws {
        let device = FakeDevice()
        let hash = NetworkHash(localKey: Secret(text: "key"), ssid: try SSID("Home"), password: nil)
        let new = NewNetwork(ssid: try SSID(bytes: [0xff]), password: Secret(text: "12345678"), isHidden: true)
        let scan = ScanRequest(ssids: [new.ssid], frequencies: [Frequency(megahertz: 2412)])
        try await withClient(of: device) { client async throws in
            #expect(try await client.capabilities() == FakeDevice.capabilities)
            #expect(try await client.network() == FakeDevice.network)
            #expect(try await client.backups() == FakeDevice.backups)
            #expect(try await client.updateBackups([.stored(hash), .new(new)], ifRevision: 1) == FakeDevice.backups)
            #expect(try await client.switchNetwork(to: .stored(hash)).phase == .accepted)
            #expect(try await client.switchStatus("s-1").phase == .committed)
            #expect(try await client.startScan(scan).scanId == 5)
            #expect(try await client.scanResults().lastScanId == 5)
            #expect(try await client.history(limit: 3).decisions.count == 3)
        }
        #expect(
            device.bodies == [
                .getCapabilities, .getNetwork, .getBackups,
                .updateBackups(BackupsUpdate(networks: [.stored(hash), .new(new)], ifRevision: 1)),
                .switchNetwork(SwitchRequest(target: .stored(hash))), .getSwitch(SwitchQuery(switchId: "s-1")),
                .startScan(scan), .getScan,
                .getHistory(HistoryQuery(limit: 3)),
            ])
        let peer = Peer(origin: .process(pid: getpid(), uid: getuid(), gid: getgid()), role: .manage)
        #expect(device.peers.allSatisfy { $0 == peer })
    }

    @Test func errorsArriveWhole() async throws {
        let error = ProtocolError(.tooManyNetworks, "the list is full", details: ["max": 3, "field": "networks"])
        try await withClient(of: FakeDevice(error: error)) { client async throws in
            await #expect(throws: ClientError.refused(error)) { try await client.backups() }
            await #expect(throws: ClientError.refused(error)) { try await client.network() }
        }
    }

    @Test func requestsAtTheSameTimeGetTheirOwnAnswers() async throws {
        try await withClient { client async throws in
            try await withThrowingTaskGroup { group in
                for limit in 1...50 {
                    group.addTask { (limit, try await client.history(limit: limit).decisions.count) }
                }
                for try await (limit, count) in group { #expect(count == limit) }
            }
        }
    }

    @Test func eventsComeBesideAnswers() async throws {
        let hub = EventHub()
        try await withClient(hub: hub) { client async throws in
            let events = try await client.events()
            for signal in -60 ..< -50 { hub.publish(.signal(SignalReading(signal: signal))) }
            #expect(try await client.network() == FakeDevice.network)
            var expected = -60
            for try await event in events {
                #expect(event.body == .signal(SignalReading(signal: expected)))
                expected += 1
                if expected == -50 { break }
            }
            await #expect(throws: ClientError.self) { try await client.events() }
        }
    }

    @Test func eventsSinceAKnownOne() async throws {
        let hub = EventHub(capacity: 4)
        for _ in 0..<10 { hub.publish(.signal(SignalReading(signal: -50))) }
        try await withClient(hub: hub) { client async throws in
            let events = try await client.events(EventSubscription(since: 2, stream: hub.stream))
            #expect(events.subscribed == Subscribed(seq: 10, stream: hub.stream))
            var iterator = events.makeAsyncIterator()
            #expect(try await iterator.next()?.body == .gap(Gap(reason: .expired, missed: 4)))
            #expect(try await iterator.next()?.seq == 7)
        }
    }

    @Test func aScanIsWaitedFor() async throws {
        let hub = EventHub()
        let gate = Gate()
        try await withClient(of: FakeDevice(gate: gate), hub: hub) { client async throws in
            async let scan = client.scan()
            try await gate.isReached()
            hub.publish(.scanFinished(ScanFinished(scanId: 4, outcome: .finished, networks: 1)))
            hub.publish(.scanFinished(ScanFinished(scanId: 5, outcome: .aborted, networks: 0)))
            gate.open()
            let finished = try await scan.finished
            #expect(finished == ScanFinished(scanId: 5, outcome: .aborted, networks: 0))
        }
    }

    @Test func aSwitchIsFollowedToItsEnd() async throws {
        let hub = EventHub()
        let gate = Gate()
        let hash = NetworkHash(localKey: Secret(text: "key"), ssid: try SSID("Home"), password: nil)
        try await withClient(of: FakeDevice(gate: gate), hub: hub) { client async throws in
            async let outcome = client.switchNetwork(to: .stored(hash), within: .seconds(600))
            try await gate.isReached()
            hub.publish(.switchProgress(SwitchStatus(switchId: "s-0", phase: .failed)))
            hub.publish(.switchProgress(SwitchStatus(switchId: "s-1", phase: .joining)))
            hub.publish(
                .switchProgress(SwitchStatus(switchId: "s-1", phase: .rolledBack, reason: ReasonCode(.wrongKey))))
            gate.open()
            let status = try await outcome
            #expect(status == SwitchStatus(switchId: "s-1", phase: .rolledBack, reason: ReasonCode(.wrongKey)))
        }
    }

    /// The progress was lost in a gap: the outcome is asked for.
    @Test func aSwitchIsFollowedThroughAGap() async throws {
        let hub = EventHub(capacity: 1)
        let gate = Gate()
        let hash = NetworkHash(localKey: Secret(text: "key"), ssid: try SSID("Home"), password: nil)
        try await withClient(of: FakeDevice(gate: gate), hub: hub) { client async throws in
            async let outcome = client.switchNetwork(to: .stored(hash), within: .seconds(600))
            try await gate.isReached()
            hub.publish(.gap(Gap(reason: .expired, missed: 1)))
            gate.open()
            let phase = try await outcome.phase
            #expect(phase == .committed)
        }
    }

    @Test func anAnswerThatDoesNotComeIsNotWaitedForForever() async throws {
        let gate = Gate()
        try await withClient(of: FakeDevice(gate: gate)) { client async throws in
            var impatient = client
            impatient.timeout = .milliseconds(10)
            await #expect(throws: ClientError.timedOut) { try await impatient.network() }
            gate.open()
            // The late answer to the first request is not taken for the answer to this one.
            #expect(try await client.backups() == FakeDevice.backups)
        }
    }

    @Test func aCancelledRequestEndsAtOnce() async throws {
        let gate = Gate()
        try await withClient(of: FakeDevice(gate: gate)) { client async throws in
            let asking = Task { try await client.network() }
            try await gate.isReached()
            asking.cancel()
            await #expect(throws: ClientError.cancelled) { try await asking.value }
            gate.open()
        }
    }
}

/// A switch drops the link that its answer goes over, so the device is told when the answer has arrived.
@Suite struct DeliveryTests {
    private struct Watch: DeviceService {
        let device: FakeDevice
        let arrived: AsyncStream<SwitchStatus>.Continuation

        func respond(to request: Request.Body, from peer: Peer) async throws(ProtocolError) -> Response.Body {
            try await device.respond(to: request, from: peer)
        }

        func answerSent(_ answer: SwitchStatus) async { arrived.yield(answer) }
    }

    /// Asks for other things, for a switch, and for other things again, and returns whose arrival was told.
    private func arrivals(
        _ device: FakeDevice, of client: (Watch) async throws -> Void
    ) async throws -> [SwitchStatus] {
        let (stream, continuation) = AsyncStream.makeStream(of: SwitchStatus.self)
        try await client(Watch(device: device, arrived: continuation))
        continuation.finish()
        return await stream.reduce(into: []) { $0.append($1) }
    }

    private func talk(to endpoint: Endpoint) async throws {
        let client = try await DeviceClient(connectingTo: endpoint, timeout: .seconds(60))
        _ = try? await client.network()
        let accepted = try? await client.switchNetwork(to: .new(NewNetwork(ssid: SSID("Open"), password: nil)))
        _ = try? await client.confirmSwitch(accepted?.switchId ?? "")
        await client.close()
    }

    private let accepted = SwitchStatus(switchId: "s-1", phase: .accepted)

    @Test func isToldOnTheSocket() async throws {
        let told = try await arrivals(FakeDevice()) { watch in
            try await withServer(watch) { path in try await talk(to: .unixSocket(path: path)) }
        }
        #expect(told == [accepted])
    }

    @Test func isToldInTheNetwork() async throws {
        let told = try await arrivals(FakeDevice()) { watch in
            try await withNetworkServer(watch) { _, port in
                try await talk(to: .network(host: "127.0.0.1", port: port, device: .sample))
            }
        }
        #expect(told == [accepted])
    }

    @Test func aRefusalIsNoBeginning() async throws {
        let told = try await arrivals(FakeDevice(error: ProtocolError(.cannotSwitch, "no"))) { watch in
            try await withServer(watch) { path in try await talk(to: .unixSocket(path: path)) }
        }
        #expect(told == [])
    }

    // MARK: Clients that are gone

    private func switchRequest() throws -> String {
        let hash = NetworkHash(localKey: Secret(text: "key"), ssid: try SSID("Home"), password: nil)
        return request(.switchNetwork, body: #"{"hash":"\#(hash)"}"#)
    }

    /// The client closes its connection while the device still thinks about the command.
    @Test func aClientThatIsGoneDoesNotHoldUpTheSwitch() async throws {
        let gate = Gate()
        let (arrivals, arrived) = AsyncStream.makeStream(of: SwitchStatus.self)
        try await withServer(Watch(device: FakeDevice(gate: gate), arrived: arrived)) { path in
            do {
                let client = try RawSocket.connecting(to: path)
                try await client.send(try switchRequest())
                try await gate.isReached()
                withExtendedLifetime(client) {}
            }
            gate.open()
            #expect(await arrivals.first { @Sendable _ in true } == accepted)
        }
    }

    /// The answer waits behind events that the client does not read.
    @Test func aClientThatDoesNotReadDoesNotHoldUpTheSwitch() async throws {
        let (hub, clock) = (EventHub(), SteppedClock())
        let (arrivals, arrived) = AsyncStream.makeStream(of: SwitchStatus.self)
        let event = Event.Body.switchProgress(
            SwitchStatus(switchId: "s-0", phase: .joining, text: String(repeating: "x", count: 32 << 10)))
        let line = Event(seq: 1, time: .now, body: event).line().count + 1
        let taken = try RawSocket.taken(ofWritesOf: line)
        try await withServer(Watch(device: FakeDevice(), arrived: arrived), hub: hub, clock: clock) { path in
            let client = try RawSocket.connecting(to: path)
            try await client.send(request(.subscribe))
            #expect(try answer(await client.line()).code == nil)
            for _ in 0..<(taken / line + 2) { hub.publish(event) }
            // Once that much lies unread, the kernel takes no more of the server, neither events nor the answer.
            try await client.hasToRead(taken)
            try await client.send(try switchRequest())
            try await clock.sleeps(for: .milliseconds(1500))
            clock.advance(by: .milliseconds(1500))
            #expect(await arrivals.first { @Sendable _ in true } == accepted)
            withExtendedLifetime(client) {}
        }
    }
}
