import AppProtocol
import FoundationEssentials

public struct Report: Sendable {
    public let deviceId: String
    public let firmware: String
    public let endpoint: String
    public let results: [CheckResult]
    public let took: Duration

    init(device: Capabilities, endpoint: String, results: [CheckResult], took: Duration) {
        deviceId = Redaction.printable(device.deviceId.utf8)
        firmware = Redaction.printable(device.firmware.utf8)
        self.endpoint = endpoint
        self.results = results
        self.took = took
    }

    public var passed: Int { results.count { $0.outcome.isPassed } }
    public var failed: Int { results.count { $0.outcome.isFailed } }
    public var skipped: Int { results.count - passed - failed }

    /// True if no check failed and at least one passed.
    public var isConforming: Bool { failed == 0 && passed > 0 }

    /// Error codes of the protocol that did not occur in the run.
    public var unseenCodes: [String] {
        let seen = results.reduce(into: Set<String>()) { $0.formUnion($1.codes) }
        return ErrorCode.allCases.map(\.rawValue).filter { !seen.contains($0) }
    }
}

public struct CheckResult: Sendable {
    public let id: String
    public let title: String
    /// Heading of the requirement's section in Docs/reference/protocol.md.
    public let section: String
    public let outcome: Outcome
    public let took: Duration
    public let codes: Set<String>
    /// The check changed the device, and the harness could not restore it.
    public let isLeftChanged: Bool

    public enum Outcome: Sendable, Equatable {
        case passed
        /// - exchange: last lines of the check's connections. Passwords are removed.
        case failed(expected: String, got: String, exchange: [String])
        case skipped(why: String)

        public var isPassed: Bool { self == .passed }
        public var isFailed: Bool { if case .failed = self { true } else { false } }
    }

    init(
        _ check: Check, _ outcome: Outcome, took: Duration = .zero, codes: Set<String> = [],
        isLeftChanged: Bool = false
    ) {
        id = check.id
        title = check.title
        section = check.section
        self.outcome = outcome
        self.took = took
        self.codes = codes
        self.isLeftChanged = isLeftChanged
    }
}

extension CheckResult {
    /// Returns the result as one line for a terminal, or several lines for a failed check.
    /// - Parameter paint: colours a word with an ANSI code, or returns it unchanged.
    public func text(_ paint: (String, _ colour: Int) -> String = { text, _ in text }) -> String {
        switch outcome {
        case .passed: return "\(paint("passed", 32))   \(id): \(title)"
        case .skipped(let why): return "\(paint("skipped", 33))  \(id): \(why)"
        case .failed(let expected, let got, let exchange):
            let lines = [
                "\(paint("FAILED", 31))   \(id): \(title)",
                "         promised in Docs/reference/protocol.md, \(section)",
                "         expected \(expected)", "         got      \(got)",
            ]
            return (lines + exchange.map { "           \($0)" }).joined(separator: "\n")
        }
    }
}

extension Report {
    public var summary: String {
        let seconds = took.components.seconds
        var lines = [
            "\(deviceId), firmware \(firmware), at \(endpoint):",
            "\(passed) passed, \(failed) failed, \(skipped) skipped, in \(seconds) s.",
        ]
        let names = results.filter(\.outcome.isFailed).map(\.id)
        if !names.isEmpty { lines.append("Failed: \(names.joined(separator: ", ")).") }
        if !unseenCodes.isEmpty { lines.append("Errors that were not seen: \(unseenCodes.joined(separator: ", ")).") }
        return lines.joined(separator: "\n")
    }
}

extension Report {
    /// Report as JSON, documented in Docs/integrator/test-devices.md.
    public func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        return String(decoding: try encoder.encode(Document(self)), as: UTF8.self) + "\n"
    }

    /// Report as JUnit XML, in the form that Jenkins and GitLab accept.
    public var junit: String {
        let head = #"<?xml version="1.0" encoding="UTF-8"?>"#
        let suite =
            #"<testsuite name="altnet-harness" tests="\#(results.count)" failures="\#(failed)" errors="0" "#
            + #"skipped="\#(skipped)" time="\#(took.inSeconds)">"#
        let device =
            #"<properties><property name="deviceId" value="\#(deviceId.xml)"/>"#
            + #"<property name="firmware" value="\#(firmware.xml)"/></properties>"#
        return ([head, suite, device] + results.map(\.junit) + ["</testsuite>", ""]).joined(separator: "\n")
    }

    private struct Document: Encodable {
        let deviceId, firmware, endpoint: String
        let passed, failed, skipped: Int
        let seconds: Double
        let unseenCodes: [String]
        let checks: [Entry]

        init(_ report: Report) {
            deviceId = report.deviceId
            firmware = report.firmware
            endpoint = report.endpoint
            passed = report.passed
            failed = report.failed
            skipped = report.skipped
            seconds = report.took.inSeconds
            unseenCodes = report.unseenCodes
            checks = report.results.map(Entry.init)
        }
    }

    private struct Entry: Encodable {
        let id, title, section, outcome: String
        let seconds: Double
        var why, expected, got: String?
        var exchange: [String]?

        init(_ result: CheckResult) {
            id = result.id
            title = result.title
            section = result.section
            seconds = result.took.inSeconds
            switch result.outcome {
            case .passed: outcome = "passed"
            case .skipped(let reason):
                outcome = "skipped"
                why = reason
            case .failed(let wanted, let found, let lines):
                outcome = "failed"
                (expected, got, exchange) = (wanted, found, lines)
            }
        }
    }
}

extension CheckResult {
    fileprivate var junit: String {
        let group = id.split(separator: ".").dropLast().joined(separator: ".")
        let open = #"<testcase classname="\#(group.xml)" name="\#(id.xml)" time="\#(took.inSeconds)">"#
        switch outcome {
        case .passed: return open + "</testcase>"
        case .skipped(let why): return open + #"<skipped message="\#(why.xml)"/></testcase>"#
        case .failed(let expected, let got, let exchange):
            let text = "\(title) (Docs/reference/protocol.md, \(section))\n" + exchange.joined(separator: "\n")
            return open
                + #"<failure message="\#("expected \(expected), got \(got)".xml)">\#(text.xml)</failure></testcase>"#
        }
    }
}

extension Duration {
    /// Duration in seconds, rounded to milliseconds.
    fileprivate var inSeconds: Double {
        Double(components.seconds) + (Double(components.attoseconds) / 1e15).rounded() / 1000
    }
}

extension String {
    /// Text escaped for text and attributes of XML 1.0, which cannot represent most control characters.
    fileprivate var xml: String {
        unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "\n": result += "&#10;"
            case "\u{0}"..<" ", "\u{fffe}", "\u{ffff}": result += "\u{fffd}"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
}
