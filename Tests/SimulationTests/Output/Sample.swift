import AgentModel
import Failover
import Randomness

@testable import Simulation

/// Runs made by hand.
enum Sample {
    static let home = ssid("HomeNet")
    static let backup = ssid("BackupNet")
    /// A name that would end an element, reorder a line and move a cursor.
    static let hostile = ssid("\u{202e}</text>&\"']]>\u{1b}[2J\u{7}")

    static func ssid(_ text: String) -> SSID {
        guard let ssid = try? SSID(text) else { fatalError("\(text) is no SSID") }
        return ssid
    }

    static func scenario(_ networks: [SSID] = [home, backup]) -> Scenario {
        var scenario = Scenario(
            name: "power-cut", title: "A power cut", about: "The router loses its power.", duration: .seconds(3600))
        scenario.networks = networks.map { Scenario.Network(ssid: $0) }
        return scenario
    }

    /// An hour: in HomeNet for the first half, off for 36 s, then in BackupNet.
    static func timeline() -> Timeline {
        var timeline = Timeline(duration: .seconds(3600))
        timeline.signals = [
            signal("router", home, 2412, (0..<100).map { $0 < 50 ? -50 : nil }),
            signal("repeater", backup, 5180, Array(repeating: -60, count: 100)),
        ]
        timeline.stays = [
            .init(time: .zero..<(.seconds(1800)), accessPoint: 0),
            .init(time: .seconds(1836)..<(.seconds(3600)), accessPoint: 1),
        ]
        timeline.outages = [.seconds(1800)..<(.seconds(1836))]
        timeline.scans = [.seconds(1802)..<(.seconds(1804))]
        timeline.decisions = [
            decision(at: 1801, .lost, from: home, to: nil, .linkLost),
            decision(at: 1804, .join, from: home, to: backup, .linkLost),
        ]
        timeline.happenings = [.init(at: .seconds(1800), text: "router loses power")]
        return timeline
    }

    static func result(_ timeline: Timeline?) -> RunResult {
        var result = RunResult(scenario: "power-cut", policy: "altnet", seed: 7)
        result.duration = .seconds(3600)
        result.outage = .seconds(36)
        result.switches = 1
        result.scans = 1
        result.scanTime = .seconds(2)
        result.events = 120
        result.timeline = timeline
        return result
    }

    static func signal(_ name: String, _ ssid: SSID, _ megahertz: Int, _ samples: [Double?]) -> Timeline.Signal {
        Timeline.Signal(accessPoint: name, ssid: ssid, frequency: Frequency(megahertz: megahertz), samples: samples)
    }

    static func decision(
        at seconds: Int64, _ kind: PolicyDecision.Kind, from: SSID?, to: SSID?, _ cause: PolicyDecision.Cause
    ) -> PolicyDecision {
        PolicyDecision(
            at: Instant(milliseconds: seconds * 1000), kind: kind, from: from, to: to, fromBSSID: nil, toBSSID: nil,
            cause: cause, signal: -77, considered: [])
    }

    /// Anything that the types allow, sensible or not.
    static func random(seed: UInt64) -> (Scenario, RunResult) {
        var random = SeededRandom(seed: seed)
        let names = (0..<6).map { _ in bytes(&random) } + [hostile]
        var scenario = scenario(names.shuffled(using: &random).suffix(3))
        scenario.title = text(&random)
        scenario.about = text(&random)
        let length = Int64.random(in: 0...100_000_000, using: &random)
        func time(_ random: inout SeededRandom) -> Duration {
            .milliseconds(Int64.random(in: -10...length * 2 + 10, using: &random))
        }
        func span(_ random: inout SeededRandom) -> Range<Duration> {
            let (one, other) = (time(&random), time(&random))
            return min(one, other)..<max(one, other)
        }
        func count(_ random: inout SeededRandom) -> Range<Int> { 0..<Int.random(in: 0...60, using: &random) }
        var timeline = Timeline(duration: .milliseconds(length))
        timeline.signals = count(&random).map { _ in
            signal(
                text(&random), names.randomElement(using: &random) ?? hostile,
                Int.random(in: -1...8000, using: &random),
                count(&random).map { _ in
                    [nil, .nan, .infinity, -1e300, Double.random(in: -120...10, using: &random)].randomElement(
                        using: &random) ?? nil
                })
        }
        timeline.stays = count(&random).map { _ in
            .init(time: span(&random), accessPoint: Int.random(in: -1...60, using: &random))
        }
        timeline.outages = count(&random).map { _ in span(&random) }
        timeline.scans = count(&random).map { _ in span(&random) }
        timeline.happenings = count(&random).map { _ in .init(at: time(&random), text: text(&random)) }
        timeline.decisions = count(&random).map { index in
            decision(
                at: time(&random).components.seconds,
                PolicyDecision.Kind.allCases[index % PolicyDecision.Kind.allCases.count],
                from: names.randomElement(using: &random), to: names.randomElement(using: &random), .failure(.captive))
        }
        return (scenario, result(timeline))
    }

    private static func bytes(_ random: inout SeededRandom) -> SSID {
        let bytes = (0..<Int.random(in: 1...32, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        return (try? SSID(bytes: bytes)) ?? hostile
    }

    private static func text(_ random: inout SeededRandom) -> String {
        let scalars: [Unicode.Scalar] = [
            "a", "W", "<", "&", ">", "\"", "\u{0}", "\u{202e}", "\u{fffe}", "\u{301}", "好", "\n", " ",
        ]
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...80, using: &random) {
            text.append(scalars.randomElement(using: &random) ?? "a")
        }
        return String(text)
    }
}

/// Reads the part of XML that a picture needs, and refuses everything that is not well-formed in it (XML 1.0, 2.1).
struct XMLElement {
    let name: String
    let attributes: [String: String]
    var children: [XMLElement] = []
    var text = ""

    struct Malformed: Error, CustomStringConvertible {
        let description: String
    }

    init(document: String) throws {
        var reader = Reader(scalars: Array(document.unicodeScalars))
        self = try reader.element()
        try reader.end()
    }

    /// This element and all in it.
    var all: [XMLElement] { [self] + children.flatMap(\.all) }

    func all(named name: String) -> [XMLElement] { all.filter { $0.name == name } }

    func number(_ attribute: String) -> Double? { attributes[attribute].flatMap(Double.init) }

    private init(name: String, attributes: [String: String]) {
        self.name = name
        self.attributes = attributes
    }

    private struct Reader {
        let scalars: [Unicode.Scalar]
        var index = 0

        mutating func element() throws -> XMLElement {
            try expect("<")
            var element = XMLElement(name: try name(), attributes: try attributes())
            if accept("/") {
                try expect(">")
                return element
            }
            try expect(">")
            while true {
                element.text += try text(until: "<")
                guard !isNext("</") else { break }
                element.children.append(try self.element())
            }
            try expect("<")
            try expect("/")
            let end = try name()
            guard end == element.name else { throw Malformed(description: "\(element.name) ends as \(end)") }
            skipSpace()
            try expect(">")
            return element
        }

        mutating func end() throws {
            skipSpace()
            guard index == scalars.count else { throw Malformed(description: "something follows the root") }
        }

        private mutating func attributes() throws -> [String: String] {
            var attributes: [String: String] = [:]
            while skipSpace(), index < scalars.count, scalars[index] != ">", scalars[index] != "/" {
                let key = try name()
                try expect("=")
                try expect("\"")
                let value = try text(until: "\"")
                try expect("\"")
                guard attributes.updateValue(value, forKey: key) == nil else {
                    throw Malformed(description: "\(key) twice")
                }
            }
            return attributes
        }

        private mutating func name() throws -> String {
            let start = index
            while index < scalars.count,
                scalars[index].properties.isAlphabetic || "0123456789-_:".unicodeScalars.contains(scalars[index])
            {
                index += 1
            }
            guard index > start else { throw Malformed(description: "a name is missing at \(start)") }
            return String(String.UnicodeScalarView(scalars[start..<index]))
        }

        /// - Returns: The text with its entities resolved.
        private mutating func text(until end: Unicode.Scalar) throws -> String {
            var text = String.UnicodeScalarView()
            while index < scalars.count, scalars[index] != end {
                let scalar = scalars[index]
                switch scalar {
                case "<": throw Malformed(description: "< in a value")
                case "&": text.append(try entity())
                case "\n", "\t", "\r", "\u{20}"..."\u{d7ff}", "\u{e000}"..."\u{fffd}", "\u{10000}"..."\u{10ffff}":
                    text.append(scalar)
                default: throw Malformed(description: "U+\(String(scalar.value, radix: 16)) is no character of XML")
                }
                index += 1
            }
            guard index < scalars.count else { throw Malformed(description: "it ends in the middle") }
            return String(text)
        }

        /// - Returns: The character at the semicolon.
        private mutating func entity() throws -> Unicode.Scalar {
            for (name, scalar) in [("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\"")]
                as [(String, Unicode.Scalar)]
            where isNext(name) {
                index += name.unicodeScalars.count - 1
                return scalar
            }
            throw Malformed(description: "an unknown entity at \(index)")
        }

        private func isNext(_ text: String) -> Bool { scalars[index...].starts(with: text.unicodeScalars) }

        @discardableResult private mutating func skipSpace() -> Bool {
            while index < scalars.count, scalars[index] == " " || scalars[index] == "\n" { index += 1 }
            return true
        }

        private mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
            guard index < scalars.count, scalars[index] == scalar else { return false }
            index += 1
            return true
        }

        private mutating func expect(_ scalar: Unicode.Scalar) throws {
            guard accept(scalar) else { throw Malformed(description: "\(scalar) is missing at \(index)") }
        }
    }
}
