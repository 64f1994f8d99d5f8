import AgentModel

extension ScenarioParser {
    /// First word of a change that is not an access point's name.
    enum HappeningSubject: String, ScenarioKeyword {
        case device, told, interference, command, uplink, suspend, supplicant, agent
    }

    /// Reads an event such as `at 10m home off`.
    mutating func readHappening(_ line: inout ScenarioLine) throws(ScenarioError) {
        let time = try readTime(&line)
        for change in try readChanges(&line) { try add(change, at: time, line) }
    }

    /// Reads a repeated event such as `every 10m from 1h until 2h home off`.
    mutating func readRepetition(_ line: inout ScenarioLine) throws(ScenarioError) {
        let period = try line.duration(from: .milliseconds(1), "a time of at least 1ms, such as 10m")
        try line.expect("from")
        var time = try readTime(&line)
        var end = scenario.duration
        if line.consume("until") {
            end = try line.value("a time after \(time.inUnits) and not after the end at \(end.inUnits)") {
                $0.duration.flatMap { $0 > time && $0 <= end ? $0 : nil }
            }
        }
        let changes = try readChanges(&line)
        while time < end {
            for change in changes { try add(change, at: time, line) }
            time += period
        }
    }

    private func readTime(_ line: inout ScenarioLine) throws(ScenarioError) -> Duration {
        let end = scenario.duration
        return try line.value("a time before the end at \(end.inUnits)") {
            $0.duration.flatMap { $0 < end ? $0 : nil }
        }
    }

    private mutating func add(
        _ change: Scenario.Change, at time: Duration, _ line: ScenarioLine
    ) throws(ScenarioError) {
        if time + change.length > scenario.duration {
            throw line.error(
                expected: "an end no later than the scenario's, at \(scenario.duration.inUnits)",
                found: "an end at \((time + change.length).inUnits)")
        }
        guard scenario.happenings.count < Self.happeningLimit else {
            throw line.error(expected: "at most \(Self.happeningLimit) events", found: "one more")
        }
        scenario.happenings.append(Scenario.Happening(at: time, change))
    }

    // MARK: Changes

    private func readChanges(_ line: inout ScenarioLine) throws(ScenarioError) -> [Scenario.Change] {
        guard let subject = line.keyword(ifAny: HappeningSubject.self) else {
            let accessPoints = try readAccessPoints(&line)
            return try readChange(of: accessPoints, &line)
        }
        return [try readChange(subject, &line)]
    }

    private func readChange(
        _ subject: HappeningSubject, _ line: inout ScenarioLine
    ) throws(ScenarioError) -> Scenario.Change {
        switch subject {
        case .device:
            try line.expect("moves", "to")
            return .move(to: try line.point(), over: try readPace(&line))
        case .told:
            return .newPassword(network: try readNetworkName(&line), try line.access().password)
        case .interference:
            return try readInterference(&line)
        case .command:
            return try readCommand(&line)
        case .uplink:
            return .otherUplink(line.consume("none") ? nil : try readOtherUplink(&line))
        case .suspend:
            try line.expect("for")
            return .suspend(for: try line.duration(from: .milliseconds(1)))
        case .supplicant:
            try line.expect("dies", "back", "after")
            return .supplicantDies(backAfter: try line.duration())
        case .agent:
            try line.expect("restarts")
            return .restart
        }
    }

    private func readInterference(_ line: inout ScenarioLine) throws(ScenarioError) -> Scenario.Change {
        let frequencies = try line.value("frequencies in MHz such as 2400-2483") { $0.frequencyRange }
        try line.expect("loss")
        let loss = try line.value("a share of lost frames from 0% to 100%") { $0.share }
        try line.expect("for")
        return .interference(frequencies, loss: loss, for: try line.duration(from: .milliseconds(1)))
    }

    private func readCommand(_ line: inout ScenarioLine) throws(ScenarioError) -> Scenario.Change {
        let network = try readNetworkName(&line)
        guard line.consume("confirm") else {
            return .command(network: network, confirmWithin: nil, confirmAfter: nil)
        }
        try line.expect("within")
        let limit = try line.duration(from: .milliseconds(1))
        var confirmation: Duration?
        if line.consume("confirmed") {
            try line.expect("after")
            confirmation = try line.duration()
        }
        return .command(network: network, confirmWithin: limit, confirmAfter: confirmation)
    }

    private func readOtherUplink(_ line: inout ScenarioLine) throws(ScenarioError) -> Uplink {
        try line.value("\"wired\", \"cellular\", \"other\" or \"none\"") { word in
            word.plain.flatMap { Uplink(rawValue: $0) }.flatMap { $0 == .wifi ? nil : $0 }
        }
    }

    // MARK: Access points

    private enum Verb: String, ScenarioKeyword {
        case on, off, signal, internet, address, full, not, password, open
    }

    private func readChange(
        of accessPoints: [Scenario.AccessPoint], _ line: inout ScenarioLine
    ) throws(ScenarioError) -> [Scenario.Change] {
        let names = accessPoints.map(\.name)
        switch try line.keyword(Verb.self) {
        case .on: return names.map { .power(ap: $0, isOn: true) }
        case .off: return names.map { .power(ap: $0, isOn: false) }
        case .signal:
            if let placed = accessPoints.first(where: \.isAtPosition) {
                throw line.error(
                    expected: "an access point with \"signal\", as the signal of \(placed.name) follows from its place")
            }
            let signal = try line.signal()
            let pace = try readPace(&line)
            return names.map { .signal(ap: $0, signal, over: pace) }
        case .internet:
            let internet = try line.internet()
            return names.map { .internet(ap: $0, internet) }
        case .address:
            let time = try line.addressTime()
            return names.map { .address(ap: $0, time) }
        case .full: return names.map { .full(ap: $0, true) }
        case .not:
            try line.expect("full")
            return names.map { .full(ap: $0, false) }
        case .password:
            let password = try line.password()
            return names.map { .password(ap: $0, password) }
        case .open: return names.map { .password(ap: $0, nil) }
        }
    }

    /// Reads a name (`home`), several names (`home,attic`), names with a prefix (`flat*`) or an SSID.
    private func readAccessPoints(_ line: inout ScenarioLine) throws(ScenarioError) -> [Scenario.AccessPoint] {
        let known = scenario.accessPoints
        func network(_ word: ScenarioWord) -> [Scenario.AccessPoint]? {
            let group = known.filter { $0.ssid == word.ssid }
            return group.isEmpty ? nil : group
        }
        let groups = try line.value("an access point's name, or \(HappeningSubject.choice)") { word in
            word.list { name -> [Scenario.AccessPoint]? in
                guard let pattern = name.plain else { return nil }
                let group = known.filter {
                    pattern.last == "*" ? $0.name.hasPrefix(pattern.dropLast()) : $0.name == pattern
                }
                return group.isEmpty ? network(name) : group
            } ?? network(word).map { [$0] }
        }
        return groups.flatMap(\.self)
    }

    /// Parses changes without a time, such as `home off`.
    static func changes(_ text: String, in scenario: Scenario) throws(ScenarioError) -> [Scenario.Change] {
        guard text.utf8.count <= sizeLimit else {
            throw ScenarioError(file: "change", line: nil, expected: "at most \(sizeLimit) bytes", found: "more")
        }
        var parser = Self(name: scenario.name, file: "change")
        parser.scenario = scenario
        var line = try ScenarioLine(try parser.text(text.utf8, line: 1), file: "change", number: 1)
        let changes = try parser.readChanges(&line)
        try line.end()
        return changes
    }

    // MARK: Parts of a change

    private func readNetworkName(_ line: inout ScenarioLine) throws(ScenarioError) -> SSID {
        let known = scenario.networks.map(\.ssid)
        return try line.value("a network that the device knows: \(known.map(\.description).joinedAsChoice)") {
            $0.ssid.flatMap { known.contains($0) ? $0 : nil }
        }
    }

    /// Reads `over 30s`. A change without these words happens at once.
    private func readPace(_ line: inout ScenarioLine) throws(ScenarioError) -> Duration {
        line.consume("over") ? try line.duration() : .zero
    }
}

extension Scenario.AccessPoint {
    fileprivate var isAtPosition: Bool {
        guard case .position = place else { return false }
        return true
    }
}

extension Scenario.Change {
    var length: Duration {
        switch self {
        case .signal(_, _, let length), .move(_, let length), .interference(_, _, let length), .suspend(let length),
            .supplicantDies(let length):
            length
        case .power, .internet, .address, .full, .password, .newPassword, .command, .otherUplink, .restart:
            .zero
        }
    }
}
