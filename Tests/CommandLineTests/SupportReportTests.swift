import Foundation
import Testing

@testable import altnet

@Suite struct SupportReportTests {
    private func redacted(_ tree: JSONTree) -> JSONTree {
        var substitutes = Substitutes()
        substitutes.learn(from: tree)
        return substitutes.apply(to: tree)
    }

    @Test func aNameHasOneSubstituteInValuesAndSentences() {
        let report = JSONTree.object([
            "list": .list([.object(["ssid": .text("Home")]), .object(["ssid": .text("Home 5")])]),
            "text": .text("joined Home 5, left Home; Homeward stays"),
        ])
        let members = redacted(report).members
        #expect(members["text"] == .text("joined network-2, left network-1; Homeward stays"))
        #expect(
            members["list"]
                == .list([.object(["ssid": .text("network-1")]), .object(["ssid": .text("network-2")])]))
    }

    @Test func addressesAreReplacedAndTimesStay() {
        let text = "10.0.1.17 via 02:00:00:00:00:01, fe80::1, at 2026-11-30T04:14:32.000Z, altnet 0.1.0"
        #expect(
            redacted(.text(text)) == .text("ipv4-1 via address-1, address-2, at 2026-11-30T04:14:32.000Z, altnet 0.1.0")
        )
    }

    @Test func aShortNameIsReplacedWhereItIsAWord() {
        let report = redacted(.object(["ssid": .text("a"), "text": .text("a radio has a fault")]))
        #expect(
            report == .object(["ssid": .text("network-1"), "text": .text("network-1 radio has network-1 fault")]))
    }

    @Test func theReportOfADeviceHasNoNamesOfItsHome() async throws {
        let run = try await CommandRun.altnet(["diagnose", "--report"], device: try ScriptedDevice())
        #expect(run.status == 0)
        for name in ["HomeNet", "Attic"] { #expect(!run.output.contains(name)) }
        let report = try JSONDecoder().decode(JSONTree.self, from: Data(run.output.utf8))
        #expect(
            Set(report.members.keys).isSuperset(of: ["program", "network", "history", "backups", "scan", "unanswered"]))
    }
}

extension JSONTree {
    /// Empty for what is no object.
    fileprivate var members: [String: JSONTree] { if case .object(let members) = self { members } else { [:] } }
}
