import AgentModel
import AppProtocol
import Foundation
import JSONValues
import NIOCore
import NIOPosix
import Testing

@testable import Harness

/// The whole suite against a device that is sound: nothing fails, and what is skipped is known.
@Suite(.serialized) struct SuiteTests {
    @Test func aSoundDeviceConformsOnItsOwnSocket() async throws {
        try await withModel { target, device in
            let before = device.state.withLock { device.list($0).shown.dropFirst() }
            let report = try await Harness(target: target, bench: try bench(device)).run(Check.all)
            #expect(report.failures == [])
            let skipped = report.results.filter { !$0.outcome.isPassed }.map(\.id)
            let others = ["backups.get.hashes", "key.seal.required", "switch.uplink"]
            #expect(Set(skipped) == Set((Check.refusals + Check.keys).map(\.id) + others))
            #expect(report.isConforming)
            #expect(device.state.withLock { device.list($0).shown.dropFirst() } == before)
            // Errors that no check can bring about from outside.
            let unseen: Set = [
                "cannotSwitch", "storageFailed", "radioFailed", "interfaceMissing", "notPermitted",
                "tooManyRequests", "internalError", "sealRequired", "proofRequired", "keyRefused", "keyExpired",
                "keyRevoked",
                "unknownKey", "duplicateKey", "tooManyKeys",
            ]
            #expect(Set(report.unseenCodes).isSubset(of: unseen), "\(report.unseenCodes)")
        }
    }

    @Test func aSoundDeviceConformsOverTheNetwork() async throws {
        try await withModel(overNetwork: true) { target, device in
            let report = try await Harness(target: target, bench: try bench(device)).run(Check.all)
            #expect(report.failures == [])
            let skipped = report.results.filter { !$0.outcome.isPassed }.map(\.id)
            #expect(skipped == ["backups.get.hashes"] + Check.keys.map(\.id) + ["switch.uplink"])
            #expect(report.isConforming)
        }
    }

    @Test func aSoundDeviceWithAnotherUplinkConforms() async throws {
        try await withModel(prepare: { $0.state.withLock { $0.uplink = .wired } }) { target, device in
            let report = try await Harness(target: target, bench: try bench(device)).run(checks(["switch.uplink"]))
            #expect(report.failures == [])
            #expect(report.results.map(\.outcome.isPassed) == [true])
        }
    }

    @Test func everyCheckHasAnIdOfItsOwnAndASectionOfTheDocument() throws {
        let ids = Check.all.map(\.id)
        #expect(Set(ids).count == ids.count)
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Docs/reference/protocol.md")
        let headings = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("#") }.map { $0.drop { $0 == "#" || $0 == " " } }
        for check in Check.all { #expect(headings.contains(check.section[...]), "\(check.id): \(check.section)") }
    }
}

/// The work of a run besides its checks.
@Suite struct RunTests {
    @Test func aRunThatIsStoppedBringsTheDeviceBackAndSkipsTheRest() async throws {
        try await withModel(prepare: { try $0.store("BackupNet", "backup password") }) { target, device in
            let before = device.state.withLock { device.list($0).shown.dropFirst() }
            let checks = checks(["backups.update.empty", "backups.update.maximum", "backups.update.open"])
            var ended = 0
            let report = try await Harness(target: target, bench: try bench(device)).run(
                checks, isStopped: { ended == 1 },
                progress: { if case .ended = $0 { ended += 1 } })
            #expect(report.results.map(\.outcome.isPassed) == [true, false, false])
            #expect(report.skipped == 2)
            #expect(device.state.withLock { device.list($0).shown.dropFirst() } == before)
        }
    }

    /// The secret of the check is in messages to the caretaker only, which brings the device back.
    @Test func aPasswordInTheCaretakersAnswersFailsTheCheck() async throws {
        let told = Check("told", "nothing is told", section: "Lines") { $0.transcript.keepSecret("HomeNet") }
        let innocent = Check("innocent", "nothing happens", section: "Lines") { _ in }
        try await withModel { target, _ in
            let report = try await Harness(target: target).run([told, innocent])
            #expect(report.results.map(\.outcome.isFailed) == [true, false])
        }
    }

    /// A device that never lets a request in cannot hold up the run for ever.
    @Test(.timeLimit(.minutes(10))) func aRefusalThatNeverEndsIsADeviation() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(
            "refuser\(UInt32.random(in: 0 ... .max))"
        ).path
        defer { unlink(path) }
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Refuser()) }
            }
            .bind(unixDomainSocketPath: path).get()
        let wire = try await Wire.open(.unixSocket(path: path), Transcript(), patience: .seconds(5))
        let line = JSONValue.request(.getNetwork, id: "1").line
        let refused = await #expect(throws: Deviation.self) {
            try await wire.exchange(line, refusedFor: .milliseconds(50))
        }
        #expect(refused?.got == "none within 0.05 seconds")
        await wire.close()
        try await server.close()
    }

    @Test func whatComesAfterTheDeadlineIsNotTaken() async {
        let mailbox = Mailbox()
        mailbox.deliver([1])
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let late = await mailbox.next(within: .zero, on: loop)
        #expect(late == .nothing)
        let inTime = await mailbox.next(within: .seconds(5), on: loop)
        #expect(inTime == .line([1]))
    }
}

/// Each defect makes the checks fail that are there to find it: so they can fail.
@Suite struct MutantTests {
    @Test(arguments: Defect.allCases) func aDefectIsFound(_ defect: Defect) async throws {
        let isWired = defect == .interfaceBeforeUplink
        for finder in defect.finders {
            try await withModel(defect, prepare: { if isWired { $0.state.withLock { $0.uplink = .wired } } }) {
                target, device in
                let checks = checks([finder])
                #expect(checks.count == 1, "\(finder)")
                let report = try await Harness(target: target, bench: try bench(device), isDestructive: true)
                    .run(checks)
                #expect(report.results.allSatisfy { $0.outcome.isFailed }, "\(finder)")
            }
        }
    }

    @Test(arguments: Meddling.allCases) func whatAServerGetsWrongIsFound(_ meddling: Meddling) async throws {
        try await withModel(meddling: meddling, prepare: { try $0.storeOne() }) { target, device in
            let checks = checks(meddling.finders)
            #expect(checks.count == meddling.finders.count)
            let harness = Harness(target: target, bench: try bench(device), isDestructive: true)
            let report: Report
            do throws(HarnessError) {
                report = try await harness.run(checks)
            } catch {
                // Found before any check.
                guard case .notUnderstood = error else { throw error }
                return
            }
            #expect(report.results.first?.outcome.isFailed == true)
        }
    }
}

/// Says to every request that it comes too fast.
private final class Refuser: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let refusal: JSONValue = [
            "v": 1, "id": "1", "ok": false,
            "error": ["code": "tooManyRequests", "message": "too fast", "details": ["retryAfterMs": 0]],
        ]
        context.channel.writeAndFlush(ByteBuffer(bytes: refusal.line + [UInt8(ascii: "\n")]), promise: nil)
    }
}

extension ModelDevice {
    /// Has the device store a network whose password the harness does not know.
    func storeOne() throws { try store("Attic", "unknown to all") }

    func store(_ name: String, _ password: String) throws {
        let network = Stored(ssid: try SSID(name), password: Secret(text: password))
        state.withLock { $0.backups = [network] }
    }
}
