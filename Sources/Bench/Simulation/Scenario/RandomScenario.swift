import Glibc
import Randomness

/// Generates scenarios from problems that users report, so that a policy cannot be tuned to a few files. A scenario has
/// a home network, one to three other networks, noise, and one to four kinds of problems.
///
/// Equal numbers give equal scenarios. Their text has the format of Docs/contributor/simulator.md.
public struct RandomScenario: Sendable {
    private static let prefix = "random-"

    public let text: String
    /// Name such as `random-17`.
    public let name: String

    public init(_ number: UInt64) {
        name = Self.prefix + String(number)
        var writer = Writer(random: SeededRandom(seed: SeededRandom.mixed(number)))
        text = writer.scenario(number)
    }

    public func scenario() throws(ScenarioError) -> Scenario {
        try Scenario(parsing: Array(text.utf8), name: name, file: name)
    }

    public static func isName(_ name: String) -> Bool { named(name) != nil }

    static func named(_ name: String) -> RandomScenario? {
        guard name.hasPrefix(prefix), let number = UInt64(name.dropFirst(prefix.count)) else { return nil }
        return RandomScenario(number)
    }

    private enum Theme: String, CaseIterable {
        case powerCut = "power cut"
        case flapping
        case cuts
        case deadInternet = "dead internet"
        case providerOutage = "provider outages"
        case slowStart = "slow start"
        case congestion, microwave, jam, fade, rounds
        case noAddress = "no address"
        case slowAddress = "slow address"
        case full
        case newPassword = "new password"
        case twin, captive, wired, sleep, supplicant, restart, command, street
    }

    private struct Writer {
        var random: SeededRandom
        /// Names of the home network's access points.
        private var homes: [String] = []
        /// Names of the other networks' access points.
        private var others: [String] = []
        private var channels: [String: Int] = [:]
        private var levels: [String: Int] = [:]
        private var networks: [String] = []
        private var duration = 0
        private var lines: [String] = []

        init(random: SeededRandom) { self.random = random }

        mutating func scenario(_ number: UInt64) -> String {
            duration = pick(from: 60, to: 180) * 60
            let count = pick(from: 1, to: 3)
            networks = (0...count).map { $0 == 0 ? "Home" : "Other\($0)" }
            var head = ["about Generated at random from its number.", "duration \(duration)s"]
            if chance(30) { head.append("device at 0,0 busy") }
            let stations = chance(10) ? " stations 2" : ""
            head.append("radio channels \(chance(50) ? 13 : 26)\(stations)")
            // Without probes, a device cannot detect missing internet access.
            head.append("set validation on")
            for (index, network) in networks.enumerated() {
                head.append("network \(network) password secret-of-\(index)\(index == 0 ? " preferred" : "")")
            }
            var accessPoints: [String] = []
            for index in 0..<pick(from: 1, to: 3) { accessPoints.append(accessPoint("home\(index)", "Home", -70, -45)) }
            for (index, network) in networks.enumerated().dropFirst() {
                for number in 0..<(chance(25) ? 2 : 1) {
                    accessPoints.append(accessPoint("other\(index)x\(number)", network, -80, -45))
                }
            }
            var themes = Theme.allCases
            var drawn: [Theme] = []
            for _ in 0..<pick(from: 1, to: 4) {
                let theme = themes.remove(at: pick(from: 0, to: themes.count - 1))
                drawn.append(theme)
                write(theme, &accessPoints)
            }
            let title = "title Random scenario \(number): \(drawn.map(\.rawValue).joined(separator: ", "))"
            return ([title] + head + accessPoints + lines).joined(separator: "\n") + "\n"
        }

        private mutating func accessPoint(_ name: String, _ network: String, _ low: Int, _ high: Int) -> String {
            if network == "Home" { homes.append(name) } else { others.append(name) }
            let channel = chance(70) ? [1, 6, 11, 13][pick(from: 0, to: 3)] : [36, 44, 100][pick(from: 0, to: 2)]
            let level = pick(from: low, to: high)
            channels[name] = channel
            levels[name] = level
            let address = chance(75) ? "" : " address \(stretched(100, 9000))ms"
            return "ap \(name) \(network) channel \(channel) signal \(level) shadowing \(pick(from: 0, to: 4)) "
                + "over \(pick(from: 20, to: 240))s fading \(pick(from: 0, to: 4))\(address)"
        }

        private mutating func write(_ theme: Theme, _ accessPoints: inout [String]) {
            let home = homes[pick(from: 0, to: homes.count - 1)]
            let any = chance(70) ? home : others[pick(from: 0, to: others.count - 1)]
            let all = homes.joined(separator: ",")
            let start = pick(from: 300, to: duration / 2)
            switch theme {
            case .powerCut: off(chance(50) ? all : home, at: start, for: stretched(2, 1800))
            case .flapping:
                let period = stretched(120, 2400)
                every(period, from: start, home, "off", then: "on", after: min(period / 2, stretched(3, 90)))
            case .cuts:
                // Power cuts of 1 s stand for forged deauthentications, each of which ends the device's link.
                let period = stretched(5, 120)
                let end = min(duration - 60, start + stretched(60, 900))
                line("every \(period)s from \(start)s until \(end)s \(home) off")
                line("every \(period)s from \(start + 1)s until \(end + 2)s \(home) on")
            case .deadInternet: internet(chance(60) ? all : any, "dead", at: start, for: stretched(120, 3000))
            case .providerOutage:
                for _ in 0..<pick(from: 1, to: 4) {
                    internet(all, "dead", at: pick(from: 300, to: duration - 700), for: stretched(30, 600))
                }
            case .slowStart:
                let length = stretched(10, 600)
                off(all, at: start, for: length)
                internet(all, "dead", at: start, for: length + stretched(10, 180))
            case .congestion:
                let channel = channels[any] ?? 1
                interference(on: channel, loss: pick(from: 15, to: 75), at: start, for: stretched(300, 3600))
            case .microwave:
                for _ in 0..<pick(from: 1, to: 5) {
                    line(
                        "at \(pick(from: 300, to: duration - 400))s interference 2400-2483MHz "
                            + "loss \(pick(from: 20, to: 80))% for \(stretched(20, 300))s")
                }
            case .jam: interference(on: channels[home] ?? 1, loss: 100, at: start, for: stretched(30, 1800))
            case .fade:
                let low = pick(from: -95, to: -72)
                let over = stretched(1, 1200)
                let back = min(duration - 400, start + over + stretched(30, 1800))
                line("at \(start)s \(any) signal \(low) over \(over)s")
                line(
                    "at \(max(start + over + 1, back))s \(any) signal \(levels[any] ?? -60) over \(stretched(1, 300))s")
            case .rounds: rounds()
            case .noAddress:
                let end = min(duration - 60, start + stretched(60, 2400))
                line("at \(start)s \(any) address none")
                off(any, at: start + 5, for: stretched(2, 30))
                line("at \(end)s \(any) address 300ms")
            case .slowAddress: line("at \(start)s \(all) address \(stretched(1000, 9000))ms")
            case .full:
                line("at \(start)s \(any) full")
                off(any, at: start + 60, for: stretched(2, 30))
                line("at \(min(duration - 60, start + stretched(120, 2400)))s \(any) not full")
            case .newPassword:
                line("at \(start)s \(all) password another-secret")
                if chance(80) {
                    line("at \(min(duration - 60, start + stretched(20, 1800)))s told Home password another-secret")
                }
            case .twin:
                accessPoints.append(
                    "ap twin Home channel 3 signal \(pick(from: -70, to: -35)) password not-the-right-one off")
                line("at \(max(1, start - 60))s twin on")
                off(all, at: start, for: stretched(5, 900))
                if chance(50) { line("at \(min(duration - 60, start + stretched(60, 2400)))s twin off") }
            case .captive: internet(any, "captive", at: start, for: stretched(300, 3000))
            case .wired:
                line("at \(start)s uplink wired")
                line("at \(min(duration - 60, start + stretched(30, 3000)))s uplink none")
            case .sleep:
                for _ in 0..<pick(from: 1, to: 4) {
                    line("at \(pick(from: 300, to: duration - 1000))s suspend for \(stretched(10, 900))s")
                }
            case .supplicant: line("at \(start)s supplicant dies back after \(stretched(1, 30))s")
            case .restart: line("at \(start)s agent restarts")
            case .command: line("at \(start)s command \(networks[pick(from: 0, to: networks.count - 1)])")
            case .street: street()
            }
        }

        private mutating func rounds() {
            let period = pick(from: 180, to: 1800)
            let way = max(10, period / pick(from: 4, to: 12))
            for (index, name) in (homes + others).enumerated() {
                let near = levels[name] ?? -60
                let far = max(-95, near - pick(from: 10, to: 35))
                let (first, second) = index.isMultiple(of: 2) ? (far, near) : (near, far)
                let from = 120 + (index > 1 ? pick(from: 0, to: period / 2) : 0)
                line("every \(period)s from \(from)s until \(duration - period)s \(name) signal \(first) over \(way)s")
                line(
                    "every \(period)s from \(from + period / 2)s until \(duration - way - 1)s \(name) "
                        + "signal \(second) over \(way)s")
            }
        }

        /// Cuts the power of all access points. They return one after the other, first without internet access.
        private mutating func street() {
            let start = pick(from: 300, to: duration / 2)
            for name in homes + others {
                let length = stretched(30, 1200)
                off(name, at: start, for: length)
                internet(name, "dead", at: start, for: length + stretched(10, 240))
            }
        }

        private mutating func off(_ names: String, at start: Int, for length: Int) {
            line("at \(start)s \(names) off")
            line("at \(min(start + length, duration - 30))s \(names) on")
        }

        private mutating func internet(_ names: String, _ state: String, at start: Int, for length: Int) {
            line("at \(start)s \(names) internet \(state)")
            line("at \(min(start + length, duration - 30))s \(names) internet online")
        }

        private mutating func every(
            _ period: Int, from start: Int, _ names: String, _ first: String, then second: String, after wait: Int
        ) {
            line("every \(period)s from \(start)s until \(duration - wait - 10)s \(names) \(first)")
            line("every \(period)s from \(start + wait)s until \(duration - 5)s \(names) \(second)")
        }

        private mutating func interference(on channel: Int, loss: Int, at start: Int, for length: Int) {
            let centre =
                channel > 14 ? 5000 + 5 * channel : channel == 14 ? 2484 : 2407 + 5 * channel
            line(
                "at \(start)s interference \(centre - 11)-\(centre + 11)MHz loss \(loss)% "
                    + "for \(min(length, duration - start - 30))s")
        }

        private mutating func line(_ text: String) { lines.append(text) }

        private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

        private mutating func pick(from low: Int, to high: Int) -> Int {
            Int.random(in: low...max(low, high), using: &random)
        }

        /// Returns a random number whose logarithm is uniformly distributed.
        private mutating func stretched(_ low: Int, _ high: Int) -> Int {
            let share = Double(pick(from: 0, to: 1000)) / 1000
            return Int((Double(low) * pow(Double(high) / Double(low), share)).rounded())
        }
    }
}
