import AgentModel
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import Connectivity

/// What is said when, by a clock that the test advances.
struct HandlerTests {
    private let loop = EmbeddedEventLoop()
    private let told = Told()

    private func channel(_ setting: String) throws -> EmbeddedChannel {
        let told = told
        let handler = ConnectionHandler(
            try Target(setting: setting), keepAlive: KeepAlive(), deadline: loop.now + .seconds(10),
            report: { told.tell($0) })
        let channel = EmbeddedChannel(loop: loop)
        try channel.connect(to: try SocketAddress(ipAddress: "192.0.2.1", port: 1883)).wait()
        try channel.pipeline.syncOperations.addHandler(handler)
        return channel
    }

    private func said(_ channel: EmbeddedChannel) throws -> [UInt8]? {
        try channel.readOutbound(as: ByteBuffer.self).map { Array($0.readableBytesView) }
    }

    @Test func aPlainTargetIsOpenAtOnceAndNothingIsSaid() throws {
        let channel = try channel("a=192.0.2.1:1883")
        #expect(told.all == ["connected", "opened"])
        loop.advanceTime(by: .hours(24))
        #expect(try said(channel) == nil)
        #expect(channel.isActive)
        try channel.close().wait()
        #expect(told.all == ["connected", "opened", "ended in order"])
    }

    @Test func anMQTTServerIsPingedAndMustAnswer() throws {
        let channel = try channel("a=mqtt://192.0.2.1:1883")
        #expect(told.all == ["connected"], "who says nothing proves nothing")
        #expect(try said(channel)?.first == 0x10)
        try channel.writeInbound(ByteBuffer(bytes: [0x20, 2, 0, 0]))
        #expect(told.all == ["connected", "opened"])
        for _ in 0..<5 {
            loop.advanceTime(by: .milliseconds(29_999))
            #expect(try said(channel) == nil)
            loop.advanceTime(by: .milliseconds(1))
            #expect(try said(channel) == [0xc0, 0])
            loop.advanceTime(by: .milliseconds(4999))
            try channel.writeInbound(ByteBuffer(bytes: [0xd0, 0]))
        }
        loop.advanceTime(by: .seconds(30))
        #expect(channel.isActive)
        loop.advanceTime(by: .seconds(5))
        #expect(!channel.isActive)
        #expect(told.all == ["connected", "opened", "ended: timedOut"])
    }

    @Test func whoDoesNotAnswerInTimeIsLeft() throws {
        let channel = try channel("a=http://192.0.2.1:80")
        #expect(try said(channel)?.starts(with: "HEAD / ".utf8) == true)
        try channel.writeInbound(ByteBuffer(string: "HTTP/1.1 2"))
        loop.advanceTime(by: .milliseconds(9999))
        #expect(channel.isActive)
        loop.advanceTime(by: .milliseconds(1))
        #expect(told.all == ["connected", "ended: timedOut"])
    }

    @Test func whoEndsItBeforeAnAnswerHasNotAnswered() throws {
        let channel = try channel("a=http://192.0.2.1:80")
        try channel.close().wait()
        #expect(told.all == ["connected", "ended: connectionReset"])
    }

    @Test func wrongAnswersEndIt() throws {
        let channel = try channel("a=mqtt://192.0.2.1:1883")
        try channel.writeInbound(ByteBuffer(string: "SSH-2.0"))
        #expect(told.all == ["connected", "ended: unexpectedAnswer"])
    }

    @Test func theFirstErrorIsTheReason() throws {
        let channel = try channel("a=192.0.2.1:1883")
        channel.pipeline.fireErrorCaught(IOError(errnoCode: 110, reason: "read"))
        channel.pipeline.fireErrorCaught(IOError(errnoCode: 104, reason: "read"))
        loop.run()
        #expect(told.all == ["connected", "opened", "ended: timedOut"])
    }
}

private final class Told: Sendable {
    private let events = Mutex<[String]>([])

    var all: [String] { events.withLock { $0 } }

    func tell(_ event: ConnectionHandler.Event) {
        let text =
            switch event {
            case .connected: "connected"
            case .opened: "opened"
            case .ended(let problem): problem.map { "ended: \($0)" } ?? "ended in order"
            }
        events.withLock { $0.append(text) }
    }
}
