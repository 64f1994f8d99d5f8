import AgentModel
import Testing

@Suite struct ValueTests {
    @Test func bssidReadsWhatItPrints() throws {
        let bssid = try #require(BSSID("02:00:0a:FF:01:00"))
        #expect(bssid.bytes == [0x02, 0x00, 0x0a, 0xff, 0x01, 0x00])
        #expect(bssid.description == "02:00:0a:ff:01:00")
        #expect(BSSID(bssid.description) == bssid)
    }

    @Test(arguments: [
        "", "02:00:00:00:01", "02:00:00:00:01:0", "02:00:00:00:01:0g", "0200:00:00:01:00:", "1:1:1:1:1:1",
    ])
    func bssidRefuses(text: String) {
        #expect(BSSID(text) == nil)
    }

    @Test(arguments: [
        (2412, 1, Band.twoPointFour), (2472, 13, .twoPointFour), (2484, 14, .twoPointFour), (5180, 36, .five),
        (5885, 177, .five), (5955, 1, .six), (7115, 233, .six),
    ])
    func frequencyKnowsItsChannel(megahertz: Int, channel: Int, band: Band) {
        let frequency = Frequency(megahertz: megahertz)
        #expect(frequency.channel == channel)
        #expect(frequency.band == band)
    }

    @Test(arguments: [0, 2413, 5000, 9000, -1])
    func frequencyOutsideTheBandsHasNoChannel(megahertz: Int) {
        #expect(Frequency(megahertz: megahertz).channel == nil)
    }

    @Test func instantsCountMilliseconds() {
        let start = Instant(milliseconds: 1000)
        #expect(start + .seconds(2) == Instant(milliseconds: 3000))
        #expect(start + .seconds(2) - start == .seconds(2))
        #expect(start < start + .milliseconds(1))
    }
}
