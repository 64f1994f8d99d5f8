import AgentModel

/// Values that several lines have.
extension ScenarioLine {
    mutating func duration(
        from shortest: Duration = .zero, _ expected: String = "a time with its unit, such as 90s or 1h30m"
    ) throws(ScenarioError) -> Duration {
        try value(expected) { $0.duration(from: shortest) }
    }

    mutating func point() throws(ScenarioError) -> Scenario.Point {
        try value("a place in metres such as 20,-5.5") { $0.point }
    }

    mutating func ssid() throws(ScenarioError) -> SSID {
        try value("a network's name of 1 to 32 bytes") { $0.ssid }
    }

    mutating func signal() throws(ScenarioError) -> Int {
        try value("a signal in dBm such as -60") { $0.signal }
    }

    mutating func decibels() throws(ScenarioError) -> Double {
        try value("decibels from 0 to 60 such as 3.5") { $0.decimal(in: 0...60, unit: "dB") }
    }

    mutating func password() throws(ScenarioError) -> String {
        try value("a password of 8 to 63 printable ASCII characters") { $0.password }
    }

    /// `password made-up-word` or `open`
    mutating func access() throws(ScenarioError) -> Access {
        switch try keyword(Access.Keyword.self) {
        case .open: .open
        case .password: .password(try password())
        }
    }

    enum Access {
        case open
        case password(String)

        enum Keyword: String, ScenarioKeyword {
            case password, open
        }

        var password: String? {
            switch self {
            case .open: nil
            case .password(let password): password
            }
        }
    }

    mutating func internet() throws(ScenarioError) -> Scenario.AccessPoint.Internet {
        try keyword(Scenario.AccessPoint.Internet.self)
    }

    /// `300ms` or `none`
    mutating func addressTime() throws(ScenarioError) -> Duration? {
        take("none") ? nil : try duration("a time such as 300ms, or \"none\"")
    }
}

extension Scenario.AccessPoint.Internet: ScenarioKeyword {}

extension ScenarioWord {
    var signal: Int? { integer(in: -110 ... -1, unit: "dBm") }

    func duration(
        from shortest: Duration, to longest: Duration = ScenarioParser.longestDuration
    ) -> Duration? {
        duration.flatMap { (shortest...longest).contains($0) ? $0 : nil }
    }

    /// `a,b,c`: what `meaning` makes of each part; nil if it makes nothing of one.
    func list<Value>(_ meaning: (ScenarioWord) -> Value?) -> [Value]? {
        guard let parts = plain?.split(separator: ",", omittingEmptySubsequences: false) else { return nil }
        let values = parts.compactMap { part in
            meaning(ScenarioWord(text: String(part), bytes: Array(part.utf8), isQuoted: false))
        }
        return values.count == parts.count ? values : nil
    }

    /// By its channel number on 2.4 or 5 GHz.
    var frequency: Frequency? {
        guard let channel = integer(in: 1...177, unit: "") else { return nil }
        return switch channel {
        case 1...13: Frequency(megahertz: 2407 + 5 * channel)
        case 14: Frequency(megahertz: 2484)
        case 36...64 where channel.isMultiple(of: 4), 100...144 where channel.isMultiple(of: 4),
            149...177 where channel % 4 == 1:
            Frequency(megahertz: 5000 + 5 * channel)
        default: nil
        }
    }
}
