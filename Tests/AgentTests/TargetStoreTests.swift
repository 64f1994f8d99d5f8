import AgentModel
import AppProtocol
import Connectivity
import Linux
import NIOPosix
import Testing

@testable import Agent

/// The device's own servers are set while it runs.
@AgentLoop @Suite struct TargetStoreTests {
    private func roster(_ own: String? = nil, level: ReachLevel? = nil) throws -> TargetStore {
        var settings = ConnectivitySettings()
        settings.targets = try Target.all("broker=mqtt://broker.example:1883")
        settings.setLevel = level
        return TargetStore(settings, own: try own.map { try Target.all($0) }, trust: nil) { target, trust, tell in
            TargetConnection(
                target, trust: trust, on: MultiThreadedEventLoopGroup.singleton, now: { .now },
                onChange: { _ in tell(.changed) }, onDoubt: { _ in tell(.doubted) })
        }
    }

    private func change(
        _ roster: TargetStore, _ update: TargetsUpdate, failing: ProtocolError? = nil
    ) async throws(ProtocolError) -> TargetList {
        try await roster.change(
            update, trust: nil, storing: { _ throws(ProtocolError) in if let failing { throw failing } }, using: {})
    }

    @Test func theSettingsCountUntilAnAppSaysOtherwise() async throws {
        let roster = try roster()
        #expect(roster.list.source == .settings && roster.list.required == .target)
        #expect(roster.list.targets == [TargetSetting(name: "broker", url: "mqtt://broker.example:1883")])
        let broker = roster.watched[0]

        let list = try await change(
            roster,
            .replace([
                TargetSetting(name: "app", url: "app.example:80"),
                TargetSetting(name: "broker", url: "mqtt://broker.example:1883"),
            ]))
        #expect(list == roster.list && list.source == .app)
        #expect(list.targets.map(\.url) == ["tcp://app.example:80", "mqtt://broker.example:1883"])
        #expect(roster.watched[1] === broker, "one that stays keeps its connection")

        let none = try await change(roster, .replace([]))
        #expect(none.targets.isEmpty && none.required == .lan && none.source == .app)
        let again = try await change(roster, .reset)
        #expect(again.source == .settings && again.required == .target && again.targets.map(\.name) == ["broker"])
    }

    @Test func whatIsStoredIsWhatCounts() async throws {
        #expect(try roster("a=tcp://a.example:1").list.targets == [TargetSetting(name: "a", url: "tcp://a.example:1")])
        let roster = try roster()
        let before = roster.list
        let failure = ProtocolError(.storageFailed, "the disk is full")
        await #expect(throws: failure) { try await change(roster, .replace([]), failing: failure) }
        #expect(roster.list == before)
    }

    // covers: seed/bad-host
    @Test(arguments: [
        ("a", "no where", "body.targets[1].url"), ("a", "gopher://host:1", "body.targets[1].url"),
        ("a", "tcp://-bad-:1", "body.targets[1].url"), ("a", "tcp://host:0", "body.targets[1].url"),
        ("a b", "tcp://host:1", "body.targets[1].name"), ("first", "tcp://host:1", "body.targets[1].name"),
    ])
    func aBadOneIsRefused(name: String, url: String, field: String) async throws {
        let roster = try roster()
        let before = roster.list
        let error = await #expect(throws: ProtocolError.self) {
            try await change(
                roster,
                .replace([TargetSetting(name: "first", url: "h.example:1"), TargetSetting(name: name, url: url)]))
        }
        #expect(error?.code == .malformed && error?.details["field"] == .text(field))
        #expect(roster.list == before)
    }

    @Test func theLevelOfTheSettingsNeedsSomethingToAsk() async throws {
        let roster = try roster(level: .target)
        let error = await #expect(throws: ProtocolError.self) { try await change(roster, .replace([])) }
        #expect(error?.code == .unsupported && error?.details["field"] == .text("body.targets"))
        #expect(roster.list.targets.count == 1)
    }
}

/// What the monitor makes of other targets.
@AgentLoop @Suite struct RetargetingTests {
    // covers: seed/targets-at-run-time
    @Test func anotherTargetIsWhatCounts() async throws {
        let bench = ProbeBench(.target, source: .online, targets: [FakeTarget("broker.example", isTLS: true)])
        bench.targets[0].become(.ready)
        #expect(await bench.probe() == .probed(epoch: 1, .online))
        #expect(bench.watch.connectivity.level == .target)
        let other = FakeTarget("other.example", isTLS: true)
        other.answer = .timedOut
        bench.watch.replace([other.watched], required: .target)
        #expect(bench.watch.connectivity.targets.map(\.host) == ["other.example"])
        #expect(bench.watch.verdict?.level != .target, "what was found of the old one counts no more")
        #expect(bench.targets[0].calls.last == "cancel" && other.calls.first == "open")
        #expect(await bench.probe() == .probed(epoch: 1, .failed))
        other.answer = nil
        #expect(await bench.probe() == .probed(epoch: 1, .online))
        bench.watch.replace([], required: .lan)
        #expect(bench.watch.connectivity.targets.isEmpty && bench.watch.connectivity.required == .lan)
        #expect(await bench.probe() == .probed(epoch: 1, .online))
    }

    /// A new one is `setup`, and one that goes `cancelled`.
    // covers: seed/connection-events
    @Test func theStatesAreTold() async throws {
        let bench = SignInFixture(source: .online)
        func told() -> [ConnectionState] {
            bench.published.compactMap { if case .targetChanged(let status) = $0 { status.state } else { nil } }
        }
        let target = FakeTarget("broker.example")
        let watched = target.watched
        #expect(watched.status.state == .setup)
        bench.watch.replace([watched], required: .target)
        #expect(told() == [.setup])
        target.become(.ready)
        bench.watch.replace([watched], required: .target)
        #expect(target.calls.filter { $0 != "probe" } == ["open"], "it stays connected")
        bench.watch.replace([], required: .internet)
        #expect(told() == [.setup, .cancelled] && target.calls.last == "cancel")
        watched.follow(bench.watch.network)
        #expect(watched.status.state == .cancelled, "for good")
    }
}
