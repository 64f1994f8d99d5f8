import AppProtocol
import Foundation
import JSONValues
import Testing

@testable import Harness

/// The reports of a run.
@Suite struct ReportTests {
    private let check = Check("a.b.c", "a & b are <so>", section: "Lines") { _ in }

    private var report: Report {
        let failure = CheckResult.Outcome.failed(expected: "x < 5", got: "\"6\"\u{1}", exchange: ["-> {}", "<- ]]>"])
        return Report(
            device: Capabilities(maxBackupNetworks: 3, deviceId: "d&\u{1b}", firmware: "1", features: []),
            endpoint: "here",
            results: [
                CheckResult(check, .passed, took: .milliseconds(1500), codes: ["malformed"]),
                CheckResult(check, failure), CheckResult(check, .skipped(why: "no \"hook\"")),
            ], took: .seconds(2))
    }

    @Test func itConformsOnlyIfNothingFailedAndSomethingPassed() {
        #expect(!report.isConforming)
        let device = Capabilities(maxBackupNetworks: 3, deviceId: "d", firmware: "1", features: [])
        func conforms(_ outcomes: CheckResult.Outcome...) -> Bool {
            Report(
                device: device, endpoint: "", results: outcomes.map { CheckResult(check, $0) }, took: .zero
            ).isConforming
        }
        #expect(conforms(.passed, .skipped(why: "")))
        #expect(!conforms(.skipped(why: "")))
        #expect(!conforms())
    }

    @Test func jsonSaysAll() throws {
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(report.json().utf8)) as? [String: Any])
        #expect(object["passed"] as? Int == 1)
        #expect(object["failed"] as? Int == 1)
        let checks = try #require(object["checks"] as? [[String: Any]])
        #expect(checks.map { $0["outcome"] as? String } == ["passed", "failed", "skipped"])
        #expect(checks[1]["exchange"] as? [String] == ["-> {}", "<- ]]>"])
        #expect(checks[0]["seconds"] as? Double == 1.5)
        #expect((object["unseenCodes"] as? [String])?.contains("malformed") == false)
    }

    @Test func junitIsXMLWhateverTheDeviceSays() throws {
        #expect(report.junit.contains(#"tests="3" failures="1" errors="0" skipped="1""#))
        #expect(report.junit.contains(#"<failure message="expected x &lt; 5, got &quot;6&quot;\#u{fffd}">"#))
        #expect(report.junit.contains("&lt;- ]]&gt;"))
        #expect(report.junit.contains(#"classname="a.b" name="a.b.c" time="1.5""#))
        #expect(!report.junit.unicodeScalars.contains("\u{1b}"))
    }

    @Test(arguments: [
        (#"{"password":"swordfish","ssid":"a"}"#, #"{"password":"<redacted>","ssid":"a"}"#),
        (#"{"password" : "with \" quote"}"#, #"{"password" : "<redacted>"}"#),
        (#"{"password":"never ends"#, #"{"password":"<redacted>"#),
        (#"{"password":null,"x":1}"#, #"{"password":null,"x":1}"#),
        (#"{"password":"a","password":"b"}"#, #"{"password":"<redacted>","password":"<redacted>"}"#),
    ])
    func passwordsAreLeftOut(_ line: String, _ shown: String) {
        #expect(String(decoding: Redaction.hidingPasswords(in: Array(line.utf8)), as: UTF8.self) == shown)
    }

    @Test func aPasswordThatComesBackIsSeenAndLeftOut() {
        let transcript = Transcript()
        transcript.keepSecret("swordfish")
        transcript.sent(Array("the swordfish goes".utf8))
        #expect(transcript.leak == nil)
        transcript.received(Array("the swordfish comes\u{1b}".utf8))
        #expect(transcript.leak == "<- the <redacted> comes\\x1b")
        #expect(transcript.lines == ["-> the <redacted> goes", "<- the <redacted> comes\\x1b"])
    }
}

/// The forms of a device's answers.
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
        #expect(Self.complaints(about: "cafe") == ["networks[0].providers is not a list"])
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
