import AgentCore
import AgentModel
import AppProtocol
import Failover
import Foundation
import Hotspots
import Linux
import NIOCore
import NIOPosix
import Synchronization
import TestTime
import Testing

@testable import Agent

/// From the login page to the user and back, through the agent's own code, with a host of providers that is written
/// here.
@AgentLoop @Suite struct SignInJourneyTests {
    // covers: seed/provider-ui
    @Test(.timeLimit(.minutes(10))) func aPersonIsAskedAndSignsIn() async throws {
        let host = try await ScriptedHost()
        let (changes, feed) = AsyncStream<HotspotStatus>.makeStream()
        let hotspots = Hotspots(socket: host.path, on: MultiThreadedEventLoopGroup.singleton, now: { .now }) {
            feed.yield($0)
        }
        let bench = SignInFixture(source: .captive(portal: "http://10.0.0.1/"), signingInBy: hotspots)
        host.onAnswer { [world = bench.world] in world.source.withLock { $0 = .online } }
        var news = changes.makeAsyncIterator()

        guard case .signingIn(epoch: 1, _) = await bench.probe() else {
            Issue.record("\(bench.policyEvents)")
            return
        }
        while bench.watch.portalStatus.request == nil, let status = await news.next() {
            bench.watch.signInChanged(to: status)
        }
        // A user may take long: a network without a sign-in is better meanwhile.
        #expect(bench.policyEvents.last == .probed(epoch: 1, .captive))
        let request = try #require(bench.watch.portalStatus.request)
        #expect(bench.published == [.portalRequest(request)])
        #expect(request.provider == "cafe" && request.fields.map(\.name) == ["room", "pin"])
        #expect(bench.watch.connectivity.portal?.state == .presentingUI)

        // A wrong answer goes nowhere, and its values into no error.
        let secret = Secret(text: "hunter2")
        let refusal = #expect(throws: ProtocolError.self) {
            try bench.watch.answer(PortalAnswer(id: request.id, values: ["room": secret, "other": secret]))
        }
        #expect(refusal?.code == .malformed && !"\(String(describing: refusal))".contains("hunter2"))
        #expect(host.answers.isEmpty)

        let values = ["room": Secret(text: "214"), "pin": Secret(text: String(repeating: "x", count: 1024))]
        _ = try bench.watch.answer(PortalAnswer(id: request.id, values: values))
        while bench.watch.portalStatus.portal?.state != .maintaining, let status = await news.next() {
            bench.watch.signInChanged(to: status)
        }
        try await eventually("the probe is told") { bench.policyEvents.last == .probed(epoch: 1, .online) }
        #expect(host.answers == [["room": "214", "pin": String(repeating: "x", count: 1024)]])
        #expect(bench.published.last == .portalEnded(PortalEnded(id: request.id)))
        #expect(bench.watch.portalStatus.request == nil && bench.watch.verdict?.internet == .yes)

        bench.watch.logOff()
        bench.watch.follow(.none)
        await bench.watch.farewell?.value
        #expect(host.types.suffix(1) == ["logoff"])
        await bench.watch.stop()
        try await host.close()
    }

    @Test(.timeLimit(.minutes(10))) func aPersonWhoDeclinesIsNotAskedAgain() async throws {
        let host = try await ScriptedHost()
        let (changes, feed) = AsyncStream<HotspotStatus>.makeStream()
        let hotspots = Hotspots(socket: host.path, on: MultiThreadedEventLoopGroup.singleton, now: { .now }) {
            feed.yield($0)
        }
        let bench = SignInFixture(source: .captive(portal: nil), signingInBy: hotspots)
        var news = changes.makeAsyncIterator()
        _ = await bench.probe()
        while bench.watch.portalStatus.request == nil, let status = await news.next() {
            bench.watch.signInChanged(to: status)
        }
        let id = try #require(bench.watch.portalStatus.request?.id)
        _ = try bench.watch.answer(PortalAnswer(id: id, values: nil))
        while bench.watch.portalStatus.request != nil, let status = await news.next() {
            bench.watch.signInChanged(to: status)
        }
        let asked = host.types
        for _ in 1...5 { #expect(await bench.probe() == .probed(epoch: 1, .captive)) }
        #expect(host.types == asked && host.answers.isEmpty)
        #expect(bench.watch.portalStatus.problem?.hasPrefix("cafe: ") == true)
        await bench.watch.stop()
        try await host.close()
    }

    @Test(.timeLimit(.minutes(10))) func withoutAHostItIsSaid() async throws {
        let (changes, feed) = AsyncStream<HotspotStatus>.makeStream()
        let hotspots = Hotspots(socket: "/nowhere/at/all", on: MultiThreadedEventLoopGroup.singleton, now: { .now }) {
            feed.yield($0)
        }
        let bench = SignInFixture(source: .captive(portal: nil), signingInBy: hotspots)
        var news = changes.makeAsyncIterator()
        _ = await bench.probe()
        while bench.problems.isEmpty, let status = await news.next() { bench.watch.signInChanged(to: status) }
        #expect(bench.watch.portalStatus.problem?.contains("host") == true)
        await bench.watch.stop()
    }
}

/// A host with one provider, which asks for a room and a PIN and lets the device in for them.
private final class ScriptedHost: Sendable {
    let path: String
    private let channel: any Channel
    private let noted = Noted()

    final class Noted: Sendable {
        let state = Mutex((types: [String](), answers: [[String: String]](), onAnswer: { @Sendable () -> Void in }))
    }

    init() async throws {
        path = NSTemporaryDirectory() + "host-\(UUID().uuidString.prefix(8)).sock"
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { [noted] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Provider(noted))
                }
            }
            .bind(unixDomainSocketPath: path).get()
    }

    /// The types of the questions, but for those that open a conversation.
    var types: [String] { noted.state.withLock { $0.types } }
    var answers: [[String: String]] { noted.state.withLock { $0.answers } }

    func onAnswer(_ action: @escaping @Sendable () -> Void) { noted.state.withLock { $0.onAnswer = action } }

    func close() async throws {
        try await channel.close()
        try? FileManager.default.removeItem(atPath: path)
    }

    private final class Provider: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let noted: Noted
        private var rest: [UInt8] = []

        init(_ noted: Noted) { self.noted = noted }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            rest += unwrapInboundIn(data).readableBytesView
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = rest[..<end]
                rest.removeSubrange(...end)
                guard let object = try? JSONSerialization.jsonObject(with: Data(line)) as? [String: Any],
                    let type = object["type"] as? String
                else { return context.close(promise: nil) }
                guard let body = answer(type, object["body"] as? [String: Any]) else { continue }
                let id = (object["id"] as? String).map { #""id":"\#($0)","# } ?? ""
                let answer = #"{"v":1,\#(id)"ok":true\#(body)}"# + "\n"
                context.writeAndFlush(NIOAny(ByteBuffer(string: answer)), promise: nil)
            }
        }

        private func answer(_ type: String, _ body: [String: Any]?) -> String? {
            if type != "list", type != "open", type != "hello" { noted.state.withLock { $0.types.append(type) } }
            switch type {
            case "list": return #","body":{"providers":["cafe"]}"#
            case "open": return nil
            case "evaluate": return #","body":{"confidence":"high"}"#
            case "authenticate":
                return """
                    ,"body":{"result":"uiRequired","title":"Guests","message":"Who are you?","fields":[\
                    {"name":"room","label":"Room","kind":"text","required":true},\
                    {"name":"pin","label":"PIN","kind":"password","required":true}]}
                    """
            case "answer":
                let values = body?["values"] as? [String: String] ?? [:]
                let onAnswer = noted.state.withLock { state in
                    state.answers.append(values)
                    return state.onAnswer
                }
                onAnswer()
                return #","body":{"result":"success"}"#
            default: return ""
            }
        }
    }
}
