import AgentModel
import AppProtocol
import AppServer
import Foundation
import TestTime
import Testing

/// Limits of a client in the network, with a clock moved by hand.
@Suite struct NetworkLimitTests {
    @Test func requestsBeyondTheRateAreToldWhenToComeBack() async throws {
        var limits = AppServer.LANLimits()
        limits.requests = AppServer.RequestRate(perSecond: 2, burst: 3)
        let clock = SteppedClock()
        let device = FakeDevice()
        try await withNetworkServer(device, limits: limits, clock: clock) { _, port async throws in
            let client = try await KeyedClient.connecting(to: port)
            for _ in 0..<3 { #expect(try await client.ask() == nil) }
            try await client.send(request(.getNetwork, id: "b") + request(.getNetwork, id: "c"))
            let line = try #require(try await client.line())
            #expect(try answer(line) == ("b", .tooManyRequests))
            #expect(line.contains(#""retryAfterMs":501"#))
            // A request that came too early is not even read before that time.
            try await clock.sleeps(for: .milliseconds(500))
            #expect(device.bodies.count == 3)
            clock.advance(by: .milliseconds(500))
            #expect(try answer(await client.line()) == ("c", nil))
        }
    }

    /// Malformed lines cost as much as any other, and their refusal carries what they had of an id.
    @Test func garbageCounts() async throws {
        var limits = AppServer.LANLimits()
        limits.requests = AppServer.RequestRate(perSecond: 1, burst: 2)
        try await withNetworkServer(limits: limits, clock: SteppedClock()) { _, port async throws in
            let client = try await KeyedClient.connecting(to: port)
            for code in [ErrorCode.malformed, .malformed, .tooManyRequests] {
                try await client.send("garbage\n")
                #expect(try answer(await client.line()) == (nil, code))
            }
        }
    }

    @Test func theConnectionsOfOneAddressShareARate() async throws {
        var limits = AppServer.LANLimits()
        limits.requestsPerAddress = AppServer.RequestRate(perSecond: 1, burst: 3)
        try await withNetworkServer(limits: limits, clock: SteppedClock()) { _, port async throws in
            for code in [nil, nil, nil, ErrorCode.tooManyRequests] {
                #expect(try await KeyedClient.connecting(to: port).ask() == code)
            }
            // Another address has its own.
            #expect(try await KeyedClient.connecting(to: port, from: "127.0.0.2").ask() == nil)
        }
    }

    @Test func connectionsAreCounted() async throws {
        var limits = AppServer.LANLimits()
        limits.connections = 3
        limits.connectionsPerAddress = 2
        try await withNetworkServer(limits: limits) { _, port async throws in
            let first = try await KeyedClient.connecting(to: port)
            #expect(try await first.ask() == nil)
            let second = try await KeyedClient.connecting(to: port)
            #expect(try await second.ask() == nil)
            // No more from this address, one more from another, then none at all.
            #expect(try await refusal(port) == .busy)
            let third = try await KeyedClient.connecting(to: port, from: "127.0.0.2")
            #expect(try await third.ask() == nil)
            #expect(try await refusal(port, from: "127.0.0.3") == .busy)
            // A client that leaves makes room.
            await first.close()
            let deadline = ContinuousClock.now + .seconds(600)
            var code: ErrorCode? = .busy
            while code == .busy, ContinuousClock.now < deadline { code = try await refusal(port) }
            #expect(code == nil)
        }
    }

    /// It need not say anything first.
    @Test func oneTooManyIsToldBeforeItWrites() async throws {
        var limits = AppServer.LANLimits()
        limits.connections = 1
        try await withNetworkServer(limits: limits) { _, port async throws in
            let first = try await KeyedClient.connecting(to: port)
            #expect(try await first.ask() == nil)
            let second = try await KeyedClient.connecting(to: port)
            #expect(try answer(await second.line()) == (nil, .busy))
            #expect(try await second.line() == nil)
            #expect(try await first.ask() == nil)
        }
    }

    @Test func aLastLineWithoutAnEndIsAnswered() async throws {
        try await withNetworkServer { _, port async throws in
            let client = try await KeyedClient.connecting(to: port)
            try await client.send(String(request(.getNetwork, id: "last").dropLast()))
            client.finishSending()
            #expect(try answer(await client.line()) == ("last", nil))
            #expect(try await client.line() == nil)
        }
    }

    /// The network cannot keep the board's own command line out.
    @Test func theUnixSocketIsCountedApart() async throws {
        var limits = AppServer.LANLimits()
        limits.connections = 1
        let folder = try SocketFolder()
        let server = AppServer(
            unix: UnixListenerSettings(path: folder.socket), lan: LANListenerSettings(port: 0, credentials: .sample),
            service: FakeDevice(), hub: EventHub(), limits: AppServer.Limits(connections: 1, lan: limits))
        try await server.start()
        let port = try #require(server.lanPort)
        let remote = try await KeyedClient.connecting(to: port)
        #expect(try await remote.ask() == nil)
        let local = try RawSocket.connecting(to: folder.socket)
        try await local.send(request(.getNetwork))
        #expect(try answer(await local.line()) == ("a", nil))
        #expect(try await refusal(port) == .busy)
        await server.stop()
    }

    @Test func whoIsSilentIsLetGo() async throws {
        var limits = AppServer.LANLimits()
        limits.idleTime = .seconds(15)
        let clock = SteppedClock()
        let notices = Notices()
        try await withNetworkServer(limits: limits, clock: clock, notices: notices) { _, port async throws in
            let client = try await KeyedClient.connecting(to: port)
            #expect(try await client.ask() == nil)
            try await clock.sleeps(for: .seconds(15))
            clock.advance(by: .seconds(14))
            // Bytes that make no request do not count.
            try await client.send("{")
            try await clock.sleeps(for: .seconds(1))
            clock.advance(by: .seconds(1))
            #expect(try await client.line() == nil)
            #expect(notices.reasons == [.idle])
        }
    }

    @Test func whoAsksStays() async throws {
        var limits = AppServer.LANLimits()
        limits.idleTime = .seconds(15)
        let clock = SteppedClock()
        try await withNetworkServer(limits: limits, clock: clock) { _, port async throws in
            let client = try await KeyedClient.connecting(to: port)
            try await clock.sleeps(for: .seconds(15))
            clock.advance(by: .seconds(14))
            #expect(try await client.ask() == nil)
            clock.advance(by: .seconds(1))
            try await clock.sleeps(for: .seconds(14))
            #expect(try await client.ask() == nil)
        }
    }

    @Test func whoListensStays() async throws {
        var limits = AppServer.LANLimits()
        limits.idleTime = .seconds(15)
        // The answer has arrived here before the server learns that its write has ended.
        limits.writeTime = .seconds(1 << 30)
        let clock = SteppedClock()
        let hub = EventHub()
        try await withNetworkServer(hub: hub, limits: limits, clock: clock) { _, port async throws in
            let client = try await KeyedClient.connecting(to: port)
            try await client.send(request(.subscribe))
            #expect(try answer(await client.line()) == ("a", nil))
            try await clock.sleeps(for: limits.idleTime)
            for _ in 0..<100 {
                clock.advance(by: limits.idleTime)
                try await clock.sleeps(for: limits.idleTime)
            }
            hub.publish(.signal(SignalReading(signal: -50)))
            #expect(try await client.line()?.contains(#""seq":1"#) == true)
        }
    }

    /// A subscriber that does not read delays no other, misses events, and is told how many when it reads again.
    @Test func aSlowSubscriberIsToldOfTheGap() async throws {
        let hub = EventHub(capacity: 16)
        try await withNetworkServer(hub: hub, clock: SteppedClock()) { _, port async throws in
            let slow = try await KeyedClient.connecting(to: port, receiveBuffer: 4096)
            try await slow.send(request(.subscribe))
            #expect(try answer(await slow.line()) == ("a", nil))
            try await slow.stopReading()
            let other = try await KeyedClient.connecting(to: port)
            // Far more than any buffer between the two holds.
            let count = 20_000
            for number in 0..<count {
                hub.publish(.signal(SignalReading(signal: -50)))
                if number % 1000 == 0 { #expect(try await other.ask() == nil) }
            }
            try await slow.resumeReading()
            var (last, missed) = (0, 0)
            while last < count {
                let line = try #require(try await slow.line())
                guard case .event(let event) = try ServerLine(line: Array(line.utf8)) else { continue }
                if case .gap(let gap) = event.body { missed += gap.missed } else { missed += event.seq - last - 1 }
                last = event.seq
            }
            #expect(missed > 0)
            #expect(missed < count)
        }
    }

    @Test func whoDoesNotReadIsCutOff() async throws {
        var limits = AppServer.LANLimits()
        limits.requests = AppServer.RequestRate(perSecond: 1000, burst: 1000)
        limits.requestsPerAddress = limits.requests
        limits.idleTime = .seconds(1 << 30)
        let clock = SteppedClock()
        let notices = Notices()
        try await withNetworkServer(limits: limits, clock: clock, notices: notices) { _, port async throws in
            let client = try await KeyedClient.connecting(to: port, receiveBuffer: 4096)
            #expect(try await client.ask() == nil)
            try await client.stopReading()
            for id in 0..<200 { client.post(request(.getHistory, id: "\(id)", body: #"{"limit":200}"#)) }
            // Nothing tells from outside when the buffers are full: time passes until it is too much.
            let deadline = ContinuousClock.now + .seconds(600)
            while notices.reasons.isEmpty, ContinuousClock.now < deadline {
                clock.advance(by: .seconds(1))
                await Task.yield()
            }
            #expect(notices.reasons == [.notReading])
            // It ends, or is broken off where the kernel told the client of the end already.
            try? await client.resumeReading()
            while let line = try? await client.line() { #expect(!line.isEmpty) }
        }
    }

    // covers: seed/key-agreement
    @Test func plainPasswordsAreNotTaken() async throws {
        let device = FakeDevice()
        try await withNetworkServer(device) { _, port async throws in
            let client = try await KeyedClient.connecting(to: port)
            let plain = #"{"ssid":"Home","password":"12345678"}"#
            let open = #"{"ssid":"Cafe","security":"open"}"#
            try await client.send(request(.switchNetwork, body: plain))
            let refusal = try #require(try await client.line())
            #expect(try answer(refusal).code == .sealRequired)
            #expect(refusal.contains(#""details":{"field":"body.password"}"#))
            try await client.send(request(.updateBackups, body: #"{"networks":[\#(open),\#(plain)]}"#))
            let line = try #require(try await client.line())
            #expect(try answer(line).code == .sealRequired)
            #expect(line.contains(#""details":{"field":"body.networks[1].password"}"#))
            #expect(!line.contains("12345678"))
            try await client.send(request(.updateBackups, body: #"{"networks":[],"home":\#(plain)}"#))
            let home = try #require(try await client.line())
            #expect(try answer(home).code == .sealRequired)
            #expect(home.contains(#""details":{"field":"body.home.password"}"#))
            let user =
                #"{"ssid":"Works","enterprise":{"method":"peap","identity":"u","password":"12345678","#
                + #""caCertificate":"-----BEGIN CERTIFICATE-----\nMAMCAQA=\n-----END CERTIFICATE-----"}}"#
            try await client.send(request(.updateBackups, body: #"{"networks":[\#(open),\#(user)]}"#))
            let works = try #require(try await client.line())
            #expect(try answer(works).code == .sealRequired)
            #expect(works.contains(#""details":{"field":"body.networks[1].enterprise"}"#))
            #expect(device.bodies == [])
            try await client.send(request(.switchNetwork, body: open))
            #expect(try answer(await client.line()).code == nil)
            // The answer to a hotspot is no password of a network.
            try await client.send(request(.answerPortal, body: #"{"id":4,"values":{"pin":"0815"}}"#))
            #expect(try answer(await client.line()).code == nil)
            #expect(device.bodies.last == .answerPortal(PortalAnswer(id: 4, values: ["pin": Secret(text: "0815")])))
        }
    }

    /// The refusal, or nil where there was room.
    private func refusal(_ port: Int, from source: String? = nil) async throws -> ErrorCode? {
        let client = try await KeyedClient.connecting(to: port, from: source)
        client.post(request(.getNetwork))
        return try answer(await client.line()).code
    }
}
