import AppProtocol
import AppServer
import Testing

@Suite struct EventHubTests {
    let hub = EventHub(capacity: 4)

    @Test func aSubscriberGetsWhatIsNew() async {
        publish(2)
        var feed = hub.subscribe()
        #expect(feed.answer == Subscribed(seq: 2, stream: hub.stream))
        publish(2)
        #expect(await feed.next()?.seq == 3)
        #expect(await feed.next()?.seq == 4)
    }

    @Test func aSubscriberWaitsForWhatComes() async {
        let feed = hub.subscribe()
        async let event = feed.first { _ in true }
        publish(1)
        #expect(await event?.seq == 1)
    }

    @Test func aSubscriberGetsWhatItMissed() async throws {
        publish(4)
        var feed = try hub.subscribe(EventSubscription(since: 2, stream: hub.stream))
        #expect(await feed.next()?.seq == 3)
        #expect(await feed.next()?.seq == 4)
    }

    @Test func whatIsNoLongerKeptIsAGap() async throws {
        publish(10)
        var feed = try hub.subscribe(EventSubscription(since: 1, stream: hub.stream))
        #expect(await feed.next().map(Seen.init) == Seen(seq: 6, gap: Gap(reason: .expired, missed: 5)))
        #expect(await feed.next().map(Seen.init) == Seen(seq: 7))
        publish(5)
        #expect(await feed.next().map(Seen.init) == Seen(seq: 11, gap: Gap(reason: .expired, missed: 4)))
        #expect(await feed.next().map(Seen.init) == Seen(seq: 12))
    }

    @Test(arguments: [0, 2, 99, Int.max]) func anEarlierRunIsAGap(since: Int) async throws {
        publish(3)
        var feed = try hub.subscribe(EventSubscription(since: since, stream: "other"))
        #expect(await feed.next().map(Seen.init) == Seen(seq: 0, gap: Gap(reason: .restarted, missed: 0)))
        #expect(await feed.next().map(Seen.init) == Seen(seq: 1))
    }

    /// The gap counts the events that this run has forgotten since its start.
    @Test func theGapOfARestartCounts() async throws {
        publish(10)
        var feed = try hub.subscribe(EventSubscription(since: 2, stream: "other"))
        publish(1)
        #expect(await feed.next().map(Seen.init) == Seen(seq: 7, gap: Gap(reason: .restarted, missed: 7)))
        #expect(await feed.next().map(Seen.init) == Seen(seq: 8))
    }

    /// No event has such a number yet, and none ever has a negative one.
    @Test(arguments: [Int.min, -1, 4, Int.max], [true, false])
    func positionsThatAreNoneAreRefused(since: Int, namesStream: Bool) {
        publish(3)
        let subscription = EventSubscription(since: since, stream: namesStream ? hub.stream : nil)
        let error = #expect(throws: ProtocolError.self) { try hub.subscribe(subscription) }
        #expect(error?.code == .malformed)
        #expect(error?.details == ["field": "body.since"])
        #expect(error?.message.contains("from 0 to 3") == true)
    }

    @Test(arguments: [0, 3]) func theFirstAndTheLastPositionAreTaken(since: Int) async throws {
        publish(3)
        var feed = try hub.subscribe(EventSubscription(since: since, stream: hub.stream))
        publish(1)
        #expect(await feed.next()?.seq == since + 1)
    }

    @Test func aNegativePositionOfAnotherRunIsRefusedToo() {
        #expect(throws: ProtocolError.self) { try hub.subscribe(EventSubscription(since: -1, stream: "other")) }
    }

    @Test func cancellingEndsTheWait() async {
        let feed = hub.subscribe()
        let reading = Task { await feed.first { _ in true } }
        reading.cancel()
        #expect(await reading.value == nil)
    }

    /// Many subscribers at different paces: each sees every number once, as an event or in a gap.
    @Test func nothingIsLostSilently() async {
        let hub = EventHub(capacity: 16)
        let total = 5000
        await withTaskGroup(of: Int.self) { group in
            for pace in 0..<8 {
                let feed = hub.subscribe()
                group.addTask {
                    var position = 0
                    var seen = 0
                    for await event in feed {
                        if case .gap(let gap) = event.body {
                            #expect(event.seq == position + gap.missed)
                            seen += gap.missed
                        } else {
                            #expect(event.seq == position + 1)
                            seen += 1
                        }
                        position = event.seq
                        if position == total { break }
                        if pace > 0, position.isMultiple(of: pace) { await Task.yield() }
                    }
                    return seen
                }
            }
            for _ in 0..<total { hub.publish(.signal(SignalReading(signal: -50))) }
            for await seen in group { #expect(seen == total) }
        }
    }

    private struct Seen: Equatable {
        let seq: Int
        var gap: Gap?

        init(seq: Int, gap: Gap? = nil) {
            self.seq = seq
            self.gap = gap
        }

        init(_ event: Event) {
            seq = event.seq
            if case .gap(let gap) = event.body { self.gap = gap }
        }
    }

    private func publish(_ count: Int) {
        for _ in 0..<count { hub.publish(.signal(SignalReading(signal: -50))) }
    }
}
