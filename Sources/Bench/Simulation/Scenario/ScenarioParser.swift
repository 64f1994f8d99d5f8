import Failover

/// Parses a scenario file line by line. `Docs/contributor/simulator.md` describes the format.
struct ScenarioParser {
    /// Maximum size of a scenario in bytes.
    static let sizeLimit = 64 * 1024
    static let networkLimit = 32
    static let accessPointLimit = 500
    static let happeningLimit = 10_000
    static let longestDuration = Duration.seconds(366 * 86_400)

    enum Statement: String, ScenarioKeyword {
        case title, about, duration, device, radio, set, network, ap, crowd, at, every

        /// Parts of a file in order. Each part refers only to earlier parts.
        enum Part: Int {
            case head, networks, accessPoints, happenings
        }

        var part: Part {
            switch self {
            case .title, .about, .duration, .device, .radio, .set: .head
            case .network: .networks
            case .ap, .crowd: .accessPoints
            case .at, .every: .happenings
            }
        }

        var isRepeatable: Bool { part != .head || self == .set }

        static let required: [Self] = [.title, .about, .duration, .network]
    }

    let file: String
    var scenario: Scenario
    var settingLines: [String: Int] = [:]
    private var statements: Set<Statement> = []
    private var last: Statement?

    init(name: String, file: String) {
        self.file = file
        scenario = Scenario(name: name, title: "", about: "", duration: .zero)
    }

    static func parse(
        _ bytes: some Collection<UInt8>, name: String, file: String
    ) throws(ScenarioError) -> Scenario {
        guard bytes.count <= sizeLimit else {
            throw ScenarioError(
                file: file, line: nil, expected: "at most \(sizeLimit) bytes", found: "more")
        }
        var parser = Self(name: name, file: file)
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() { try parser.read(line, number: index + 1) }
        return try parser.finished()
    }

    // MARK: Lines

    private mutating func read(_ bytes: some Collection<UInt8>, number: Int) throws(ScenarioError) {
        let text = try text(bytes, line: number)
        let content = text.drop(while: \.isBlank)
        guard let first = content.first, first != "#" else { return }
        guard content.startIndex == text.startIndex else { return try readContinuation(content, line: number) }

        var line = try ScenarioLine(
            String(text.prefix { !$0.isBlank }), file: file, number: number)
        let statement = try line.keyword(Statement.self)
        try checkPlace(of: statement, line)
        last = statement
        let rest = text.drop { !$0.isBlank }.drop(while: \.isBlank)
        switch statement {
        case .title: scenario.title = try freeText(rest, line)
        case .about: scenario.about = try freeText(rest, line)
        default:
            line = try ScenarioLine(String(rest), file: file, number: number)
            try read(statement, &line)
            try line.end()
        }
    }

    private mutating func read(_ statement: Statement, _ line: inout ScenarioLine) throws(ScenarioError) {
        switch statement {
        case .title, .about: break
        case .duration: try readDuration(&line)
        case .device: try readDevice(&line)
        case .radio: try readRadio(&line)
        case .set: try readSetting(&line)
        case .network: try readNetwork(&line)
        case .ap: try readAccessPoint(&line)
        case .crowd: try readCrowd(&line)
        case .at: try readHappening(&line)
        case .every: try readRepetition(&line)
        }
    }

    /// Returns a line as text, without a carriage return at its end.
    /// - Throws: `ScenarioError` for invisible characters and invalid UTF-8.
    func text(_ bytes: some Collection<UInt8>, line: Int) throws(ScenarioError) -> String {
        guard var text = String(validating: bytes, as: UTF8.self) else {
            throw ScenarioError(file: file, line: line, expected: "UTF-8", found: "other bytes")
        }
        if text.unicodeScalars.last == "\r" { text.unicodeScalars.removeLast() }
        guard let hidden = text.unicodeScalars.first(where: { !$0.isVisible && $0 != "\t" }) else { return text }
        throw ScenarioError(
            file: file, line: line, expected: "visible characters",
            found: "U+" + String(hidden.value, radix: 16, uppercase: true))
    }

    private mutating func readContinuation(_ text: Substring, line: Int) throws(ScenarioError) {
        guard last == .about else {
            throw ScenarioError(
                file: file, line: line, expected: "a line without indentation, as only \"about\" has further lines",
                found: "an indented line")
        }
        scenario.about += " " + text.trimmingBlanksAtEnd
    }

    private func freeText(_ text: Substring, _ line: ScenarioLine) throws(ScenarioError) -> String {
        guard !text.isEmpty else { throw line.error(expected: "some words", word: nil) }
        return text.trimmingBlanksAtEnd
    }

    // MARK: Order and completeness

    private mutating func checkPlace(of statement: Statement, _ line: ScenarioLine) throws(ScenarioError) {
        if let last, last.part.rawValue > statement.part.rawValue {
            throw line.error(expected: "\"\(statement.rawValue)\" before the first \"\(last.rawValue)\"")
        }
        if !statement.isRepeatable, statements.contains(statement) {
            throw line.error(expected: "\"\(statement.rawValue)\" only once")
        }
        if statement.part != .head { try checkHead(before: line) }
        statements.insert(statement)
    }

    /// Checks that the head has a duration, which later checks of events need.
    private func checkHead(before line: ScenarioLine) throws(ScenarioError) {
        if !statements.contains(.duration) { throw line.error(expected: "\"duration\" before it") }
    }

    private func finished() throws(ScenarioError) -> Scenario {
        for statement in Statement.required where !statements.contains(statement) {
            throw ScenarioError(
                file: file, line: nil, expected: "a line that begins with \"\(statement.rawValue)\"", found: "none")
        }
        try checkSettings()
        var scenario = scenario
        // Keep simultaneous events in the order of their lines.
        scenario.happenings = scenario.happenings.enumerated()
            .sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
        return scenario
    }
}

extension Character {
    fileprivate var isBlank: Bool { self == " " || self == "\t" }
}

extension Substring {
    fileprivate var trimmingBlanksAtEnd: String {
        String(self[..<(lastIndex { !$0.isBlank }.map(index(after:)) ?? startIndex)])
    }
}

extension Unicode.Scalar {
    /// Whether the character is visible, and cannot move a cursor or reorder a line.
    fileprivate var isVisible: Bool {
        switch properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}

extension ScenarioParser {
    /// Reads `duration 4h`.
    mutating func readDuration(_ line: inout ScenarioLine) throws(ScenarioError) {
        scenario.duration = try line.duration(from: .seconds(1), "a duration from 1s to 366d, such as 4h")
    }

    enum DeviceOption: String, ScenarioKeyword {
        case busy
        case signsIn = "signs-in"
    }

    /// Reads `device at 0,0 busy signs-in 4s`.
    mutating func readDevice(_ line: inout ScenarioLine) throws(ScenarioError) {
        try line.expect("at")
        scenario.position = try line.point()
        var options = Set(DeviceOption.allCases)
        while let option = try line.option(outOf: &options) {
            switch option {
            case .busy: scenario.isBusy = true
            case .signsIn:
                scenario.signInTime = try line.value("a time from 1ms to 60s, such as 4s") {
                    $0.duration(from: .milliseconds(1), to: .seconds(60))
                }
            }
        }
    }

    enum RadioOption: String, ScenarioKeyword {
        case channels, dwell, stations
        case noFiveGigahertz = "no-5GHz"
    }

    /// Reads `radio channels 13 dwell 60ms stations 2 no-5GHz`.
    mutating func readRadio(_ line: inout ScenarioLine) throws(ScenarioError) {
        var options = Set(RadioOption.allCases)
        while let option = try line.option(outOf: &options) {
            switch option {
            case .channels:
                scenario.radio.channels = try line.value("a number of channels from 1 to 200") {
                    $0.integer(in: 1...200, unit: "")
                }
            case .dwell:
                scenario.radio.dwell = try line.value("a time from 1ms to 1s, such as 80ms") {
                    $0.duration(from: .milliseconds(1), to: .seconds(1))
                }
            case .stations:
                scenario.radio.stations = try line.value("1 or 2") { $0.integer(in: 1...2, unit: "") }
            case .noFiveGigahertz:
                scenario.radio.hasFiveGigahertz = false
            }
        }
    }

    enum NetworkOption: String, ScenarioKeyword {
        case preferred, hidden
    }

    /// Reads `network Home password made-up-word preferred hidden`.
    mutating func readNetwork(_ line: inout ScenarioLine) throws(ScenarioError) {
        let ssid = try line.ssid()
        guard !scenario.networks.contains(where: { $0.ssid == ssid }) else {
            throw line.error(expected: "a network without an earlier line")
        }
        guard scenario.networks.count < Self.networkLimit else {
            throw line.error(expected: "at most \(Self.networkLimit) networks")
        }
        var network = Scenario.Network(ssid: ssid)
        network.password = try line.access().password
        var options = Set(NetworkOption.allCases)
        while let option = try line.option(outOf: &options) {
            switch option {
            case .hidden:
                network.isHidden = true
            case .preferred:
                guard !scenario.networks.contains(where: \.isPreferred) else {
                    throw line.error(expected: "one preferred network only")
                }
                network.isPreferred = true
            }
        }
        scenario.networks.append(network)
    }
}

extension ScenarioParser {
    /// Reads `set margin 10`, `set weakScan.first 20s` or `set validation on`.
    mutating func readSetting(_ line: inout ScenarioLine) throws(ScenarioError) {
        var warnings: [String] = []
        defer { scenario.warnings += warnings }
        let setting = try line.value("the name of a setting of the policy, such as \"margin\"") {
            word -> PolicySetting? in
            guard let name = word.plain, let setting = PolicySetting.named(name) else { return nil }
            if let warning = PolicySetting.warning(about: name) { warnings.append(warning) }
            return setting
        }
        guard settingLines.updateValue(line.number, forKey: setting.name) == nil else {
            throw line.error(expected: "a setting without an earlier line")
        }
        try line.value(setting.form) { word in
            word.plain.flatMap { setting.set($0, in: &scenario.settings) ? () : nil }
        }
    }

    /// Checks that the settings do not contradict each other. The error names the line of the contradicting setting, or
    /// the last line with a setting.
    func checkSettings() throws(ScenarioError) {
        guard let contradiction = scenario.settings.contradiction else { return }
        throw ScenarioError(
            file: file, line: settingLines[contradiction.setting] ?? settingLines.values.max(),
            expected: "settings that agree", found: "that \(contradiction)")
    }
}
