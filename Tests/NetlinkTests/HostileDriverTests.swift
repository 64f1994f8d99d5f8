import AgentModel
import CNetlink
import Testing

@testable import Netlink

/// What a driver tells that no driver should.
@Suite struct HostileDriverTests {
    private let now = Instant(milliseconds: 1_000_000_000)

    private func result(
        _ number: Int, signal: Int, elements: [UInt8]? = [0, 4, 0x48, 0x6f, 0x6d, 0x65]
    ) -> NetlinkMessage {
        .nl80211 { attributes in
            attributes.putNested(NL80211_ATTR_BSS) { bss in
                bss.put(NL80211_BSS_BSSID, bytes: [2, 0, 0, 0, UInt8(number >> 8), UInt8(number & 255)])
                bss.put(NL80211_BSS_FREQUENCY, UInt32(2412))
                bss.put(NL80211_BSS_SIGNAL_MBM, Int32(signal * 100))
                if let elements { bss.put(NL80211_BSS_INFORMATION_ELEMENTS, bytes: elements) }
            }
        }
    }

    /// Of ten thousand the strongest are kept, and never more than twice as many are held.
    @Test func tenThousandAccessPoints() {
        var heard = HeardAccessPoints()
        var most = 0
        for number in 0..<10_000 {
            guard let bss = BSS(result(number, signal: number == 5000 ? -30 : -90 + number % 50), now: now) else {
                Issue.record("access point \(number) was not read")
                return
            }
            heard.add(bss)
            most = max(most, heard.count)
        }
        let kept = heard.merged()
        #expect(most < 2 * HeardAccessPoints.limit)
        #expect(kept.count == HeardAccessPoints.limit)
        #expect(kept.contains { $0.signal == -30 })
        #expect(kept.allSatisfy { $0.signal >= -46 })
    }

    @Test func aFewAreAllKeptInOrder() {
        var heard = HeardAccessPoints()
        let all = (0..<HeardAccessPoints.limit).compactMap { BSS(result($0, signal: -90 + $0 % 7), now: now) }
        for bss in all { heard.add(bss) }
        #expect(heard.merged() == all)
    }

    /// An open half tells of the encrypted one, once however often, and not where that is on a channel of its own.
    @Test func anEncryptedHalfIsToldOf() throws {
        let other: [UInt8] = [221, 15, 0x50, 0x6f, 0x9a, 0x1c, 2, 0, 0, 0, 9, 1, 4, 0x48, 0x6f, 0x6d, 0x65]
        let message = result(1, signal: -50, elements: [0, 1, 0x41] + other)
        let open = try #require(BSS(message, now: now))
        let half = try #require(BSS.encryptedHalf(of: open, message))
        #expect(half.bssid.description == "02:00:00:00:09:01" && half.ssid?.text == "A")
        #expect(half.protection == [.owe, .pmf] && half.signal == -50)
        var heard = HeardAccessPoints()
        for _ in 0..<2 { heard.add(open, encryptedHalf: half) }
        #expect(heard.merged() == [open, open, half])
        heard.add(half)
        #expect(heard.merged() == [open, open, half])
        let elsewhere: [UInt8] = [221, 17] + other.dropFirst(2) + [115, 36]
        let far = result(1, signal: -50, elements: [0, 1, 0x41] + elsewhere)
        #expect(BSS.encryptedHalf(of: open, far) == nil)
        #expect(BSS.encryptedHalf(of: open, result(1, signal: -50)) == nil)
    }

    /// Without a name, with an empty one, one of zeros, one that is too long and one that is cut off.
    @Test(
        arguments: [
            nil, [], [1, 1, 0x82], [0, 0], [0, 4, 0, 0, 0, 0], [0, 33] + [UInt8](repeating: 0x41, count: 33),
            [0, 9, 0x41],
            [0], [UInt8](repeating: 0xff, count: 300),
        ] as [[UInt8]?])
    func anAccessPointWithoutAName(elements: [UInt8]?) throws {
        let bss = try #require(BSS(result(1, signal: -50, elements: elements), now: now))
        #expect(bss.ssid == nil)
        #expect(elements != nil || bss.security == .unknown, "without elements it is not known how it is joined")
    }

    /// The first of two names counts, so that what follows cannot give an access point another one.
    @Test func anAccessPointWithTwoNames() throws {
        let bss = try #require(BSS(result(1, signal: -50, elements: [0, 1, 0x41, 0, 1, 0x42]), now: now))
        #expect(bss.ssid?.text == "A")
    }

    /// Each recorded message, cut off anywhere, and with each of its bytes at either extreme: whatever it is read as is within
    /// its bounds.
    @Test func everyMessageCutOffAndDamagedAnywhere() {
        var read = 0
        for bytes in Fixture.all {
            for end in 0...bytes.count { read += check(Array(bytes[..<end])) }
            for index in bytes.indices {
                for value: UInt8 in [0, 1, 0x7f, 0x80, 0xff] {
                    var damaged = bytes
                    damaged[index] = value
                    read += check(damaged)
                }
            }
        }
        #expect(read > 1000, "most were read as something")
    }

    private func check(_ bytes: [UInt8]) -> Int {
        let messages = Array(NetlinkDatagram(bytes))
        var read = 0
        for message in messages {
            if let bss = BSS(message, now: now) {
                #expect(bss.lastSeen <= now)
                #expect(bss.ssid.map { (1...32).contains($0.bytes.count) } ?? true)
                read += 1
            }
            if let station = StationInfo(message) {
                #expect(station.strength.map { (-128..<128).contains($0) } ?? true)
                read += 1
            }
            if let event = RadioEvent(message) {
                if case .packetLoss(let frames) = event { #expect(frames >= 0) }
                read += 1
            }
            if let interface = WirelessInterface(message) {
                #expect(interface.index >= 0 && interface.phy >= 0)
                read += 1
            }
        }
        if Phy(messages) != nil { read += 1 }
        return read
    }
}
