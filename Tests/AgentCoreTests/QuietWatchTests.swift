import AgentModel
import Randomness
import Testing

@testable import AgentCore

/// The watch over the access point of a device that sends little.
@Suite struct QuietWatchTests {
    private static let pace = Duration.milliseconds(500)

    // MARK: Radios that count beacons

    /// From the end of the access point until it is asked about, whenever in the watch's interval that comes.
    @Test func aPowerCutIsSuspectedWithinTwoLooks() {
        var times: [Duration] = []
        for round in 0..<500 {
            var link = QuietLink(loss: 0, seed: UInt64(round), pace: Self.pace)
            link.run(for: .seconds(5) + .milliseconds(round))
            #expect(link.figures == QuietLink.Figures())
            link.isOn = false
            let cut = link.now
            link.run(for: .seconds(3))
            #expect(link.figures.left == 1)
            times.append(link.now - cut)
        }
        times.sort()
        print("from a power cut to the end of the link: \(times[0]) to \(times[499]), median \(times[250])")
        #expect(times[0] >= .milliseconds(200))
        #expect(times[250] <= .milliseconds(550))
        #expect(times[499] <= .milliseconds(750))
    }

    /// Where only beacons are lost the gateway's frames are acknowledged, and the access point is not asked.
    @Test(arguments: [0.1, 0.3, 0.5])
    func lostFramesAreNoSilence(loss: Double) {
        let minutes = Rounds.of(1000)
        var figures = QuietLink.Figures()
        for round in 0..<minutes {
            var link = QuietLink(loss: loss, seed: UInt64(round), pace: Self.pace)
            link.run(for: .seconds(60))
            figures.add(link.figures)
        }
        print("frames lost \(loss): \(minutes) minutes, \(figures)")
        #expect(figures.left == 0)
        #expect(figures.suspected <= minutes / 20)
        #expect(figures.asked <= minutes * 60)
    }

    /// It is there, and its gateway's frames are acknowledged; but no beacon comes any more.
    @Test func beaconsAloneAreNotGoneBy() {
        var link = QuietLink(loss: 0, seed: 1, pace: Self.pace)
        link.sendsBeacons = false
        link.run(for: .seconds(60))
        #expect(link.figures.suspected == 0)
        #expect((1...130).contains(link.figures.asked))
    }

    /// Without a gateway no frame is sent, and so none is lost: the kernel's watch decides.
    @Test func withoutAGatewayItIsLeftToTheKernel() {
        var link = QuietLink(loss: 0, seed: 1, pace: Self.pace)
        link.hasGateway = false
        link.run(for: .seconds(5))
        link.isOn = false
        link.run(for: .seconds(5))
        #expect(link.figures.suspected == 0)
        #expect(link.figures.asked == 7)
    }

    @Test func itLooksAsOftenAsItMay() {
        var link = QuietLink(loss: 0, seed: 1, pace: .seconds(2))
        link.run(for: .seconds(60))
        #expect((29...31).contains(link.looks))
    }

    // MARK: Radios that count none

    /// Looks at what is received, and where nothing is the gateway is asked.
    private static func unheard() -> (watch: BeaconLossDetector, now: Instant) {
        var watch = BeaconLossDetector(beacons: 3, idlePace: pace)
        let now = Instant(milliseconds: 1_000_000)
        #expect(watch.handle(.framesSent(0), at: now) == .sample(at: now))
        #expect(watch.handle(.sampled(StationInfo(), framesSent: nil), at: now) == .report(.unknown))
        #expect(watch.handle(.framesSent(0), at: now) == .count(at: now, asksGateway: false))
        let frames = LinkFrames(sent: 0, received: 0)
        #expect(watch.handle(.counted(frames), at: now) == .count(at: now + pace, asksGateway: false))
        return (watch, now)
    }

    @Test func whereNothingIsReceivedTheGatewayIsAsked() {
        var (watch, now) = Self.unheard()
        var frames = LinkFrames(sent: 0, received: 1)
        now = now + Self.pace
        #expect(watch.handle(.counted(frames), at: now) == .count(at: now + Self.pace, asksGateway: false))
        let cut = now
        now = now + Self.pace
        var (asked, effect) = (0, watch.handle(.counted(frames), at: now))
        while case .count(let moment, asksGateway: true) = effect {
            asked += 1
            now = moment
            frames.sent += 1
            effect = watch.handle(.counted(frames), at: now)
        }
        #expect(asked == ReceiveActivityDetector.probes)
        #expect(effect == .report(.suspected))
        #expect(now - cut <= .milliseconds(800))
        #expect(watch.handle(.asked(isThere: false), at: now) == .count(at: now, asksGateway: true))
        _ = watch.handle(.counted(frames), at: now)
        #expect(watch.handle(.counted(frames), at: now + .milliseconds(60)) == .report(.confirmed))
    }

    /// A gateway that answers is asked at each look of a device that receives nothing else; its access point is not.
    @Test func aGatewayThatAnswersIsEnough() {
        var (watch, now) = Self.unheard()
        var frames = LinkFrames(sent: 0, received: 0)
        for _ in 0..<100 {
            now = now + Self.pace
            let asked = watch.handle(.counted(frames), at: now)
            #expect(asked == .count(at: now + ReceiveActivityDetector.probeWait, asksGateway: true))
            now = now + ReceiveActivityDetector.probeWait
            frames.sent += 1
            frames.received += 1
            #expect(watch.handle(.counted(frames), at: now) == .count(at: now + Self.pace, asksGateway: false))
        }
    }

    /// One that answers nothing is asked in vain, and its access point ever more seldom: once in a minute at last.
    @Test func aGatewayThatIsSilentIsAskedLessAndLess() {
        var (watch, now) = Self.unheard()
        var frames = LinkFrames(sent: 0, received: 0)
        var questions: [Instant] = []
        var effect = watch.handle(.counted(frames), at: now + Self.pace)
        now = now + Self.pace
        while questions.count < 12 {
            switch effect {
            case .count(let moment, let asksGateway):
                now = moment
                if asksGateway { frames.sent += 1 }
                effect = watch.handle(.counted(frames), at: now)
            case .report(.suspected):
                questions.append(now)
                effect = watch.handle(.asked(isThere: true), at: now)
            default:
                Issue.record("\(String(describing: effect))")
                return
            }
        }
        #expect(questions[11] - questions[10] >= .seconds(60))
        #expect(questions[1] - questions[0] <= .seconds(3))
    }
}

/// A link of a device that sends nothing of its own. Each beacon is lost with a chance, and each frame to the gateway where all of its up
/// to 8 attempts are.
private struct QuietLink {
    struct Figures: Equatable, CustomStringConvertible {
        var asked = 0
        var suspected = 0
        var left = 0

        mutating func add(_ other: Figures) {
            asked += other.asked
            suspected += other.suspected
            left += other.left
        }

        var description: String { "gateway asked \(asked) times, access point \(suspected), left \(left)" }
    }

    var isOn = true
    var sendsBeacons = true
    var hasGateway = true
    private(set) var now = Instant(milliseconds: 1_000_000)
    private(set) var figures = Figures()
    private(set) var looks = 0

    private static let beaconInterval = Duration.microseconds(102_400)
    private var watch: BeaconLossDetector
    private let loss: Double
    private let failure: Double
    private var random: SeededRandom
    private var station = StationInfo()
    private var acknowledged = Instant(milliseconds: 1_000_000)
    private var nextBeacon = Instant(milliseconds: 1_000_000)
    private var effect: BeaconLossDetector.Effect?

    init(loss: Double, seed: UInt64, pace: Duration) {
        watch = BeaconLossDetector(beacons: 3, idlePace: pace)
        self.loss = loss
        var failure = 1.0
        for _ in 0..<8 { failure *= 1 - (1 - loss) * (1 - loss) }
        self.failure = failure
        random = SeededRandom(seed: seed)
        station.beaconsReceived = 40
        station.beaconInterval = Self.beaconInterval
        station.transmitFailed = 2
        effect = watch.handle(.framesSent(0), at: now)
    }

    private mutating func happens(_ chance: Double) -> Bool { Double.random(in: 0..<1, using: &random) < chance }

    private mutating func go(to moment: Instant) {
        while nextBeacon <= moment {
            if isOn, sendsBeacons, !happens(loss) { station.beaconsReceived? += 1 }
            nextBeacon = nextBeacon + Self.beaconInterval
        }
        now = max(now, moment)
        station.inactive = now - acknowledged
    }

    private mutating func askGateway() {
        figures.asked += 1
        guard hasGateway else { return }
        if isOn, !happens(failure) { acknowledged = now } else { station.transmitFailed? += 1 }
    }

    /// For so long, or until the link is left.
    mutating func run(for time: Duration) {
        let end = now + time
        while figures.left == 0, let current = effect {
            switch current {
            case .sample(let moment, let asksGateway):
                guard moment <= end else { return go(to: end) }
                // The gateway is asked when the effect is told, which is before it waits.
                if asksGateway { askGateway() }
                go(to: moment)
                looks += 1
                effect = watch.handle(.sampled(station, framesSent: nil), at: now)
            case .report(.suspected):
                figures.suspected += 1
                go(to: now + .milliseconds(30))
                let isThere = isOn && !(happens(loss) && happens(loss))
                effect = watch.handle(.asked(isThere: isThere), at: now)
            case .report(.confirmed): figures.left += 1
            case .report(.unknown), .count: return
            }
        }
    }
}
