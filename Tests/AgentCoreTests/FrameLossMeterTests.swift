import AgentModel
import Testing

@testable import AgentCore

@Suite struct FrameLossMeterTests {
    private static func counts(_ beacons: UInt64) -> StationInfo {
        var info = StationInfo()
        info.beaconsReceived = beacons
        info.beaconInterval = .milliseconds(100)
        return info
    }

    /// The share lost in each of several intervals of ten seconds, in percent.
    private static func shares(_ beacons: [UInt64], every seconds: Int = 10) -> [Int?] {
        var gauge = FrameLossMeter()
        return beacons.enumerated().map { index, count in
            gauge.counted(counts(count), at: Instant(milliseconds: Int64(index * seconds) * 1000))
        }
    }

    @Test func beaconsThatDoNotComeAreFramesLost() {
        #expect(Self.shares([0, 100, 200, 250, 265]) == [nil, 0, 0, 50, 85])
    }

    /// The link's own best share is what it is held against.
    @Test func aDriverThatCountsFewerIsNoLoss() {
        #expect(Self.shares([0, 60, 120, 150]) == [nil, 0, 0, 50])
        #expect(Self.shares([0, 10, 20, 20]) == [nil, nil, nil, nil], "firmware counts the others")
    }

    /// The device returns to an access point whose channel is jammed still.
    @Test(arguments: ["wlan0", "wlan1"] as [StationID]) func aLinkIsHeldAgainstTheBestOfThoseBefore(station: StationID)
    {
        var gauge = FrameLossMeter()
        gauge.startOver(on: "wlan0")
        for (second, count) in [(0, 0), (10, 100)] as [(Int64, UInt64)] {
            _ = gauge.counted(Self.counts(count), at: Instant(milliseconds: second * 1000))
        }
        gauge.startOver(on: station)
        #expect(gauge.counted(Self.counts(1000), at: Instant(milliseconds: 20_000)) == nil)
        let share = gauge.counted(Self.counts(1060), at: Instant(milliseconds: 30_000))
        #expect(share == (station == "wlan0" ? 40 : 0), "what another radio counts says nothing of this one")
    }

    /// With two stations of a radio each handover leads from one to the other, and back to one that was there before.
    @Test func eachStationHasItsBest() {
        var gauge = FrameLossMeter()
        var second: Int64 = 0
        func share(_ gauge: inout FrameLossMeter, _ beacons: UInt64) -> Int? {
            _ = gauge.counted(Self.counts(0), at: Instant(milliseconds: second * 1000))
            second += 10
            return gauge.counted(Self.counts(beacons), at: Instant(milliseconds: second * 1000))
        }
        for (station, beacons, lost) in [("wlan0", 100, 0), ("wlan1", 80, 0), ("wlan0", 60, 40), ("wlan1", 40, 50)] {
            gauge.startOver(on: StationID(station))
            #expect(share(&gauge, UInt64(beacons)) == lost)
        }
    }

    /// A link that lives does not miss all of them: from now on the driver counts others.
    @Test func beaconsThatTheFirmwareKeepsAreNoLoss() {
        #expect(Self.shares([0, 100, 102, 104, 204, 254]) == [nil, 0, nil, nil, 0, 50])
    }

    /// Frames sent, and those that were lost of them, at each measurement.
    @Test(
        arguments: [
            ([(0, 0), (100, 0), (200, 60)], [nil, 0, 60]),
            ([(0, 0), (20, 15), (40, 30)], [nil, nil, nil]),
            ([(500, 90), (100, 95), (200, 95)], [nil, nil, 0]),
            ([(500, 90), (600, 40), (700, 50)], [nil, nil, 10]),
            ([(.max - 49, .max - 9), (50, 40)], [nil, 50]),
            ([(0, 0), (100, 101)], [nil, nil]),
        ] as [([(UInt32, UInt32)], [Int?])])
    func framesThatWereNeverAcknowledgedAreLost(counts: [(UInt32, UInt32)], shares: [Int?]) {
        var gauge = FrameLossMeter()
        let found = counts.enumerated().map { index, count in
            var info = StationInfo()
            (info.transmitPackets, info.transmitFailed) = count
            return gauge.counted(info, at: Instant(milliseconds: Int64(index) * 10_000))
        }
        #expect(found == shares)
    }

    @Test func theGreaterShareCounts() {
        var gauge = FrameLossMeter()
        var info = Self.counts(0)
        (info.transmitPackets, info.transmitFailed) = (0, 0)
        _ = gauge.counted(info, at: Instant(milliseconds: 0))
        info = Self.counts(100)
        (info.transmitPackets, info.transmitFailed) = (100, 40)
        #expect(gauge.counted(info, at: Instant(milliseconds: 10_000)) == 40)
    }

    @Test func whatSaysNothingIsNotTaken() {
        #expect(Self.shares([100, 50, 150]) == [nil, nil, 0], "counts that go back")
        #expect(Self.shares([0, 10, 20], every: 1) == [nil, nil, nil], "too short")
        #expect(Self.shares([0, 6000], every: 600) == [nil, nil], "too long")
        var gauge = FrameLossMeter()
        #expect(gauge.counted(StationInfo(), at: Instant(milliseconds: 0)) == nil)
    }

    @Test func aScanBeginsTheCountAnew() {
        var gauge = FrameLossMeter()
        _ = gauge.counted(Self.counts(0), at: Instant(milliseconds: 0))
        _ = gauge.counted(Self.counts(100), at: Instant(milliseconds: 10_000))
        gauge.scanned()
        #expect(gauge.counted(Self.counts(120), at: Instant(milliseconds: 20_000)) == nil)
        #expect(gauge.counted(Self.counts(170), at: Instant(milliseconds: 30_000)) == 50)
    }

    /// The policy is not woken while all is well, and hears of every change.
    @Test func whatIsWellIsToldOnceInFiveMinutes() {
        var gauge = FrameLossMeter()
        func isNews(_ reading: Int, _ share: Int?, at seconds: Int64) -> Bool {
            gauge.isNews(reading, share, below: -70, at: Instant(milliseconds: seconds * 1000))
        }
        #expect(isNews(-50, 0, at: 0))
        #expect(!isNews(-50, 3, at: 10))
        #expect(isNews(-71, 0, at: 20), "weak")
        #expect(isNews(-50, 0, at: 30), "strong again")
        #expect(!isNews(-50, nil, at: 40))
        #expect(isNews(-50, 40, at: 50), "frames are lost")
        #expect(isNews(-50, nil, at: 60), "nothing says that this is over")
        #expect(isNews(-50, 2, at: 70))
        #expect(!isNews(-50, 2, at: 80))
        #expect(isNews(-50, 2, at: 370))
    }

    /// A driver may say anything.
    @Test func anyCountWillDo() {
        var gauge = FrameLossMeter()
        for (index, count) in [UInt64.max, 0, .max, 1].enumerated() {
            var info = Self.counts(count)
            info.beaconInterval = .milliseconds(index - 1)
            let share = gauge.counted(info, at: Instant(milliseconds: Int64(index) * 10_000))
            #expect(share.map { (0...100).contains($0) } ?? true)
        }
    }
}
