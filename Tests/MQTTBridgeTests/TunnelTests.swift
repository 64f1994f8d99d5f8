import AgentModel
import Testing

@testable import MQTTBridge

/// Apps' connections through the broker, at both ends.
// covers: seed/one-protocol
@Suite struct TunnelTests {
    private static let id = String(repeating: "0a", count: 16)
    private static let other = String(repeating: "0b", count: 16)
    private static let up = "altnet/bench-01/tunnel/\(id)/up"
    private static let down = "altnet/bench-01/tunnel/\(id)/down"

    private static func piece(_ number: UInt8, _ text: String) -> [UInt8] { [0, 0, 0, number] + Array(text.utf8) }

    /// The device's end after the opening piece `hello`, at second 0.
    private static func opened() -> DeviceTunnels {
        var tunnels = DeviceTunnels()
        let effects = tunnels.receive(piece(0, "hello"), of: id, at: .at(0))
        #expect(effects == [.connect(id), .write(id, Array("hello".utf8))])
        return tunnels
    }

    // MARK: The stream

    @Test func bytesArriveAsTheyWereSent() {
        var (sender, receiver) = (TunnelStream(), TunnelStream())
        let bytes = (0..<(3 * BridgeLimits.tunnelPiece + 1)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let pieces = sender.pieces(of: bytes)
        #expect(pieces.map(\.count) == [16_388, 16_388, 16_388, 5])
        var received: [UInt8] = []
        for piece in pieces {
            guard case .bytes(let part) = receiver.receive(piece) else { return #expect(Bool(false)) }
            received += part
            #expect(receiver.receive(piece) == .repeated)
        }
        #expect(received == bytes)
        #expect(receiver.receive(sender.beat) == .beat)
        #expect(receiver.receive(TunnelStream.end) == .end)
    }

    @Test(arguments: [
        [0], [0, 0, 0], [0, 0, 0, 1, 7], [0, 0, 0, 1], [255, 255, 255, 255, 7],
        [0, 0, 0, 0] + [UInt8](repeating: 7, count: BridgeLimits.tunnelPiece + 1),
    ])
    func whatCannotFollowEndsTheTunnel(message: [UInt8]) {
        var stream = TunnelStream()
        #expect(stream.receive(message) == .end)
    }

    // MARK: The device's end

    @Test func aTunnelCarriesBothDirections() {
        var tunnels = Self.opened()
        let more = tunnels.receive(Self.piece(1, "more"), of: Self.id, at: .at(1))
        #expect(more == [.write(Self.id, Array("more".utf8))])
        #expect(tunnels.send(Array("back".utf8), of: Self.id) == [.publish(Self.id, Self.piece(0, "back"))])
        #expect(tunnels.agentClosed(Self.id) == [.publish(Self.id, [])])
        #expect(tunnels.agentClosed(Self.id) == [] && tunnels.send([1], of: Self.id) == [] && tunnels.deadline == nil)
    }

    @Test func repetitionsChangeNothing() {
        var tunnels = Self.opened()
        for second in 1...59 {
            #expect(tunnels.receive(Self.piece(0, "forged"), of: Self.id, at: .at(second)) == [])
        }
        let end = tunnels.tick(at: .at(60))
        #expect(end == [.disconnect(Self.id), .publish(Self.id, [])], "a repetition is no sign of life")
    }

    @Test(arguments: [piece(2, "late"), piece(2, ""), [], [1]])
    func aLostOrForgedPieceEndsIt(message: [UInt8]) {
        var tunnels = Self.opened()
        #expect(
            tunnels.receive(message, of: Self.id, at: .at(1)) == [.disconnect(Self.id), .publish(Self.id, [])])
        #expect(tunnels.deadline == nil)
    }

    @Test func beatsKeepItAndAreAnsweredOnceASecond() {
        var tunnels = Self.opened()
        for second in stride(from: 10, through: 200, by: 10) {
            #expect(tunnels.tick(at: .at(second)) == [])
            let effects = tunnels.receive(Self.piece(1, ""), of: Self.id, at: .at(second))
            #expect(effects == [.publish(Self.id, Self.piece(0, ""))])
            #expect(tunnels.receive(Self.piece(1, ""), of: Self.id, at: .at(second)) == [])
        }
        #expect(tunnels.deadline == .at(260))
        #expect(tunnels.tick(at: .at(260)) == [.disconnect(Self.id), .publish(Self.id, [])])
    }

    @Test func manyFakeAppsAreRefused() {
        var tunnels = Self.opened()
        var (connections, answers) = (1, 0)
        for number in 0..<10_000 {
            let effects = tunnels.receive(Self.piece(0, "x"), of: "fake-\(number)", at: .at(1))
            connections += effects.count { if case .connect = $0 { true } else { false } }
            answers += effects.count { if case .publish = $0 { true } else { false } }
        }
        #expect(connections == BridgeLimits.tunnels && answers <= 8)
        // Who was there before is served.
        #expect(tunnels.receive(Self.piece(1, "y"), of: Self.id, at: .at(1)) == [.write(Self.id, [0x79])])
        // A place is free again after the idle time.
        _ = tunnels.tick(at: .at(100))
        #expect(tunnels.receive(Self.piece(0, "z"), of: Self.other, at: .at(100)).first == .connect(Self.other))
    }

    @Test func aMessageOfNoTunnelIsAnsweredWithTheEnd() {
        var tunnels = DeviceTunnels()
        #expect(tunnels.receive(Self.piece(3, "old"), of: Self.id, at: .at(0)) == [.publish(Self.id, [])])
        #expect(tunnels.receive([], of: Self.id, at: .at(0)) == [])
        #expect(tunnels.deadline == nil)
    }

    // MARK: The bridge

    @Test func theBridgePassesATunnelOn() {
        var (talk, _) = Talk.connected()
        let hello = IncomingMessage(topic: Self.up, payload: Self.piece(0, "hello"))
        let opened = talk.settled(2, .message(hello))
        #expect(opened.contains(.connectTunnel(Self.id)))
        #expect(opened.contains(.sendToTunnel(Self.id, Array("hello".utf8))))
        let answer = talk.settled(3, .tunnelSaid(Self.id, Array("back".utf8))).published(Self.down)
        #expect(answer.map(\.payload) == [Self.piece(0, "back")])
        #expect(answer.allSatisfy { $0.isBinary && !$0.isRetained && $0.isAcknowledged && $0.expiry == .seconds(15) })
        #expect(talk.settled(4, .tunnelEnded(Self.id)).published(Self.down).map(\.payload) == [[]])
    }

    @Test func aSilentAppIsLetGo() {
        var (talk, _) = Talk.connected()
        _ = talk.settled(2, .message(IncomingMessage(topic: Self.up, payload: Self.piece(0, "hello"))))
        #expect(talk.run(until: 63).contains(.disconnectTunnel(Self.id)))
    }

    @Test func aTunnelSurvivesAMove() {
        var (talk, _) = Talk.connected()
        _ = talk.settled(2, .message(IncomingMessage(topic: Self.up, payload: Self.piece(0, "hello"))))
        _ = talk(10, .brokerFailed(BrokerFailure(.unreachable, "gone")))
        #expect(!talk.bridge.readsTunnels)
        _ = talk.run(until: 45)
        #expect(talk(49, .tunnelSaid(Self.id, Array("back".utf8))).published == [])
        let again = talk.settled(50, .brokerAccepted(BrokerSession(isPresent: true)))
        #expect(talk.bridge.readsTunnels && again.published(Self.down).map(\.payload) == [Self.piece(0, "back")])
    }

    @Test(arguments: [
        "altnet/bench-01/tunnel/\(id)/down", "altnet/bench-01/tunnel/\(id)", "altnet/bench-01/tunnel/\(id)0/up",
        "altnet/bench-01/tunnel/up", "altnet/bench-01/tunnel//up", "altnet/bench-01/tunnel/\(id.uppercased())/up",
        "altnet/bench-02/tunnel/\(id)/up",
    ])
    func otherTopicsOpenNothing(topic: String) {
        var (talk, _) = Talk.connected()
        let effects = talk.settled(2, .message(IncomingMessage(topic: topic, payload: Self.piece(0, "hello"))))
        #expect(!effects.contains { if case .connectTunnel = $0 { true } else { false } })
        #expect(effects.published == [])
    }

    @Test func retainedMessagesAndForbiddenBrokersOpenNothing() {
        let hello = IncomingMessage(topic: Self.up, payload: Self.piece(0, "hello"), isRetained: true)
        var (talk, _) = Talk.connected()
        #expect(!talk.settled(2, .message(hello)).contains(.connectTunnel(Self.id)))
        var settings = BridgeSettings()
        settings.role = nil
        var (closed, effects) = Talk.connected(settings)
        #expect(
            !effects.contains { effect in
                guard case .subscribe(let list) = effect else { return false }
                return list.contains { $0.topic.contains("tunnel") }
            })
        let plain = IncomingMessage(topic: Self.up, payload: hello.payload)
        #expect(!closed.settled(2, .message(plain)).contains(.connectTunnel(Self.id)))
    }

    // MARK: The app's end

    private static func app() -> AppTunnel {
        AppTunnel(Topics(prefix: "altnet", deviceId: "bench-01"), id: id, at: .at(0))
    }

    private static func message(_ payload: [UInt8]) -> AppTunnel.Event {
        .message(IncomingMessage(topic: down, payload: payload))
    }

    @Test func theAppConnectsAndEnds() {
        var app = Self.app()
        #expect(!app.readsApp)
        #expect(
            app.handle(.brokerAccepted, at: .at(1))
                == [.subscribe(Subscription(topic: Self.down, wantsRetained: false))])
        #expect(app.readsApp)
        #expect(
            app.handle(.appSaid(Array("hello".utf8)), at: .at(1))
                == [.publish(.tunnel(Self.up, Self.piece(0, "hello")))])
        #expect(app.handle(Self.message(Self.piece(0, "back")), at: .at(2)) == [.write(Array("back".utf8))])
        #expect(app.handle(Self.message(Self.piece(0, "back")), at: .at(2)) == [])
        #expect(app.handle(.appClosed, at: .at(3)) == [.publish(.tunnel(Self.up, [])), .over(nil)])
        #expect(app.handle(Self.message(Self.piece(1, "late")), at: .at(4)) == [])
    }

    @Test func theAppTakesNoMoreThanTheBrokerTakes() {
        var app = Self.app()
        _ = app.handle(.brokerAccepted, at: .at(0))
        for _ in 0..<BridgeLimits.inFlight {
            #expect(app.readsApp)
            _ = app.handle(.appSaid([1]), at: .at(0))
        }
        #expect(!app.readsApp)
        _ = app.handle(.acknowledged, at: .at(0))
        #expect(app.readsApp)
    }

    @Test func aSilentDeviceIsGivenUp() {
        var app = Self.app()
        _ = app.handle(.brokerAccepted, at: .at(0))
        _ = app.handle(.appSaid([1]), at: .at(0))
        #expect(app.deadline == .at(10))
        #expect(app.handle(.tick, at: .at(10)) == [.publish(.tunnel(Self.up, Self.piece(1, "")))])
        #expect(app.handle(Self.message(Self.piece(0, "")), at: .at(11)) == [])
        #expect(app.handle(.tick, at: .at(41)) == [.over("the device does not answer")])
        var unconnected = Self.app()
        #expect(unconnected.handle(.tick, at: .at(30)) == [.over("the broker does not answer")])
    }

    @Test(arguments: [piece(1, "lost"), [], [0, 0]])
    func theAppBeginsAgainAfterALoss(payload: [UInt8]) {
        var app = Self.app()
        _ = app.handle(.brokerAccepted, at: .at(0))
        _ = app.handle(.appSaid([1]), at: .at(0))
        #expect(app.handle(Self.message(payload), at: .at(1)) == [.over(nil)])
    }

    @Test func messagesOfOtherTunnelsAreIgnored() {
        var app = Self.app()
        _ = app.handle(.brokerAccepted, at: .at(0))
        for topic in [Self.up, "altnet/bench-01/tunnel/\(Self.other)/down"] {
            let message = IncomingMessage(topic: topic, payload: Self.piece(0, "x"))
            #expect(app.handle(.message(message), at: .at(1)) == [])
        }
        let retained = IncomingMessage(topic: Self.down, payload: Self.piece(0, "x"), isRetained: true)
        #expect(app.handle(.message(retained), at: .at(1)) == [])
    }
}

extension Instant {
    fileprivate static func at(_ seconds: Int) -> Instant { Instant(milliseconds: Int64(seconds) * 1000) }
}
