import AgentModel
import Testing

@testable import AgentCore

/// What the radio's counts say.
@Suite struct BeaconCountsTests {
    /// A radio that counts, and a device that sends a frame every 20 ms. Time goes on where it is told to.
    private struct Link {
        var watch = BeaconCounts(beacons: 3)
        var now = Instant(milliseconds: 1_000_000)
        var framesSent: UInt64 = 7
        var station = StationInfo()

        init() {
            station.beaconsReceived = 40
            station.beaconInterval = .microseconds(102_400)
            station.transmitFailed = 2
            station.inactive = .milliseconds(4)
        }

        mutating func pass(_ time: Duration, sending frames: UInt64) {
            now = now + time
            framesSent += frames
            watch.sent(framesSent, at: now)
        }

        /// It is in use from now on.
        mutating func comeIntoUse() {
            pass(.zero, sending: 0)
            pass(.seconds(10), sending: 500)
        }

        mutating func scan(isUnderWay: Bool) { watch.scan(isUnderWay: isUnderWay, at: now) }

        /// Goes on to the next sample that is wanted, or for as long as that.
        mutating func sample(beacons: UInt64 = 0, lost: UInt32 = 0, inactive: Duration = .milliseconds(4))
            -> BeaconCounts.Finding?
        {
            guard let next = watch.next else { return nil }
            now = max(now, next)
            station.beaconsReceived = station.beaconsReceived.map { $0 + beacons }
            station.transmitFailed = station.transmitFailed.map { $0 + lost }
            station.inactive = inactive
            return watch.sampled(station, at: now)
        }

        mutating func expectFine(
            beacons: UInt64 = 0, lost: UInt32 = 0, inactive: Duration = .milliseconds(4),
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let finding = sample(beacons: beacons, lost: lost, inactive: inactive)
            #expect(finding == .fine, sourceLocation: sourceLocation)
        }

        /// How long it takes until a power cut is suspected, which was right after the last sample where nothing else
        /// is said.
        mutating func suspicion(framesLostEach lost: UInt32, since cut: Instant? = nil) -> Duration? {
            let cut = cut ?? now
            while now < cut + .seconds(3) {
                guard let next = watch.next else { return nil }
                if sample(lost: lost, inactive: max(next, now) - cut) == .silent { return now - cut }
            }
            return nil
        }
    }

    @Test func anIdleDeviceIsLeftAlone() {
        var link = Link()
        link.pass(.zero, sending: 0)
        // A look whether the network leads somewhere, every half minute.
        for _ in 0..<120 {
            link.pass(.seconds(10), sending: 15)
            link.pass(.seconds(10), sending: 0)
            link.pass(.seconds(10), sending: 0)
            #expect(link.watch.next == nil)
        }
    }

    @Test func aBurstOfFramesIsNoUse() {
        var link = Link()
        link.pass(.zero, sending: 0)
        link.pass(.seconds(1), sending: 40)
        #expect(link.watch.next == nil)
        link.pass(.seconds(9), sending: 0)
        #expect(link.watch.next == nil)
    }

    @Test func samplesAreTakenWhileTheDeviceIsInUse() {
        var link = Link()
        link.comeIntoUse()
        #expect(link.watch.next == link.now)
        link.expectFine()
        #expect(link.watch.next == link.now + .milliseconds(100))
        // The traffic is not looked at for a while.
        link.pass(.seconds(5), sending: 0)
        #expect(link.watch.next != nil)
        link.pass(.seconds(5), sending: 20)
        #expect(link.watch.next == nil)
    }

    @Test func aPowerCutIsSuspectedAfterThreeBeacons() throws {
        var link = Link()
        link.comeIntoUse()
        for _ in 0..<5 { link.expectFine(beacons: 1) }
        let suspicion = link.suspicion(framesLostEach: 5)
        let time = try #require(suspicion)
        #expect(time >= .milliseconds(308) && time <= .milliseconds(320))
    }

    @Test func threeFramesHaveToBeLost() throws {
        var link = Link()
        link.comeIntoUse()
        link.expectFine(beacons: 1)
        let none = link.suspicion(framesLostEach: 0)
        #expect(none == nil)
        link.expectFine(beacons: 1)
        let suspicion = link.suspicion(framesLostEach: 1)
        let time = try #require(suspicion)
        #expect(time >= .milliseconds(308) && time <= .milliseconds(420))
    }

    @Test func anAcknowledgementIsALifeSign() {
        var link = Link()
        link.comeIntoUse()
        link.expectFine(beacons: 1)
        for _ in 0..<15 { link.expectFine(lost: 3, inactive: .milliseconds(60)) }
    }

    @Test func twoMissingBeaconsAreNothing() {
        var link = Link()
        link.comeIntoUse()
        for _ in 0..<50 {
            link.expectFine(beacons: 1)
            for time in [100, 200] { link.expectFine(lost: 9, inactive: .milliseconds(time)) }
        }
    }

    @Test func whoStartsOverForgetsWhatWas() {
        var link = Link()
        link.comeIntoUse()
        link.expectFine(beacons: 1)
        link.now = link.now + .milliseconds(600)
        link.watch.startOver(at: link.now)
        link.expectFine(lost: 9, inactive: .milliseconds(700))
        link.expectFine(lost: 9, inactive: .milliseconds(800))
    }

    // MARK: While there is a scan

    @Test func aPowerCutDuringAScanIsSuspectedAfterSixBeacons() throws {
        var link = Link()
        link.comeIntoUse()
        link.scan(isUnderWay: true)
        for _ in 0..<5 { link.expectFine() }
        let suspicion = link.suspicion(framesLostEach: 5)
        let time = try #require(suspicion)
        #expect(time >= .milliseconds(615) && time <= .milliseconds(640))
    }

    @Test func aScanThatBeginsOrEndsAfterAPowerCutMakesItNoDifference() throws {
        for isAtTheBeginning in [true, false] {
            var link = Link()
            link.comeIntoUse()
            link.expectFine(beacons: 1)
            if !isAtTheBeginning { link.scan(isUnderWay: true) }
            let cut = link.now
            for time in [100, 200] { link.expectFine(lost: 9, inactive: .milliseconds(time)) }
            link.scan(isUnderWay: isAtTheBeginning)
            let suspicion = link.suspicion(framesLostEach: 5, since: cut)
            let time = try #require(suspicion)
            #expect(time >= .milliseconds(615) && time <= .milliseconds(1500))
        }
    }

    /// Beacons are not counted, and what was sent when the radio was back on its channel got lost two times in three.
    @Test func aScanOnALinkThatLivesIsNothing() {
        var link = Link()
        link.comeIntoUse()
        link.scan(isUnderWay: true)
        for _ in 0..<50 {
            link.expectFine(inactive: .milliseconds(30))
            for time in [130, 230, 330, 430, 530] { link.expectFine(lost: 3, inactive: .milliseconds(time)) }
        }
    }

    @Test func anAcknowledgementThatNoSampleSawIsALifeSign() {
        var link = Link()
        link.comeIntoUse()
        link.scan(isUnderWay: true)
        for _ in 0..<15 { link.expectFine(lost: 3, inactive: .milliseconds(290)) }
    }

    /// Radios that scan by themselves count beacons meanwhile.
    @Test func aBeaconDuringAScanIsALifeSign() {
        var link = Link()
        link.comeIntoUse()
        link.scan(isUnderWay: true)
        for sample in 1..<50 {
            link.expectFine(beacons: sample % 5 == 0 ? 1 : 0, lost: 3, inactive: .milliseconds(100 * sample))
        }
    }

    @Test func afterTheScanThreeBeaconsAreEnoughAgain() throws {
        var link = Link()
        link.comeIntoUse()
        link.scan(isUnderWay: true)
        link.expectFine(beacons: 1)
        link.scan(isUnderWay: false)
        link.expectFine(beacons: 1)
        let suspicion = link.suspicion(framesLostEach: 5)
        #expect(try #require(suspicion) <= .milliseconds(320))
    }

    /// A radio of which nothing is heard while it scans: each suspicion ends a scan, and is wrong.
    @Test func mostScansComeToTheirEndEvenWhereAllAreSuspected() {
        var link = Link()
        link.comeIntoUse()
        var scansEnded: [Int] = []
        for scan in 0..<28 {
            link.expectFine(beacons: 1)
            link.scan(isUnderWay: true)
            let suspicion = link.suspicion(framesLostEach: 5)
            link.scan(isUnderWay: false)
            link.watch.startOver(at: link.now)
            if suspicion != nil { scansEnded.append(scan) }
        }
        #expect(scansEnded == [0, 2, 5, 9, 14, 20, 27])
    }

    // MARK: While there is a scan and the device is idle

    /// Of the frames by which mac80211 tells that the radio goes, and that it is back, three are lost.
    @Test func duringAScanAnIdleDeviceIsWatchedToo() throws {
        var link = Link()
        link.scan(isUnderWay: true)
        #expect(link.watch.next == link.now)
        for _ in 0..<5 { link.expectFine() }
        let suspicion = link.suspicion(framesLostEach: 2)
        let time = try #require(suspicion)
        #expect(time >= .milliseconds(615) && time <= .milliseconds(1500))
        // The scan is ended for the question, which is not answered: the counts still tell.
        link.scan(isUnderWay: false)
        let finding = link.watch.sampled(link.station, at: link.now + .milliseconds(100))
        #expect(finding == .silent)
    }

    @Test func anIdleDeviceWhoseLinkLivesIsLeftAloneAfterTheScan() {
        var link = Link()
        link.scan(isUnderWay: true)
        for _ in 0..<60 { link.expectFine(lost: 3, inactive: .milliseconds(480)) }
        link.scan(isUnderWay: false)
        link.expectFine()
        #expect(link.watch.next == nil)
        link.scan(isUnderWay: true)
        link.scan(isUnderWay: false)
        link.watch.startOver(at: link.now)
        link.expectFine(lost: 9, inactive: .seconds(9))
        #expect(link.watch.next == nil)
    }

    @Test func aDeviceThatIsIdleWhenTheScanEndsIsLeftAlone() {
        var link = Link()
        link.comeIntoUse()
        link.scan(isUnderWay: true)
        link.expectFine()
        link.pass(.seconds(10), sending: 20)
        #expect(link.watch.next != nil)
        link.scan(isUnderWay: false)
        link.pass(.seconds(10), sending: 20)
        #expect(link.watch.next == nil)
    }

    @Test func anIdleDeviceLeavesScansAloneToo() {
        var link = Link()
        var scansEnded: [Int] = []
        for scan in 0..<10 {
            link.scan(isUnderWay: true)
            let suspicion = link.suspicion(framesLostEach: 1)
            link.scan(isUnderWay: false)
            link.watch.startOver(at: link.now)
            _ = link.sample()
            #expect(link.watch.next == nil)
            if suspicion != nil { scansEnded.append(scan) }
        }
        #expect(scansEnded == [0, 2, 5, 9])
    }

    @Test func whoWasAsleepBeginsAnew() {
        var link = Link()
        link.comeIntoUse()
        link.expectFine(beacons: 1)
        link.now = link.now + .seconds(3600)
        link.expectFine(lost: 9, inactive: .seconds(3600))
    }

    @Test func countsThatBeginAnewAreANewLink() {
        var link = Link()
        link.comeIntoUse()
        link.expectFine(beacons: 1)
        link.now = link.now + .milliseconds(400)
        link.station.transmitFailed = 0
        link.expectFine(inactive: .milliseconds(400))
    }

    @Test(arguments: 0..<3)
    func aRadioThatDoesNotCountIsNotAskedAgain(_ missing: Int) {
        var link = Link()
        link.comeIntoUse()
        switch missing {
        case 0: link.station.beaconsReceived = nil
        case 1: link.station.transmitFailed = nil
        default: link.station.inactive = nil
        }
        let finding = link.watch.sampled(link.station, at: link.now)
        #expect(finding == .unknown)
        #expect(link.watch.next == nil)
    }
}
