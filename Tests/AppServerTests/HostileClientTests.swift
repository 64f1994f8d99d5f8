import AppProtocol
import AppServer
import Foundation
import Randomness
import TestTime
import Testing

/// Clients that do not keep to the protocol, by accident or not: each gets a typed error or the door, the others are
/// served as before.
@Suite struct HostileClientTests {
    @Test func garbageIsAnsweredAndTheConnectionStaysUsable() async throws {
        try await withServer { path in
            let socket = try RawSocket.connecting(to: path)
            for garbage in ["garbage", "{", "[1,2", "\u{1b}[2J", String(repeating: "[", count: 65_536)] {
                try await socket.send(garbage + "\n")
                let answer = try answer(await socket.line())
                #expect(answer.id == nil)
                #expect(answer.code == .malformed)
            }
            try await socket.send([0xff, 0xfe, 0x00, 0x0a])
            #expect(try answer(await socket.line()).code == .malformed)
            try await socket.send(request(.getNetwork))
            #expect(try answer(await socket.line()) == ("a", nil))
        }
    }

    @Test func aLineOfTenMegabytesIsRefused() async throws {
        try await withServer { path in
            let socket = try RawSocket.connecting(to: path)
            let before = residentBytes()
            async let sending: Void = socket.send(Array(repeating: 0x61, count: 10 << 20) + [0x0a])
            #expect(try answer(await socket.line()).code == .lineTooLong)
            try? await sending
            #expect(residentBytes() - before < 40 << 20)
            socket.finishSending()
            #expect(try await socket.line() == nil)
        }
    }

    /// Nothing but a closed connection ends a client that goes on sending after that.
    @Test func whoGoesOnSendingIsCutOff() async throws {
        try await withServer(limits: AppServer.Limits(lingering: .milliseconds(50))) { path in
            let socket = try RawSocket.connecting(to: path)
            try await socket.send(Array(repeating: 0x61, count: ProtocolLimits.lineLength + 1))
            #expect(try answer(await socket.line()).code == .lineTooLong)
            #expect(try await socket.line() == nil)
            await #expect(throws: RawSocket.Failure.self) {
                while true { try await socket.send(Array(repeating: 0x61, count: 1 << 16)) }
            }
        }
    }

    @Test func halfLinesAreWaitedFor() async throws {
        try await withServer { path in
            let socket = try RawSocket.connecting(to: path)
            for byte in request(.getNetwork).utf8 { try await socket.send([byte]) }
            #expect(try answer(await socket.line()) == ("a", nil))
            try await socket.send("{\"v\":1,")
            socket.finishSending()
            #expect(try answer(await socket.line()) == (nil, .malformed))
            #expect(try await socket.line() == nil)
        }
    }

    /// As `printf ... | nc -NU` does.
    @Test func aLastLineWithoutAnEndIsAnswered() async throws {
        try await withServer { path in
            let socket = try RawSocket.connecting(to: path)
            try await socket.send(request(.getNetwork, id: "1") + request(.getNetwork, id: "2").dropLast())
            socket.finishSending()
            #expect(try answer(await socket.line()) == ("1", nil))
            #expect(try answer(await socket.line()) == ("2", nil))
            #expect(try await socket.line() == nil)
        }
    }

    /// The bytes after a line that is too long are no line, nor is its end.
    @Test func theRestOfALineThatIsTooLongIsNotAnswered() async throws {
        try await withServer { path in
            let socket = try RawSocket.connecting(to: path)
            try await socket.send(
                Array(repeating: 0x61, count: ProtocolLimits.lineLength + 1) + [0x0a] + request(.getNetwork).utf8)
            socket.finishSending()
            #expect(try answer(await socket.line()).code == .lineTooLong)
            #expect(try await socket.line() == nil)
        }
    }

    @Test func manyRequestsAtOnceAreAnsweredInOrder() async throws {
        try await withServer { path in
            let socket = try RawSocket.connecting(to: path)
            let ids = (0..<300).map(String.init)
            async let sending: Void = socket.send(ids.map { request(.getHistory, id: $0) }.joined())
            for id in ids { #expect(try answer(await socket.line()) == (id, nil)) }
            try await sending
        }
    }

    /// As `echo ... | nc -NU` does.
    @Test func whoStopsSendingStillGetsTheAnswers() async throws {
        try await withServer { path in
            let socket = try RawSocket.connecting(to: path)
            try await socket.send((0..<20).map { request(.getNetwork, id: "\($0)") }.joined())
            socket.finishSending()
            #expect(try await socket.lines().count == 20)
        }
    }

    /// More than the socket's buffers hold: closing must wait until the last byte has gone out.
    @Test func whoStopsSendingStillGetsLongAnswers() async throws {
        try await withServer { path in
            let socket = try RawSocket.connecting(to: path)
            let long = #"{"limit":200}"#
            try await socket.send((0..<40).map { request(.getHistory, id: "\($0)", body: long) }.joined())
            socket.finishSending()
            #expect(try await socket.lines().count == 40)
        }
    }

    /// A client that does not read does not keep the server from stopping.
    @Test func whoDoesNotReadIsLeftBehind() async throws {
        var socket: RawSocket?
        try await withServer { path in
            socket = try RawSocket.connecting(to: path)
            let long = #"{"limit":200}"#
            try await socket?.send((0..<40).map { request(.getHistory, id: "\($0)", body: long) }.joined())
            // One answer has come, so the server is busy with the others.
            _ = try await socket?.line()
        }
        withExtendedLifetime(socket) {}
    }

    @Test func oneConnectionTooManyIsTurnedAway() async throws {
        try await withServer(limits: AppServer.Limits(connections: 2)) { path in
            let first = try RawSocket.connecting(to: path)
            var second: RawSocket? = try RawSocket.connecting(to: path)
            for socket in [first, second] {
                try await socket?.send(request(.getNetwork))
                #expect(try answer(await socket?.line()).code == nil)
            }
            let third = try RawSocket.connecting(to: path)
            #expect(try answer(await third.line()) == (nil, .busy))
            #expect(try await third.line() == nil)
            second = nil
            // The server learns of the closed connection in its own time.
            var code: ErrorCode? = .busy
            let deadline = ContinuousClock.now + .seconds(600)
            while code == .busy, ContinuousClock.now < deadline {
                let fourth = try RawSocket.connecting(to: path)
                try? await fourth.send(request(.getNetwork))
                code = try answer(await fourth.line()).code
            }
            #expect(code == nil)
            try await first.send(request(.getNetwork))
            #expect(try answer(await first.line()).code == nil)
        }
    }

    /// A client that writes before it reads finds the line as well, and not a broken connection.
    @Test func whoIsTurnedAwayMayWriteAndIsTold() async throws {
        try await withServer(limits: AppServer.Limits(connections: 1, lingering: .seconds(3600))) { path in
            let first = try RawSocket.connecting(to: path)
            try await first.send(request(.getNetwork))
            #expect(try answer(await first.line()).code == nil)
            let second = try RawSocket.connecting(to: path)
            // It has been told: the server has nothing more to say to it.
            #expect(try answer(await second.line()) == (nil, .busy))
            #expect(try await second.line() == nil)
            try await second.send(request(.getNetwork))
            second.finishSending()
        }
    }

    /// Those who are told why they are not served take no room from those who could be, however many there are.
    @Test func whoIsTurnedAwayTakesNoRoom() async throws {
        var limits = AppServer.Limits(connections: 1, lingering: .seconds(3600))
        limits.farewells = 2
        try await withServer(limits: limits) { path in
            var first: RawSocket? = try RawSocket.connecting(to: path)
            try await first?.send(request(.getNetwork))
            #expect(try answer(await first?.line()).code == nil)
            var lingering: [RawSocket] = []
            for _ in 0..<4 {
                lingering.append(try RawSocket.connecting(to: path))
                #expect(try answer(await lingering.last?.line()) == (nil, .busy))
                #expect(try await lingering.last?.line() == nil)
            }
            first = nil
            // The server learns of the closed connection in its own time.
            var code: ErrorCode? = .busy
            let deadline = ContinuousClock.now + .seconds(600)
            while code == .busy, ContinuousClock.now < deadline {
                let next = try RawSocket.connecting(to: path)
                try? await next.send(request(.getNetwork))
                code = try answer(await next.line()).code
            }
            #expect(code == nil)
            // More than a line from one that is not served ends its time.
            await #expect(throws: RawSocket.Failure.self) {
                while true { try await lingering[0].send(Array(repeating: 0x61, count: 1 << 16)) }
            }
        }
    }

    @Test func aSlowReaderIsToldOfTheGapAndBlocksNoOther() async throws {
        let hub = EventHub(capacity: 16)
        let total = 1000
        try await withServer(hub: hub) { path in
            let slow = try RawSocket.connecting(to: path)
            try await slow.send(request(.subscribe))
            #expect(try answer(await slow.line()).code == nil)
            // More than a socket's buffers hold.
            let text = String(repeating: "because ", count: 500)
            for number in 1...total {
                hub.publish(.switchProgress(SwitchStatus(switchId: "\(number)", phase: .joining, text: text)))
            }
            let other = try RawSocket.connecting(to: path)
            try await other.send(request(.getNetwork))
            #expect(try answer(await other.line()).code == nil)

            var position = 0
            var gaps = 0
            while position < total {
                let line = try #require(try await slow.line())
                guard case .event(let event) = try ServerLine(line: Array(line.utf8)) else { continue }
                if case .gap(let gap) = event.body {
                    #expect(gap.reason == .expired)
                    #expect(event.seq == position + gap.missed)
                    gaps += 1
                } else {
                    #expect(event.seq == position + 1)
                }
                position = event.seq
            }
            #expect(gaps > 0)
        }
    }

    @Test func aSecondSubscriptionIsRefused() async throws {
        try await withServer { path in
            let socket = try RawSocket.connecting(to: path)
            try await socket.send(request(.subscribe, id: "1") + request(.subscribe, id: "2"))
            #expect(try answer(await socket.line()) == ("1", nil))
            let line = try #require(try await socket.line())
            #expect(try answer(line) == ("2", .unsupported))
            #expect(line.contains(#""details":{"field":"type"}"#))
        }
    }

    /// It may subscribe all the same, once it has read where the device stands.
    @Test func aSubscriptionFromTheFutureIsRefused() async throws {
        try await withServer { path in
            let socket = try RawSocket.connecting(to: path)
            for (id, since) in [("1", 1), ("2", Int.max), ("3", -1)] {
                try await socket.send(request(.subscribe, id: id, body: #"{"since":\#(since)}"#))
                let line = try #require(try await socket.line())
                #expect(try answer(line) == (id, .malformed))
                #expect(line.contains(#""details":{"field":"body.since"}"#))
            }
            try await socket.send(request(.subscribe, id: "4", body: #"{"since":0}"#))
            #expect(try answer(await socket.line()) == ("4", nil))
        }
    }

    @Test func whoVanishesDuringARequestIsForgotten() async throws {
        let gate = Gate()
        try await withServer(FakeDevice(gate: gate)) { path in
            var vanishing: RawSocket? = try RawSocket.connecting(to: path)
            try await vanishing?.send(request(.getNetwork) + request(.getBackups))
            try await gate.isReached()
            vanishing = nil
            gate.open()
            let other = try RawSocket.connecting(to: path)
            try await other.send(request(.getNetwork))
            #expect(try answer(await other.line()).code == nil)
        }
    }

    @Test func whoVanishesWhileSubscribedIsForgotten() async throws {
        let hub = EventHub()
        try await withServer(hub: hub, limits: AppServer.Limits(connections: 1)) { path in
            var vanishing: RawSocket? = try RawSocket.connecting(to: path)
            try await vanishing?.send(request(.subscribe))
            #expect(try answer(await vanishing?.line()).code == nil)
            vanishing = nil
            var code: ErrorCode? = .busy
            let deadline = ContinuousClock.now + .seconds(600)
            while code == .busy, ContinuousClock.now < deadline {
                hub.publish(.signal(SignalReading(signal: -50)))
                let other = try RawSocket.connecting(to: path)
                try? await other.send(request(.getNetwork))
                code = try answer(await other.line()).code
            }
            #expect(code == nil)
        }
    }

    /// Every line gets exactly one answer, whatever is in it.
    @Test func randomLines() async throws {
        var random = SeededRandom(seed: 21)
        try await withServer { path in
            let socket = try RawSocket.connecting(to: path)
            for _ in 0..<1500 {
                var line = Array(request(.updateBackups, body: #"{"networks":[]}"#).utf8.dropLast())
                for _ in 0..<Int.random(in: 1...6, using: &random) {
                    line[Int.random(in: line.indices, using: &random)] = UInt8.random(in: 11...255, using: &random)
                }
                try await socket.send(line + [10])
                _ = try answer(await socket.line())
            }
        }
    }

    private func residentBytes() -> Int {
        let statm = (try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii)) ?? ""
        let fields = statm.split(separator: " ")
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * Int(getpagesize()) : 0
    }
}
