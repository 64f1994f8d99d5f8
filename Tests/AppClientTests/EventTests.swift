import AppClient
import AppProtocol
import AppServer
import TestTime
import Testing

/// Events that go on whatever happens to the connection.
@Suite(.timeLimit(.minutes(10))) struct EventTests {
    private func publish(_ signals: ClosedRange<Int>, on hub: EventHub) {
        for signal in signals { hub.publish(.signal(SignalReading(signal: signal))) }
    }

    /// The signals up to the last one wanted, and what else came in between.
    private func signals(
        _ events: inout EventStream.Iterator, upTo last: Int
    ) async throws -> (signals: [Int], gaps: [Gap]) {
        var (signals, gaps) = ([Int](), [Gap]())
        while let event = try await events.next() {
            switch event.body {
            case .signal(let reading): signals.append(reading.signal)
            case .gap(let gap): gaps.append(gap)
            default: break
            }
            if signals.last == last { return (signals, gaps) }
        }
        throw Overdue(description: "the events have ended")
    }

    @Test func noneIsLostAndNoneComesTwice() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            var events = try await manager.events().makeAsyncIterator()
            publish(-90 ... -81, on: fixture.board.hub)
            #expect(try await signals(&events, upTo: -81).signals == Array(-90 ... -81))
            for start in [-80, -70, -60] {
                fixture.relay.refuse(true)
                await fixture.relay.cut()
                publish(start...start + 4, on: fixture.board.hub)
                fixture.relay.refuse(false)
                publish(start + 5...start + 9, on: fixture.board.hub)
                let (signals, gaps) = try await signals(&events, upTo: start + 9)
                #expect(signals == Array(start...start + 9))
                #expect(gaps.isEmpty)
            }
        }
    }

    @Test func whatTheDeviceNoLongerHasIsAGap() async throws {
        try await Fixture.with(Board(Fixture.device, hub: EventHub(capacity: 4))) { fixture async throws in
            let manager = fixture.manager()
            var events = try await manager.events().makeAsyncIterator()
            publish(-90 ... -90, on: fixture.board.hub)
            #expect(try await signals(&events, upTo: -90).signals == [-90])
            fixture.relay.refuse(true)
            await fixture.relay.cut()
            try await eventually("it is noticed") { await !manager.session.isConnected }
            publish(-89 ... -80, on: fixture.board.hub)
            fixture.relay.refuse(false)
            let (signals, gaps) = try await signals(&events, upTo: -80)
            #expect(signals == [-83, -82, -81, -80])
            #expect(gaps == [Gap(reason: .expired, missed: 6)])
        }
    }

    @Test func anAgentThatHasRestartedSaysSo() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            var events = try await manager.events().makeAsyncIterator()
            publish(-90 ... -81, on: fixture.board.hub)
            _ = try await signals(&events, upTo: -81)
            try await Fixture.with { restarted async throws in
                publish(-70 ... -69, on: restarted.board.hub)
                fixture.relay.lead(to: restarted.relay.port)
                await fixture.relay.cut()
                let (signals, gaps) = try await signals(&events, upTo: -69)
                #expect(signals == [-70, -69])
                #expect(gaps.map(\.reason) == [.restarted])
                await manager.close()
            }
        }
    }

    @Test func everybodyHearsEverything() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            try await withThrowingTaskGroup { group in
                let ready = Gate()
                for _ in 1...5 {
                    let stream = try await manager.events()
                    group.addTask {
                        var events = stream.makeAsyncIterator()
                        await ready.pass()
                        return try await signals(&events, upTo: -81).signals
                    }
                }
                publish(-90 ... -81, on: fixture.board.hub)
                ready.open()
                for try await signals in group { #expect(signals == Array(-90 ... -81)) }
            }
            #expect(fixture.relay.accepted == 1)
        }
    }

    /// A slow reader misses some events, is told, and does not delay the others.
    @Test func aSlowReaderIsToldWhatItMissed() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            var slow = try await manager.events().makeAsyncIterator()
            var quick = try await manager.events().makeAsyncIterator()
            for round in 0..<10 {
                publish(round * 100...round * 100 + 99, on: fixture.board.hub)
                _ = try await signals(&quick, upTo: round * 100 + 99)
            }
            let (signals, gaps) = try await signals(&slow, upTo: 999)
            // One more than what is kept, where it began to read a moment before the last one came.
            #expect((256...257).contains(signals.count))
            #expect(signals == Array((1000 - signals.count)...999))
            #expect(gaps == [Gap(reason: .expired, missed: 1000 - signals.count)])
        }
    }

    @Test func unreadEventsAreNotFetched() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            do {
                var events = try await manager.events().makeAsyncIterator()
                publish(-50 ... -50, on: fixture.board.hub)
                _ = try await events.next()
            }
            await fixture.relay.cut()
            try await eventually("it is noticed") { await !manager.session.isConnected }
            publish(-45 ... -45, on: fixture.board.hub)
            _ = try await manager.getBackupWifiNetworks()
            #expect(fixture.relay.accepted == 2)
            // A new listener gets new events only.
            var events = try await manager.events().makeAsyncIterator()
            publish(-40 ... -40, on: fixture.board.hub)
            let (signals, gaps) = try await signals(&events, upTo: -40)
            #expect(signals == [-40])
            #expect(gaps.isEmpty)
        }
    }

    @Test func aReaderCanBeCancelled() async throws {
        try await Fixture.with { fixture async throws in
            let manager = fixture.manager()
            let events = try await manager.events()
            let reading = Task { for try await _ in events {} }
            reading.cancel()
            try await reading.value
            #expect(try await manager.getBackupWifiNetworks().max == 3)
        }
    }

    /// One that this client does not understand comes again with every subscription, and is not fetched in a hurry.
    @Test func anEventThatIsNoneIsNotAskedForWithoutPause() async throws {
        let script: ScriptedDevice.Script = { _, id in
            [ScriptedDevice.answer(id, #"{"seq":4,"stream":"x"}"#), #"{"v":1,"event":"signal","seq":"five"}"#]
        }
        try await ScriptedDevice.with(script) { device async throws in
            let clock = SkippingClock()
            var settings = DeviceSession.Settings()
            settings.clock = clock
            let session = DeviceSession(device.endpoint, settings: settings)
            let events = try await session.events()
            try await device.isAsked("events.subscribe", times: 7)
            let subscriptions = device.count("events.subscribe")
            #expect(clock.pauses.count >= subscriptions - 1)
            // From 0.2 seconds, each cut by up to half.
            #expect(clock.pauses.prefix(6).reduce(.zero, +) > .seconds(5))
            await session.close()
            for try await event in events { Issue.record("\(event)") }
        }
    }

    @Test func theFirstSubscriptionSaysWhyItFails() async throws {
        try await Fixture.with { fixture async throws in
            fixture.relay.refuse(true)
            var settings = DeviceSession.Settings.quick
            settings.timeout = .milliseconds(50)
            let manager = fixture.manager(settings)
            await #expect(throws: ClientError.turnedAway(fixture.endpoint)) { try await manager.events() }
        }
    }
}
