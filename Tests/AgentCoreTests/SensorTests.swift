import AgentModel
import Failover
import Testing

@testable import AgentCore

/// An access point that falls silent: what is read, asked and reported, step by step.
@Suite struct BeaconLossDetectorTests {
    private var watch = BeaconLossDetector(beacons: 3)
    private var now = Instant(milliseconds: 1_000_000)
    private var station = StationInfo()

    init() {
        station.beaconsReceived = 40
        station.beaconInterval = .microseconds(102_400)
        station.transmitFailed = 2
        station.inactive = .milliseconds(4)
    }

    private mutating func handle(_ event: BeaconLossDetector.Event) -> BeaconLossDetector.Effect? {
        watch.handle(event, at: now)
    }

    /// The device sends much, so that the counts are read.
    private mutating func comeIntoUse() {
        #expect(handle(.framesSent(0)) == nil)
        now = now + .seconds(10)
        #expect(handle(.framesSent(500)) == .sample(at: now))
        #expect(handle(.sampled(station, framesSent: nil)) == .sample(at: now + .milliseconds(100)))
    }

    /// Three beacons are missing, and frames are lost.
    private mutating func fallSilent() -> BeaconLossDetector.Effect? {
        var effect: BeaconLossDetector.Effect?
        for _ in 0..<5 {
            now = now + .milliseconds(100)
            station.transmitFailed? += 3
            station.inactive = (station.inactive ?? .zero) + .milliseconds(100)
            effect = handle(.sampled(station, framesSent: nil))
            if case .report = effect { break }
        }
        return effect
    }

    @Test mutating func anIdleDeviceReadsNothing() {
        #expect(handle(.framesSent(0)) == nil)
        #expect(!watch.wantsFrames(at: now + .seconds(4)) && watch.wantsFrames(at: now + .seconds(5)))
        now = now + .seconds(10)
        #expect(handle(.framesSent(15)) == nil)
    }

    @Test mutating func aSilentAccessPointIsAskedAndThenConfirmed() {
        comeIntoUse()
        #expect(fallSilent() == .report(.suspected))
        // Nothing is read while it is asked, and what begins then is the question.
        #expect(handle(.framesSent(600)) == nil)
        #expect(handle(.scan(isUnderWay: true)) == nil)
        #expect(handle(.asked(isThere: false)) == .sample(at: now), "a last look at the counts")
        now = now + .milliseconds(1)
        #expect(handle(.sampled(station, framesSent: nil)) == .report(.confirmed))
        #expect(watch.isOver && !watch.wantsFrames(at: now + .seconds(60)))
        #expect(handle(.scan(isUnderWay: true)) == nil && handle(.asked(isThere: false)) == nil)
    }

    @Test mutating func oneThatAnswersIsWatchedFurther() {
        comeIntoUse()
        #expect(fallSilent() == .report(.suspected))
        #expect(handle(.asked(isThere: true)) == .sample(at: now + .milliseconds(100)))
        #expect(handle(.asked(isThere: false)) == nil, "it was not asked again")
    }

    /// It has not answered, and is heard all the same.
    @Test mutating func aBeaconAfterTheQuestionSettlesIt() {
        comeIntoUse()
        #expect(fallSilent() == .report(.suspected))
        _ = handle(.asked(isThere: false))
        station.beaconsReceived? += 1
        #expect(handle(.sampled(station, framesSent: nil)) == .sample(at: now + .milliseconds(100)))
        #expect(!watch.isOver)
    }

    @Test mutating func aRadioThatDoesNotCountSaysSoOnce() {
        comeIntoUse()
        #expect(handle(.sampled(StationInfo(), framesSent: nil)) == .report(.unknown))
        #expect(handle(.sampled(station, framesSent: nil)) == nil)
        #expect(handle(.framesSent(900)) == .count(at: now, asksGateway: false), "and goes by what is received")
    }

    @Test mutating func aMeasurementThatFailsBeginsAnew() {
        comeIntoUse()
        now = now + .milliseconds(600)
        #expect(handle(.sampled(nil, framesSent: nil)) == .sample(at: now + .milliseconds(100)))
        now = now + .milliseconds(100)
        station.transmitFailed? += 9
        #expect(
            handle(.sampled(station, framesSent: nil)) == .sample(at: now + .milliseconds(100)),
            "nothing to compare with"
        )
    }

    @Test mutating func aScanIsWatchedOnAnIdleDeviceToo() {
        #expect(handle(.scan(isUnderWay: true)) == .sample(at: now))
        #expect(handle(.scan(isUnderWay: false)) == nil, "the counts are being read")
        #expect(handle(.sampled(station, framesSent: nil)) == nil)
    }
}

/// When the signal of the link in use is measured.
@Suite struct SignalSamplingTests {
    private func online() throws -> (CoreBench, SignalWatch) {
        var bench = try CoreBench()
        try bench.start()
        return (bench, try #require(bench.core.signal?.watch))
    }

    // covers: rule/weak-fine
    @Test func aNewLinkIsMeasuredAfterASecond() throws {
        var (bench, _) = try online()
        #expect(bench.timers[.signal] == bench.watchBegan + .seconds(1))
        #expect(bench.handle(.timer(.signal)) == ["measure wlan0"])
        let number = try #require(bench.core.signal?.number)
        #expect(bench.handle(.measured(number, -61)) == ["publish signal"])
    }

    /// So that all that is done at such intervals is done at one time.
    @Test func furtherOnesComeAtMultiplesOfTheInterval() throws {
        var (bench, watch) = try online()
        bench.handle(.timer(.signal))
        let next = try #require(bench.timers[.signal])
        #expect(next.milliseconds % watch.interval.milliseconds == 0)
        #expect(next > bench.now && next <= bench.now + watch.interval)
    }

    @Test func whereTheDriverDoesNotWatchItIsMeasuredMoreOften() throws {
        var (bench, watch) = try online()
        bench.handle(.timer(.signal))
        bench.handle(.signalUnsupervised("wlan1"))
        #expect(bench.core.signal?.isSupervised == true, "that is another radio's driver")
        bench.handle(.signalUnsupervised("wlan0"))
        #expect(bench.timers[.signal] == bench.now + min(.seconds(1), watch.unsupervisedInterval))
        bench.handle(.timer(.signal))
        #expect(try #require(bench.timers[.signal]) <= bench.now + watch.unsupervisedInterval)
    }

    // covers: rule/weak-fine
    @Test func aCrossingIsAMeasurementAtOnce() throws {
        var (bench, _) = try online()
        #expect(bench.handle(.radio("wlan0", .signalLow(-72))).contains("publish signal"))
        #expect(bench.handle(.radio("wlan0", .signalLow(nil))) == ["measure wlan0"])
        #expect(bench.handle(.radio("wlan1", .signalLow(-72))) == [], "of a link that is not in use")
    }

    /// A driver that tells the level of a moment before tells no other one of a signal that falls on.
    @Test func aSignalThatIsSaidToBeBelowIsWeak() throws {
        var (bench, watch) = try online()
        bench.handle(.radio("wlan0", .signalLow(watch.threshold)))
        let alert = try #require(bench.core.signal?.watch)
        #expect(alert.interval < watch.interval, "it is measured more often from now on")
    }

    @Test func aMeasurementOfTheLinkBeforeIsDropped() throws {
        var (bench, _) = try online()
        let number = try #require(bench.core.signal?.number)
        bench.handle(.supplicant("wlan0", .disconnected(reason: 8, locallyGenerated: false)))
        #expect(bench.core.signal == nil || bench.core.signal?.number != number)
        #expect(bench.handle(.measured(number, -61)) == [])
        #expect(bench.handle(.timer(.signal)) == [])
    }
}
