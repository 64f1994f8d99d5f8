#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// The report for machines.
extension Report {
    /// JSON, documented in Docs/harness.md.
    public func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        return String(decoding: try encoder.encode(Document(self)), as: UTF8.self) + "\n"
    }

    /// The XML that build servers read from test runs (JUnit's, in the form that Jenkins and GitLab accept).
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
            let text = "\(title) (Docs/protocol.md, \(section))\n" + exchange.joined(separator: "\n")
            return open
                + #"<failure message="\#("expected \(expected), got \(got)".xml)">\#(text.xml)</failure></testcase>"#
        }
    }
}

extension Duration {
    /// To the millisecond.
    fileprivate var inSeconds: Double {
        Double(components.seconds) + (Double(components.attoseconds) / 1e15).rounded() / 1000
    }
}

extension String {
    /// As text or as an attribute in XML 1.0, which has no way to say most control characters.
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
