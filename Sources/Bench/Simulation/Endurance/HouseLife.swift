import Glibc
import Randomness

/// Happenings in a house, drawn from a seed. Simulator and lab play the same life.
public struct HouseLife: Sendable, Hashable {
    public enum Span: Sendable, Hashable {
        case days(Int)
        /// One hour with every fault once or twice. Home and backup never fail at the same time.
        case hour

        /// Length in seconds.
        public var seconds: Int {
            switch self {
            case .days(let days): days * HouseLife.day
            case .hour: 3600
            }
        }
    }

    public enum Kind: String, Sendable, CaseIterable {
        case routerRestarts = "router-restarts"
        case routerReplaced = "router-replaced"
        case passwordRotated = "password-rotated"
        case channelJammed = "channel-jammed"
        case signalFades = "signal-fades"
        case providerFails = "provider-fails"
        case namesFail = "names-fail"
        case leaseEnds = "lease-ends"
        case networksGone = "networks-gone"
        case twinAppears = "twin-appears"
        case commandedAway = "commanded-away"
        case appsConnect = "apps-connect"
        case brokerFails = "broker-fails"
        case supplicantKilled = "supplicant-killed"
        case agentKilled = "agent-killed"
        case powerCut = "power-cut"
        case firmwareCrashes = "firmware-crashes"
        case stickPulled = "stick-pulled"
        case diskFull = "disk-full"
        case diskSlow = "disk-slow"
        case clockSteps = "clock-steps"
    }

    /// Part of the house. A part has at most one happening at a time.
    public enum Place: String, Sendable, CaseIterable {
        case home, backup
        /// Home and backup together.
        case house
        case neighbour, app, server, device, disk, clock
    }

    public struct Happening: Sendable, Hashable {
        /// Seconds since the beginning.
        public let at: Int
        public let kind: Kind
        public let place: Place
        /// Length in seconds; of a clock's step its size, negative for a step back.
        public let seconds: Int

        public init(at: Int, _ kind: Kind, _ place: Place, seconds: Int) {
            (self.at, self.kind, self.place, self.seconds) = (at, kind, place, seconds)
        }

        /// End in seconds since the beginning.
        public var end: Int { kind == .clockSteps ? at : at + seconds }

        /// Whether the network at this place fails meanwhile.
        func breaks(_ network: Place) -> Bool { place == network || place == .house }
    }

    public struct Row: Sendable {
        public let kind: Kind
        /// Mean number per day.
        public let daily: Double
        public let seconds: ClosedRange<Int>
        public let places: [Place]
        public var hours = 0..<24
        /// Counterpart in the simulator; nil for none.
        public let simulated: String?
    }

    /// The grammar.
    public static let table = [
        Row(.routerRestarts, 1, 20...300, [.home, .backup], "power, then 20 s without internet"),
        Row(.routerReplaced, 0.1, 30...600, [.home], "another access point with the same name and password"),
        Row(.passwordRotated, 0.2, 30...600, [.home], "password; the app sends it at the end"),
        Row(.channelJammed, 1, 30...1800, [.home, .backup], hours: 18..<23, "half of the frames lost, or all"),
        Row(.signalFades, 2, 30...1800, [.home, .backup], "to -86 dBm in a quarter of the time"),
        Row(.providerFails, 1, 30...3600, [.home, .backup], "no internet"),
        Row(.namesFail, 0.5, 30...600, [.home, .backup], "no internet"),
        Row(.leaseEnds, 0.5, 60...1200, [.home, .backup], "a new link without an address"),
        Row(.networksGone, 0.1, 600...3000, [.house], "power"),
        Row(.twinAppears, 0.5, 60...1800, [.neighbour], "an access point with home's name and another password"),
        Row(.commandedAway, 0.5, 60...3600, [.app], "switch to the backup, and home at the end"),
        Row(.appsConnect, 1, 10...120, [.app], nil),
        Row(.brokerFails, 1, 10...600, [.server], nil),
        Row(.supplicantKilled, 0.5, 1...30, [.device], "wpa_supplicant's death"),
        Row(.agentKilled, 0.5, 1...5, [.device], "restart from the key file"),
        Row(.powerCut, 0.3, 5...60, [.device], "both of these, and the key file's power"),
        Row(.firmwareCrashes, 0.3, 2...20, [.device], "wpa_supplicant's death"),
        Row(.stickPulled, 0.2, 5...120, [.device], "wpa_supplicant's death"),
        Row(.diskFull, 0.3, 60...3600, [.disk], "the key file refuses to write"),
        Row(.diskSlow, 0.5, 60...1800, [.disk], "a commit takes 5 s"),
        Row(.clockSteps, 0.5, 1...2_592_000, [.clock], "the wall clock, forwards or back"),
    ]

    public let seed: UInt64
    public let span: Span
    /// In order of time.
    public let happenings: [Happening]

    static let day = 86_400
    /// Seconds between two happenings at a place.
    static let pause = 30

    public init(seed: UInt64, _ span: Span) {
        var draw = Draw(span: span, random: SeededRandom(seed: SeededRandom.mixed(seed)))
        for row in Self.table { draw.add(row) }
        self.init(seed: seed, span, draw.happenings)
    }

    private init(seed: UInt64, _ span: Span, _ happenings: [Happening]) {
        (self.seed, self.span) = (seed, span)
        self.happenings = happenings.sorted { ($0.at, $0.kind.rawValue) < ($1.at, $1.kind.rawValue) }
    }

    private struct Draw {
        let span: Span
        var random: SeededRandom
        var happenings: [Happening] = []

        mutating func add(_ row: Row) {
            guard case .days(let days) = span else {
                // Without a network the device cannot be online.
                if row.places == [.house] { return }
                for _ in 0..<Int.random(in: 1...2, using: &random) { add(row, day: 0) }
                return
            }
            let wanted = row.daily * Double(days)
            let rest = Double.random(in: 0..<1, using: &random) < wanted.truncatingRemainder(dividingBy: 1) ? 1 : 0
            for _ in 0..<(Int(wanted) + rest) { add(row, day: Int.random(in: 0..<days, using: &random)) }
        }

        /// Looks for a time that is free, and gives up after some.
        private mutating func add(_ row: Row, day: Int) {
            for _ in 0..<50 {
                let happening = happening(row, day: day)
                guard !happenings.contains(where: { collide($0, happening) }) else { continue }
                return happenings.append(happening)
            }
        }

        private mutating func happening(_ row: Row, day: Int) -> Happening {
            let isStep = row.kind == .clockSteps
            let longest = span == .hour && !isStep ? min(row.seconds.upperBound, 120) : row.seconds.upperBound
            let least = min(row.seconds.lowerBound, longest)
            // The logarithm is uniformly distributed.
            let share = Double.random(in: 0...1, using: &random)
            let seconds = Int((Double(least) * pow(Double(longest) / Double(least), share)).rounded())
            let length = isStep ? 0 : seconds
            // The first minutes are for the start. Everything ends on the same day.
            let (first, last) =
                span == .hour ? (180, 3600) : (max(600, row.hours.lowerBound * 3600), row.hours.upperBound * 3600)
            let at = Int.random(in: first..<(last - length - 2 * HouseLife.pause), using: &random)
            let isBack = isStep && Bool.random(using: &random)
            let place = row.places.randomElement(using: &random) ?? .house
            return Happening(at: day * HouseLife.day + at, row.kind, place, seconds: isBack ? -seconds : seconds)
        }

        private func collide(_ one: Happening, _ other: Happening) -> Bool {
            guard one.at <= other.end + 2 * HouseLife.pause, other.at <= one.end + 2 * HouseLife.pause else {
                return false
            }
            // A command to join a broken network costs its time, by design.
            let networks: Set<Place> = span == .hour ? [.home, .backup, .house, .app] : [.home, .backup, .house]
            return one.place == other.place
                || networks.isSuperset(of: [one.place, other.place])
                    && (span == .hour || one.place == .house || other.place == .house)
        }
    }

    public var soundTimes: [Range<Int>] { Self.soundTimes(happenings, seconds: span.seconds) }

    /// Returns the times in seconds in which the device and one network are sound. Times of different networks can
    /// overlap.
    /// - Parameters:
    ///   - happenings: in order of time.
    ///   - seconds: length of the life.
    public static func soundTimes(_ happenings: [Happening], seconds: Int) -> [Range<Int>] {
        [Place.home, .backup].flatMap { network -> [Range<Int>] in
            var (times, from): ([Range<Int>], Int) = ([], 0)
            for fault in happenings where fault.breaks(network) || fault.place == .device {
                if fault.at > from { times.append(from..<fault.at) }
                // A network needs a moment to be itself again.
                from = max(from, fault.end + (fault.place == .device ? 0 : pause))
            }
            return from < seconds ? times + [from..<seconds] : times
        }
    }
}

extension HouseLife.Row {
    fileprivate init(
        _ kind: HouseLife.Kind, _ daily: Double, _ seconds: ClosedRange<Int>, _ places: [HouseLife.Place],
        hours: Range<Int> = 0..<24, _ simulated: String?
    ) {
        (self.kind, self.daily, self.seconds, self.places) = (kind, daily, seconds, places)
        (self.hours, self.simulated) = (hours, simulated)
    }
}

/// The text has a line `house seed 7 days 30` or `house seed 7 hour`, and a line such as
/// `3d 18:42:10 channel-jammed home 540s` for each happening.
extension HouseLife: LosslessStringConvertible {
    public var description: String {
        let length = if case .days(let days) = span { "days \(days)" } else { "hour" }
        return (["house seed \(seed) \(length)"] + happenings.map(\.description)).joined(separator: "\n")
    }

    public init?(_ text: String) {
        let lines = text.split(separator: "\n")
        let head = (lines.first ?? "").split(separator: " ").map(String.init)
        guard head.count >= 4, head[0...1] == ["house", "seed"], let seed = UInt64(head[2]) else { return nil }
        let happenings = lines.dropFirst().map { Happening(String($0)) }
        let span: Span
        if head[3...] == ["hour"] {
            span = .hour
        } else {
            guard head.count == 5, head[3] == "days", let days = Int(head[4]), (1...366).contains(days) else {
                return nil
            }
            span = .days(days)
        }
        let read = happenings.compactMap(\.self)
        guard read.count == happenings.count else { return nil }
        self.init(seed: seed, span, read)
    }
}

extension HouseLife.Happening: LosslessStringConvertible {
    public var description: String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let time = "\(two(at / 3600 % 24)):\(two(at / 60 % 60)):\(two(at % 60))"
        return "\(at / HouseLife.day)d \(time) \(kind.rawValue) \(place.rawValue) \(seconds)s"
    }

    public init?(_ text: String) {
        let words = text.split(separator: " ").map(String.init)
        guard words.count == 5, words[0].last == "d", words[4].last == "s", let day = Int(words[0].dropLast()),
            let kind = HouseLife.Kind(rawValue: words[2]), let place = HouseLife.Place(rawValue: words[3]),
            let seconds = Int(words[4].dropLast())
        else { return nil }
        let clock = words[1].split(separator: ":").compactMap { Int($0) }
        guard (0...366).contains(day), clock.count == 3, (0..<24).contains(clock[0]),
            clock[1...].allSatisfy((0..<60).contains), kind == .clockSteps || seconds >= 0
        else { return nil }
        self.init(
            at: day * HouseLife.day + clock[0] * 3600 + clock[1] * 60 + clock[2], kind, place, seconds: seconds)
    }
}
