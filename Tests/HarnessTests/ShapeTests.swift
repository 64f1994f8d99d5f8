import AppProtocol
import Testing

@testable import Harness

/// What a device may answer.
@Suite struct ShapeTests {
    @Test(arguments: [
        (["cafe"], true), (Array(repeating: String(repeating: "x", count: 64), count: 16), true), ([], false),
        ([""], false), ([String(repeating: "x", count: 65)], false), (Array(repeating: "cafe", count: 17), false),
    ])
    func claimsAreBounded(providers: [String], isRight: Bool) {
        let complaints = Self.complaints(about: .array(providers.map { .text($0) }))
        #expect(complaints.isEmpty == isRight, "\(complaints)")
        #expect(complaints.allSatisfy { $0.hasPrefix("networks[0].providers") })
    }

    @Test func claimsAreAListOrNotThere() {
        #expect(Self.complaints(about: nil).isEmpty)
        #expect(Self.complaints(about: "cafe") == ["networks[0].providers is no list"])
    }

    private static func complaints(about providers: JSONValue?) -> [String] {
        var network: [String: JSONValue] = [
            "bssid": "02:00:00:00:01:00", "frequency": 2412, "signal": -50, "quality": 100, "security": "open",
            "ageMs": 1,
        ]
        network["providers"] = providers
        return Shape.body(of: .getScan).complaints(
            about: ["scanning": false, "truncated": false, "networks": [.object(network)]])
    }
}
