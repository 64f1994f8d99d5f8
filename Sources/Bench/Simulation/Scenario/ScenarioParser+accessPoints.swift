import AgentModel

extension ScenarioParser {
    /// Reads `ap kitchen Home channel 6 signal -55 fading 2`.
    mutating func readAccessPoint(_ line: inout ScenarioLine) throws(ScenarioError) {
        let name = try newName(&line)
        let ssid = try line.ssid()
        try line.expect("channel")
        let frequency = try line.value(channelExpected) { self.frequency($0) }
        var accessPoint = Scenario.AccessPoint(
            name: name, ssid: ssid, frequency: frequency, place: try readPlace(&line))
        try readOptions(of: &accessPoint, isKnown: scenario.networks.first { $0.ssid == ssid }, &line)
        try add(accessPoint, line)
    }

    /// Reads `crowd flat 180 channels 1,6,11,36 signal -90 to -60 open`. This adds unknown neighbour networks `flat1`,
    /// `flat2`, ... on alternating channels, with signals spread evenly over the range.
    mutating func readCrowd(_ line: inout ScenarioLine) throws(ScenarioError) {
        let prefix = try newName(&line)
        let limit = Self.accessPointLimit
        let count = try line.value("a number of access points from 1 to \(limit)") {
            $0.integer(in: 1...limit, unit: "")
        }
        try line.expect("channels")
        let frequencies = try line.value("\(channelExpected) or several such as 1,6,11") { $0.list { frequency($0) } }
        try line.expect("signal")
        let weakest = try line.signal()
        try line.expect("to")
        let strongest = try line.value("a signal that is not weaker, such as -60") { word in
            word.signal.flatMap { $0 >= weakest ? $0 : nil }
        }
        var model = Scenario.AccessPoint(
            name: prefix, ssid: try ssid(of: prefix, line), frequency: frequencies[0], place: .signal(weakest))
        try readOptions(of: &model, isKnown: nil, &line)
        for number in 1...count {
            var accessPoint = model
            accessPoint.name = "\(prefix)\(number)"
            accessPoint.ssid = try ssid(of: accessPoint.name, line)
            accessPoint.frequency = frequencies[(number - 1) % frequencies.count]
            // Fractions of golden ratio multiples spread signals evenly, and differ much between neighbours.
            let share = number * 618_034 % 1_000_000
            accessPoint.place = .signal(weakest + (strongest - weakest + 1) * share / 1_000_000)
            try add(accessPoint, line)
        }
    }

    /// Reads `signal -55` or `at 20,5 power -30 exponent 3.2`.
    private func readPlace(_ line: inout ScenarioLine) throws(ScenarioError) -> Scenario.AccessPoint.Placement {
        switch try line.keyword(PlaceKeyword.self) {
        case .signal: return .signal(try line.signal())
        case .at:
            let point = try line.point()
            try line.expect("power")
            let power = try line.value("the signal at one metre in dBm such as -35") { $0.signal }
            try line.expect("exponent")
            let exponent = try line.value("a path loss exponent from 1 to 8 such as 3.2") {
                $0.decimal(in: 1...8, unit: "")
            }
            return .position(point, atOneMetre: power, exponent: exponent)
        }
    }

    private enum PlaceKeyword: String, ScenarioKeyword {
        case signal, at
    }

    private enum Option: String, ScenarioKeyword {
        case password, open, shadowing, fading, internet, address, full, off
    }

    /// - Parameter network: the device's network with this SSID, whose password is the default; nil if unknown.
    private func readOptions(
        of accessPoint: inout Scenario.AccessPoint, isKnown network: Scenario.Network?, _ line: inout ScenarioLine
    ) throws(ScenarioError) {
        accessPoint.password = network?.password
        var isAccessOpen = network == nil
        var options = Set(Option.allCases)
        while let option = try line.option(outOf: &options) {
            switch option {
            case .password, .open:
                options.subtract([.password, .open])
                isAccessOpen = false
                accessPoint.password = option == .open ? nil : try line.password()
            case .shadowing:
                accessPoint.shadowing = try line.decibels()
                try line.expect("over")
                accessPoint.shadowingTime = try line.duration(
                    from: .seconds(1), "a time of at least 1s in which the signal changes, such as 60s")
            case .fading: accessPoint.fading = try line.decibels()
            case .internet: accessPoint.internet = try line.internet()
            case .address: accessPoint.addressTime = try line.addressTime()
            case .full: accessPoint.isFull = true
            case .off: accessPoint.isOn = false
            }
        }
        if isAccessOpen {
            throw line.error(
                expected: "\"password\" or \"open\", as the device knows no network with this name", word: nil)
        }
    }

    // MARK: Names and channels

    private mutating func add(_ accessPoint: Scenario.AccessPoint, _ line: ScenarioLine) throws(ScenarioError) {
        guard !scenario.accessPoints.contains(where: { $0.name == accessPoint.name }) else {
            throw line.error(expected: "a name that no access point has yet", word: accessPoint.name)
        }
        guard scenario.accessPoints.count < Self.accessPointLimit else {
            throw line.error(
                expected: "at most \(Self.accessPointLimit) access points", found: "one more, \(accessPoint.name)")
        }
        scenario.accessPoints.append(accessPoint)
    }

    private func newName(_ line: inout ScenarioLine) throws(ScenarioError) -> String {
        try line.value("a name of letters, digits, \"-\" and \"_\" that begins with a letter and is not a keyword") {
            $0.accessPointName.flatMap { HappeningSubject(rawValue: $0) == nil ? $0 : nil }
        }
    }

    private func ssid(of name: String, _ line: ScenarioLine) throws(ScenarioError) -> SSID {
        guard let ssid = try? SSID(name) else {
            throw line.error(expected: "a name that is shorter with its number", word: name)
        }
        return ssid
    }

    private var channelExpected: String {
        scenario.radio.hasFiveGigahertz
            ? "a channel on 2.4 or 5 GHz such as 6 or 36" : "a channel on 2.4 GHz, as the radio has no other"
    }

    private func frequency(_ word: ScenarioWord) -> Frequency? {
        word.frequency.flatMap { $0.band == .twoPointFour || scenario.radio.hasFiveGigahertz ? $0 : nil }
    }
}
