import AgentModel
import Randomness

@testable import Simulation

/// Scenarios in which anything may happen at any time.
struct RandomScenario {
    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    static func scenario(seed: UInt64, seconds: Int) -> Scenario {
        var maker = RandomScenario(seed: seed)
        return maker.scenario(seconds: seconds)
    }

    private mutating func scenario(seconds: Int) -> Scenario {
        let names = ["A", "B", "C"]
        var scenario = Sketch.scenario(
            seconds: seconds,
            networks: names.enumerated().map {
                Sketch.network($1, isPreferred: $0 == 0, password: $0 == 2 ? nil : "right")
            },
            accessPoints: (0..<Int.random(in: 1...5, using: &random)).map { index in accessPoint(index, names) })
        let labels = scenario.accessPoints.map(\.name)
        scenario.happenings = (0..<Int.random(in: 0...25, using: &random)).map { _ in
            Scenario.Happening(
                at: .milliseconds(Int64.random(in: 0..<Int64(seconds) * 1000, using: &random)),
                change(of: labels.randomElement(using: &random) ?? "", names: names, seconds: seconds))
        }.sorted { $0.at < $1.at }
        if Bool.random(using: &random) { scenario.settings.validation = .init() }
        return scenario
    }

    private mutating func accessPoint(_ index: Int, _ names: [String]) -> Scenario.AccessPoint {
        let name = names.randomElement(using: &random) ?? "A"
        var accessPoint = Sketch.accessPoint(
            name, called: "ap\(index)", megahertz: [2412, 2437, 2462, 5180].randomElement(using: &random) ?? 2412,
            signal: Int.random(in: -95 ... -40, using: &random), password: name == "C" ? nil : "right")
        if Bool.random(using: &random) {
            accessPoint.place = .position(point(), atOneMetre: -40, exponent: Double.random(in: 2...4, using: &random))
        }
        accessPoint.shadowing = [0, 3, 6].randomElement(using: &random) ?? 0
        accessPoint.shadowingTime = .seconds(Int.random(in: 1...90, using: &random))
        accessPoint.fading = Double.random(in: 0...4, using: &random)
        return accessPoint
    }

    private mutating func point() -> Scenario.Point {
        Scenario.Point(x: Double.random(in: -30...30, using: &random), y: Double.random(in: -30...30, using: &random))
    }

    private mutating func change(of label: String, names: [String], seconds: Int) -> Scenario.Change {
        let time = Duration.milliseconds(Int64.random(in: 0..<Int64(seconds) * 500, using: &random))
        let ssid = Sketch.ssid(names.randomElement(using: &random) ?? "A")
        let isSo = Bool.random(using: &random)
        switch Int.random(in: 0..<15, using: &random) {
        case 0, 1: return .power(ap: label, isOn: isSo)
        case 2, 3: return .signal(ap: label, Int.random(in: -95 ... -40, using: &random), over: time)
        case 4: return .internet(ap: label, [.online, .captive, .dead].randomElement(using: &random) ?? .online)
        case 5: return .address(ap: label, isSo ? .milliseconds(300) : nil)
        case 6: return .full(ap: label, isSo)
        case 7: return .password(ap: label, isSo ? "right" : "other")
        case 8: return .newPassword(network: ssid, isSo ? "right" : "other")
        case 9: return .move(to: point(), over: time)
        case 10: return .interference(2400...2483, loss: Double.random(in: 0...1, using: &random), for: time)
        case 11: return .command(network: ssid, confirmWithin: isSo ? .seconds(30) : nil, confirmAfter: .seconds(5))
        case 12: return .otherUplink(isSo ? .wired : nil)
        case 13: return .suspend(for: time / 4)
        default: return isSo ? .restart : .supplicantDies(backAfter: .seconds(3))
        }
    }
}
