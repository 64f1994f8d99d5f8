import AgentModel
import Glibc
import Linux
import Randomness
import Testing

@testable import Supplicant

private let connectedLine = "CTRL-EVENT-CONNECTED - Connection to 02:00:00:00:01:00 completed [id=0 id_str=]"

@Suite(.timeLimit(.minutes(10))) struct OutageTests {
    /// The one at which intervals begin.
    private static var clock: ManualClock { ManualClock(start: Instant(milliseconds: 0)) }

    @Test @AgentLoop func noticesADeathThatLeftTheSocketFileBehind() async throws {
        // Nothing but the supervision notices this death.
        var timing = Bench.patient
        timing.requestLimit = .seconds(2)
        timing.supervision = .milliseconds(20)
        timing.closeSupervision = .milliseconds(20)
        let bench = Bench(timing: timing)
        await bench.start()
        try await bench.supplicant.join(Example.request(), attempt: 1)
        bench.fake.die()
        #expect(
            await bench.log.next()
                == .joinFailed(attempt: 1, .supplicantUnavailable, detail: "the connection to wpa_supplicant was lost"))
        #expect(await bench.log.next() == .unavailable)
        await #expect(throws: SupplicantError.unavailable) {
            try await bench.supplicant.join(Example.request(), attempt: 2)
        }
        let before = bench.fake.asked.count
        bench.fake.comeAlive()
        #expect(await bench.log.next() == .available)
        #expect(bench.fake.asked[before...].starts(with: ["ATTACH", "STA_AUTOCONNECT 0"]))
    }

    @Test @AgentLoop func waitsForASupplicantThatIsNotThereYet() async {
        var timing = Bench.patient
        timing.retry = BackOff(first: .seconds(1000), last: .seconds(1000))
        let bench = Bench(timing: timing)
        bench.fake.die()
        unlink(bench.fake.path)
        bench.supplicant.start()
        // Only the watch over the directory can tell in time.
        bench.fake.comeAlive()
        #expect(await bench.log.next() == .available)
    }

    @Test @AgentLoop func aLateAnswerNeverAnswersTheWrongQuestion() async throws {
        let bench = Bench()
        await Self.clock.run { clock in
            await bench.start()
            bench.fake.misbehave(at: "ADD_NETWORK", .late)
            let join = Task { try await bench.supplicant.join(Example.request(), attempt: 1) }
            #expect(await bench.fake.reaches { $0.asked.last == "ADD_NETWORK" })
            clock.advance(by: Bench.patient.requestLimit)
            await #expect(throws: SupplicantError.timedOut(command: "ADD_NETWORK")) { try await join.value }
        }
        bench.fake.answerLate()
        // The network of the late answer is number 0. Had it answered this question, this join would use it.
        try await bench.supplicant.join(Example.request(), attempt: 2)
        #expect(bench.fake.asked.last { $0.hasPrefix("SELECT_NETWORK") } == "SELECT_NETWORK 1")
        // The socket was made anew without an event.
        #expect(bench.fake.asked.count { $0 == "ATTACH" } == 2)
        #expect(bench.log.all == [.available])
    }

    @Test @AgentLoop func anAnswerThatCameTwiceIsNoticedBeforeTheNetworkIsSelected() async throws {
        for command in ["BSSID_IGNORE", "ADD_NETWORK", "SET_NETWORK 0 bgscan"] {
            let bench = Bench()
            bench.fake.addNetwork(0)
            await bench.start()
            bench.fake.misbehave(at: command, .twice)
            do {
                try await bench.supplicant.join(Example.request(), attempt: 1)
            } catch let error as SupplicantError {
                guard case .malformedReply = error else {
                    Issue.record(error)
                    continue
                }
            }
            // Either it was seen to be superfluous, or nothing was selected.
            let network = try await bench.supplicant.select()
            #expect(bench.fake.network(network)?["psk"] != nil)
        }
    }

    @Test @AgentLoop func aSocketMadeAnewByTheSameSupplicantGoesUnnoticed() async throws {
        let bench = Bench()
        await bench.start()
        try await bench.supplicant.join(Example.request(), attempt: 1)
        bench.fake.reopen()
        #expect(await bench.fake.reaches { $0.asked.count { $0 == "ATTACH" } == 2 })
        // Its answer comes after the whole greeting.
        _ = try await bench.supplicant.status()
        bench.fake.send("CTRL-EVENT-CONNECTED - Connection to 02:00:00:00:01:00 completed [id=0 id_str=]")
        #expect(await bench.log.next() == .connected(attempt: 1, bssid: Example.bssid))
        #expect(bench.fake.knownNetworks == [0])
    }

    @Test @AgentLoop func aSupplicantThatHangsIsUnavailable() async throws {
        let bench = Bench()
        await Self.clock.run { clock in
            await bench.start()
            bench.fake.misbehave(at: "BSSID_IGNORE", .never)
            bench.fake.misbehave(at: "ATTACH", .never)
            let join = Task { try await bench.supplicant.join(Example.request(), attempt: 1) }
            #expect(await bench.fake.reaches { $0.asked.last == "BSSID_IGNORE clear" })
            clock.advance(by: Bench.patient.requestLimit)
            await #expect(throws: SupplicantError.timedOut(command: "BSSID_IGNORE clear")) { try await join.value }
            // It is asked once more, from the beginning, and hangs still.
            #expect(await bench.fake.reaches { $0.asked.last == "ATTACH" })
            clock.advance(by: Bench.patient.requestLimit)
            #expect(await bench.log.next() == .unavailable)
            clock.advance(by: Bench.patient.retry.first)
            #expect(await bench.log.next() == .available)
        }
    }

    /// wpa_supplicant may be held up in the kernel while a driver takes its interface away.
    @Test @AgentLoop func nothingIsWaitedForOnAnInterfaceThatIsGone() async throws {
        let bench = Bench()
        await Self.clock.run { _ in
            await bench.start()
            bench.fake.misbehave(at: "BSSID_IGNORE", .never)
            let join = Task { try await bench.supplicant.join(Example.request(), attempt: 1) }
            #expect(await bench.fake.reaches { $0.asked.last == "BSSID_IGNORE clear" })
            // The clock stands still: no time limit passes.
            bench.supplicant.interfaceRemoved()
            await #expect(throws: SupplicantError.unavailable) { try await join.value }
            #expect(await bench.fake.reaches { $0.asked.last == "STATUS" })
            try? await bench.supplicant.join(Example.request(), attempt: 2)
            bench.fake.send(connectedLine)
            #expect(await bench.log.next() == .connected(attempt: 2, bssid: Example.bssid))
        }
    }

    @Test @AgentLoop func aJoinIsOverWithItsInterface() async throws {
        let bench = Bench()
        await bench.start()
        try await bench.supplicant.join(Example.request(), attempt: 1)
        bench.supplicant.interfaceRemoved()
        let event = await bench.log.next()
        guard case .joinFailed(attempt: 1, .interfaceDown, let detail)? = event else {
            Issue.record("\(String(describing: event))")
            return
        }
        #expect(detail.contains("gone"))
    }

    @Test(arguments: [
        Array("PONG\n".utf8), [], [0], [0xff, 0xfe, 0x00], Array("OK".utf8) + [0] + Array("OK\n".utf8),
        [UInt8](repeating: 0x41, count: 65536),
    ])
    @AgentLoop func survivesAnswersThatMakeNoSense(_ answer: [UInt8]) async throws {
        let bench = Bench()
        await bench.start()
        bench.fake.misbehave(at: "SELECT_NETWORK", .instead(answer))
        await #expect(throws: SupplicantError.malformedReply(command: "SELECT_NETWORK 0")) {
            try await bench.supplicant.join(Example.request(), attempt: 1)
        }
        _ = try await bench.supplicant.select()
    }

    @Test @AgentLoop func survivesEventsThatMakeNoSense() async throws {
        let bench = Bench()
        await bench.start()
        try await bench.supplicant.join(Example.request(), attempt: 1)
        bench.fake.send(bytes: [UInt8](repeating: UInt8(ascii: "<"), count: 65536))
        bench.fake.send(bytes: Array("<3".utf8))
        bench.fake.send(bytes: [])
        var generator = SeededRandom(seed: 7)
        for _ in 0..<500 {
            let length = Int.random(in: 0..<300, using: &generator)
            bench.fake.send(
                bytes: Array("<3>".utf8) + (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
        }
        bench.fake.send("CTRL-EVENT-CONNECTED - Connection to 02:00:00:00:01:00 completed [id=0 id_str=]")
        #expect(await bench.log.next() == .connected(attempt: 1, bssid: Example.bssid))
    }

    @Test @AgentLoop func findsOutAboutLostEvents() async throws {
        let bench = Bench()
        await Self.clock.run { clock in
            await bench.start()
            bench.fake.setStatus("wpa_state=COMPLETED\nid=0\nbssid=02:00:00:00:01:00\n")
            clock.advance(by: Bench.patient.supervision)
            #expect(await bench.log.next() == .connected(attempt: nil, bssid: Example.bssid))
            bench.fake.setStatus("wpa_state=DISCONNECTED\n")
            await clock.untilTimer(of: Bench.patient.supervision)
            clock.advance(by: Bench.patient.supervision)
            #expect(await bench.log.next() == .disconnected(reason: 0, locallyGenerated: false))
        }
    }

    /// wpa_supplicant is in the midst of it for a moment whenever the access point sends new keys.
    @Test(arguments: ["4WAY_HANDSHAKE", "GROUP_HANDSHAKE"])
    @AgentLoop func aLinkThatGetsNewKeysIsNotLost(_ state: String) async throws {
        let bench = Bench()
        bench.fake.setStatus("wpa_state=COMPLETED\nid=0\nbssid=02:00:00:00:01:00\n")
        await Self.clock.run { clock in
            await bench.start()
            bench.fake.setStatus("wpa_state=\(state)\nid=0\nbssid=02:00:00:00:01:00\n")
            for _ in 0..<3 {
                clock.advance(by: Bench.patient.supervision)
                // It is set when the answer is there.
                await clock.untilTimer(of: Bench.patient.supervision)
            }
            #expect(bench.log.all == [.available])
            bench.fake.setStatus("wpa_state=DISCONNECTED\n")
            clock.advance(by: Bench.patient.supervision)
            #expect(await bench.log.next() == .disconnected(reason: 0, locallyGenerated: false))
        }
    }
}

extension Supplicant {
    /// A join that is accepted, with the number of its network.
    fileprivate func select() async throws -> Int {
        try await join(Example.request(), attempt: 99)
        guard case .trying(let progress, _) = attempt?.phase else { throw SupplicantError.superseded }
        return progress.network
    }
}
