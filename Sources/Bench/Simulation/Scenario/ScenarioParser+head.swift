import AgentModel

/// What a scenario is, before anything is in it.
extension ScenarioParser {
    /// `duration 4h`
    mutating func readDuration(_ line: inout ScenarioLine) throws(ScenarioError) {
        scenario.duration = try line.duration(from: .seconds(1), "a duration from 1s to 366d, such as 4h")
    }

    /// `device at 0,0`
    mutating func readDevice(_ line: inout ScenarioLine) throws(ScenarioError) {
        try line.expect("at")
        scenario.position = try line.point()
    }

    enum RadioOption: String, ScenarioKeyword {
        case channels, dwell
        case noFiveGigahertz = "no-5GHz"
    }

    /// `radio channels 13 dwell 60ms no-5GHz`
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
            case .noFiveGigahertz:
                scenario.radio.hasFiveGigahertz = false
            }
        }
    }

    enum NetworkOption: String, ScenarioKeyword {
        case preferred, hidden
    }

    /// `network Home password made-up-word preferred hidden`
    mutating func readNetwork(_ line: inout ScenarioLine) throws(ScenarioError) {
        let ssid = try line.ssid()
        guard !scenario.networks.contains(where: { $0.ssid == ssid }) else {
            throw line.error(expected: "a network that is not there yet")
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
