import AgentModel
import Randomness
import Testing

@testable import AgentCore

/// An access point that is watched by what the device receives, on a radio that counts no beacons.
@Suite struct ReceiveActivityDetectorTests {
    private var watch = BeaconLossDetector(beacons: 3)
    private var now = Instant(milliseconds: 1_000_000)
    private var frames = LinkFrames(sent: 0, received: 0)

    private mutating func handle(_ event: BeaconLossDetector.Event) -> BeaconLossDetector.Effect? {
        watch.handle(event, at: now)
    }

    /// The device is in use on a link whose radio says nothing of beacons.
    private mutating func comeIntoUse() {
        _ = handle(.framesSent(0))
        now = now + .seconds(10)
        frames = LinkFrames(sent: 500, received: 500)
        #expect(handle(.framesSent(500)) == .sample(at: now))
        #expect(handle(.sampled(StationInfo(), framesSent: nil)) == .report(.unknown))
        #expect(handle(.framesSent(500)) == .count(at: now, asksGateway: false))
        #expect(handle(.counted(frames)) == .count(at: now + ReceiveActivityDetector.pace, asksGateway: false))
    }

    /// Counts until something else is wanted than the next look.
    private mutating func go(sending: UInt64, receiving: UInt64, for limit: Duration = .seconds(6))
        -> BeaconLossDetector.Effect?
    {
        let end = now + limit
        while now < end {
            now = now + ReceiveActivityDetector.pace
            frames.sent += sending
            frames.received += receiving
            let effect = handle(.counted(frames))
            guard case .count(_, asksGateway: false) = effect else { return effect }
        }
        return nil
    }

    /// The gateway is asked in vain.
    private mutating func askInVain(
        _ first: BeaconLossDetector.Effect?
    ) -> (asked: Int, effect: BeaconLossDetector.Effect?) {
        var (asked, effect) = (0, first)
        while case .count(let moment, asksGateway: true) = effect {
            asked += 1
            now = moment
            frames.sent += 1
            effect = handle(.counted(frames))
        }
        return (asked, effect)
    }

    @Test mutating func anIdleDeviceLooksAtNothing() {
        _ = handle(.framesSent(0))
        now = now + .seconds(10)
        #expect(handle(.framesSent(15)) == nil)
    }

    @Test mutating func silenceIsAskedAboutTwiceAndThenConfirmed() {
        comeIntoUse()
        #expect(go(sending: 2, receiving: 2, for: .seconds(1)) == nil)
        let cut = now
        let (asked, suspicion) = askInVain(go(sending: 2, receiving: 0))
        #expect(asked == ReceiveActivityDetector.probes)
        #expect(suspicion == .report(.suspected))
        #expect(now - cut <= .milliseconds(550), "\(now - cut)")
        // The scan that asks, and its events, which some drivers count as received.
        #expect(handle(.scan(isUnderWay: true)) == nil && handle(.scan(isUnderWay: false)) == nil)
        now = now + .milliseconds(100)
        frames.received += 1
        #expect(handle(.asked(isThere: false)) == .count(at: now, asksGateway: true))
        let last = handle(.counted(frames))
        #expect(last == .count(at: now + .milliseconds(60), asksGateway: false))
        now = now + .milliseconds(60)
        #expect(handle(.counted(frames)) == .report(.confirmed))
        #expect(watch.isOver)
        #expect(now - cut <= .milliseconds(750), "\(now - cut)")
    }

    @Test mutating func whatIsHeardAfterTheQuestionSettlesIt() {
        comeIntoUse()
        _ = askInVain(go(sending: 2, receiving: 0))
        _ = handle(.asked(isThere: false))
        _ = handle(.counted(frames))
        now = now + .milliseconds(60)
        frames.received += 1
        #expect(handle(.counted(frames)) == .count(at: now + ReceiveActivityDetector.pace, asksGateway: false))
        #expect(!watch.isOver)
    }

    /// A camera that sends, and gets no answer but from its gateway, is asked about ever less often, and its access point
    /// not at all.
    @Test mutating func aDeviceThatOnlySendsIsNotSuspected() {
        comeIntoUse()
        var asked = 0
        let end = now + .seconds(60)
        while now < end {
            guard case .count(let moment, asksGateway: true) = go(sending: 5, receiving: 0) else {
                return #expect(Bool(false), "its gateway was not asked")
            }
            asked += 1
            now = moment
            frames.received += 1
            #expect(handle(.counted(frames)) == .count(at: now + ReceiveActivityDetector.pace, asksGateway: false))
        }
        #expect((55...65).contains(asked), "once a second: \(asked)")
    }

    /// It is the gateway that is silent, or that sleeps: of such an access point every alarm is false.
    @Test mutating func anAccessPointThatIsThereIsAskedLessAndLess() {
        comeIntoUse()
        var questions: [Instant] = []
        let end = now + .seconds(60)
        while now < end {
            let (_, effect) = askInVain(go(sending: 5, receiving: 0))
            guard effect == .report(.suspected) else { return #expect(Bool(false), "\(String(describing: effect))") }
            questions.append(now)
            now = now + .milliseconds(100)
            #expect(handle(.asked(isThere: true)) == .count(at: now, asksGateway: false))
        }
        #expect(questions.count <= 18, "\(questions.count)")
        if let last = questions.last, questions.count > 1 {
            #expect(last - questions[questions.count - 2] >= .seconds(4))
        }
    }

    /// After some time without an alarm it is as quick as at first.
    @Test mutating func aFalseAlarmIsForgotten() {
        comeIntoUse()
        _ = askInVain(go(sending: 5, receiving: 0))
        _ = handle(.asked(isThere: true))
        #expect(go(sending: 5, receiving: 5, for: .seconds(6)) == nil)
        let cut = now
        let (_, effect) = askInVain(go(sending: 5, receiving: 0))
        #expect(effect == .report(.suspected))
        #expect(now - cut <= .milliseconds(550))
    }

    @Test mutating func duringAScanItRests() {
        comeIntoUse()
        #expect(handle(.scan(isUnderWay: true)) == nil)
        now = now + .seconds(4)
        frames.sent += 200
        #expect(handle(.counted(frames)) == nil)
        #expect(handle(.framesSent(frames.sent)) == nil)
        #expect(handle(.scan(isUnderWay: false)) == .count(at: now, asksGateway: false))
        #expect(
            handle(.counted(frames)) == .count(at: now + ReceiveActivityDetector.pace, asksGateway: false),
            "and begins anew")
    }

    @Test mutating func anInterfaceThatIsGoneIsLeftToOthers() {
        comeIntoUse()
        now = now + ReceiveActivityDetector.pace
        #expect(handle(.counted(nil)) == .count(at: now, asksGateway: false))
    }

    /// A processor that was asleep knows nothing of what was meanwhile.
    @Test mutating func aLongAbsenceIsNoSilence() {
        comeIntoUse()
        now = now + .seconds(30)
        frames.sent += 600
        #expect(handle(.counted(frames)) == .count(at: now + ReceiveActivityDetector.pace, asksGateway: false))
    }

    @Test mutating func aCounterThatBeginsAnewIsASignOfLife() {
        comeIntoUse()
        #expect(go(sending: 3, receiving: 0, for: .milliseconds(200)) == nil)
        now = now + ReceiveActivityDetector.pace
        frames = LinkFrames(sent: 1, received: 0)
        #expect(handle(.counted(frames)) == .count(at: now + ReceiveActivityDetector.pace, asksGateway: false))
    }

    // MARK: Frames that are lost

    /// Links on which each frame, each acknowledgement and each beacon is lost with a chance, and a frame is sent up to 8
    /// times, the radio going slower from time to time. An access point that is there is to be left by none of them.
    @Test(arguments: [0.1, 0.3, 0.5])
    func lostFramesAreNoSilence(loss: Double) {
        let minutes = Rounds.of(3000)
        var figures = LossFigures()
        for round in 0..<minutes {
            var link = LossyLink(loss: loss, framesPerSecond: round % 2 == 0 ? 50 : 12, seed: UInt64(round))
            link.run(for: .seconds(60), &figures)
        }
        print("frames lost \(loss): \(minutes) minutes, \(figures)")
        #expect(figures.left == 0)
        #expect(figures.scans <= (loss > 0.4 ? minutes / 20 : 0))
    }

    /// A radio that sleeps hears what is for it with every third beacon.
    @Test func aRadioThatSleepsIsNotSuspectedForLong() {
        var figures = LossFigures()
        let rounds = Rounds.of(300)
        for round in 0..<rounds {
            var link = LossyLink(loss: 0.1, framesPerSecond: 50, seed: UInt64(round))
            link.deliveryInterval = 307
            link.run(for: .seconds(60), &figures)
        }
        print("asleep for three beacons: \(rounds) minutes, \(figures)")
        #expect(figures.left == 0)
        #expect(figures.scans <= rounds)
    }

    /// From the end of the access point to the end of the link, the scan that asks taking 130 ms.
    @Test func aPowerCutIsNoticedInTime() {
        var times: [Int64] = []
        for round in 0..<Rounds.of(5000) {
            var link = LossyLink(loss: 0.1, framesPerSecond: round % 2 == 0 ? 50 : 12, seed: UInt64(round))
            var figures = LossFigures()
            link.run(for: .seconds(10) + .milliseconds(round % 1000), &figures)
            link.isOn = false
            let cut = link.now
            link.run(for: .seconds(5), &figures)
            #expect(figures.left == 1)
            times.append((link.now - cut).milliseconds)
        }
        times.sort()
        print(
            "power cut to the end of the link: \(times[0]) to \(times[times.count - 1]) ms, median \(times[times.count / 2])"
        )
        #expect(times[times.count / 2] <= 800)
        #expect((times.last ?? 0) <= 1500)
    }
}

/// What came of many minutes.
private struct LossFigures: CustomStringConvertible {
    var probings = 0
    var scans = 0
    var left = 0

    var description: String { "gateway asked \(probings) times, access point \(scans), left \(left)" }
}

/// A link on which frames are lost, and the watch over it.
private struct LossyLink {
    var watch = BeaconLossDetector(beacons: 3)
    var now = Instant(milliseconds: 1_000_000)
    var isOn = true
    /// Nothing reaches the device between multiples of this, in milliseconds; 0 for a radio that does not sleep.
    var deliveryInterval: Int64 = 0
    private let loss: Double
    private let failure: Double
    private let spacing: Int64
    private var random: SeededRandom
    private var frames = LinkFrames(sent: 0, received: 0)
    private var nextSend: Int64
    private var arrivals: [Int64] = []

    init(loss: Double, framesPerSecond: Int64, seed: UInt64) {
        self.loss = loss
        var failure = 1.0
        for _ in 0..<8 { failure *= 1 - (1 - loss) * (1 - loss) }
        self.failure = failure
        spacing = 1000 / framesPerSecond
        random = SeededRandom(seed: seed)
        nextSend = now.milliseconds
    }

    private mutating func happens(_ chance: Double) -> Bool { Double.random(in: 0..<1, using: &random) < chance }

    /// A frame that is answered where both ways succeed, each after a few tries.
    private mutating func exchange(at moment: Int64) {
        frames.sent += 1
        guard isOn, !happens(failure), !happens(failure) else { return }
        var arrival = moment + 2 + Int64.random(in: 0...Int64(1 + 60 * loss), using: &random)
        if deliveryInterval > 0 { arrival += deliveryInterval - arrival % deliveryInterval }
        arrivals.append(arrival)
    }

    private mutating func go(to moment: Instant) {
        while nextSend <= moment.milliseconds {
            exchange(at: nextSend)
            nextSend += spacing
        }
        now = moment
        frames.received += UInt64(arrivals.count { $0 <= moment.milliseconds })
        arrivals.removeAll { $0 <= moment.milliseconds }
    }

    /// Whether a scan of the channel shows the access point: two questions, each to be heard once, and its beacons.
    private mutating func isSeen() -> Bool {
        guard isOn else { return false }
        let isAnswered = (0..<2).contains { _ in !happens(loss) && !happens(failure) }
        return isAnswered || happens(0.4 * (1 - loss))
    }

    mutating func run(for time: Duration, _ figures: inout LossFigures) {
        let end = now + time
        var effect: BeaconLossDetector.Effect?
        if frames.sent == 0 {
            _ = watch.handle(.framesSent(0), at: now)
            go(to: now + .seconds(6))
            _ = watch.handle(.framesSent(frames.sent), at: now)
            _ = watch.handle(.sampled(StationInfo(), framesSent: nil), at: now)
            effect = watch.handle(.framesSent(frames.sent), at: now)
        } else {
            effect = watch.handle(.counted(frames), at: now)
        }
        while now < end, let current = effect {
            switch current {
            case .count(let moment, let asksGateway):
                if asksGateway {
                    figures.probings += 1
                    exchange(at: now.milliseconds)
                }
                go(to: max(now, moment))
                effect = watch.handle(.counted(frames), at: now)
            case .report(.suspected):
                figures.scans += 1
                go(to: now + .milliseconds(130))
                let isThere = isSeen()
                effect = watch.handle(.asked(isThere: isThere), at: now)
            case .report(.confirmed):
                figures.left += 1
                return
            case .report(.unknown), .sample: return
            }
        }
    }
}
