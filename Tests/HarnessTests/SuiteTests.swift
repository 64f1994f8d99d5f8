import AgentModel
import AppProtocol
import Foundation
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
            #expect(Set(skipped) == Set(Check.refusals.map(\.id) + ["backups.get.hashes", "key.seal.required"]))
            #expect(report.isConforming)
            #expect(device.state.withLock { device.list($0).shown.dropFirst() } == before)
            // What no check can bring about from outside.
            let unseen: Set = [
                "cannotSwitch", "storageFailed", "radioFailed", "interfaceMissing", "notPermitted",
                "tooManyRequests", "internalError", "sealRequired",
            ]
            #expect(Set(report.unseenCodes).isSubset(of: unseen), "\(report.unseenCodes)")
        }
    }

    @Test func aSoundDeviceConformsOverTheNetwork() async throws {
        try await withModel(overNetwork: true) { target, device in
            let report = try await Harness(target: target, bench: try bench(device)).run(Check.all)
            #expect(report.failures == [])
            #expect(report.results.filter { !$0.outcome.isPassed }.map(\.id) == ["backups.get.hashes"])
            #expect(report.isConforming)
        }
    }

    @Test func everyCheckHasAnIdOfItsOwnAndASectionOfTheDocument() throws {
        let ids = Check.all.map(\.id)
        #expect(Set(ids).count == ids.count)
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Docs/protocol.md")
        let headings = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("#") }.map { $0.drop { $0 == "#" || $0 == " " } }
        for check in Check.all { #expect(headings.contains(check.section[...]), "\(check.id): \(check.section)") }
    }
}

/// Each defect makes the checks fail that are there to find it: so they can fail.
@Suite struct MutantTests {
    @Test(arguments: Defect.allCases) func aDefectIsFound(_ defect: Defect) async throws {
        try await withModel(defect) { target, device in
            let checks = checks(defect.finders)
            #expect(checks.count == defect.finders.count)
            let report = try await Harness(target: target, bench: try bench(device), isDestructive: true).run(checks)
            // What comes after a check that left the device changed is not tried.
            for result in report.results.prefix(1 + (report.results.firstIndex(where: \.isLeftChanged) ?? .max - 1)) {
                #expect(result.outcome.isFailed, "\(result.id)")
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

extension ModelDevice {
    /// Has the device store a network whose password the harness does not know.
    func storeOne() throws { try store("Attic", "unknown to all") }

    func store(_ name: String, _ password: String) throws {
        let network = Stored(ssid: try SSID(name), password: Secret(text: password))
        state.withLock { $0.backups = [network] }
    }
}
