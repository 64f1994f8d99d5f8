import AgentModel
import Testing

@testable import Netlink

@Suite struct InformationElementsTests {
    private func elements(_ hex: String) -> InformationElements { InformationElements(bytes(hex)[...]) }

    private func security(_ hex: String, isPrivate: Bool = true) -> Security {
        elements(hex).security(isPrivate: isPrivate)
    }

    // MARK: SSID

    @Test func readsTheName() {
        #expect(elements("00 04 486f6d65").ssid?.text == "Home")
        #expect(elements("01 01 82  00 02 6869").ssid?.text == "hi")
        #expect(elements("00 20 \(String(repeating: "ff", count: 32))").ssid?.bytes.count == 32)
        #expect(elements("00 03 00 41 00").ssid?.bytes == [0, 0x41, 0])
    }

    @Test(arguments: [
        "", "00", "00 00", "00 04 00000000", "00 05 486f6d65", "01 01 82",
        "00 21 \(String(repeating: "41", count: 33))",
    ])
    func hasNoName(_ hex: String) {
        #expect(elements(hex).ssid == nil)
    }

    @Test func theFirstNameCounts() {
        #expect(elements("00 01 61  00 01 62").ssid?.text == "a")
        #expect(elements("00 00  00 01 62").ssid == nil)
    }

    @Test func keepsWhatCameBeforeATruncation() {
        let truncated = elements("00 01 61  30 14 0100 000fac04")
        #expect(truncated.ssid?.text == "a")
        #expect(truncated.rsn == nil)
    }

    @Test func readsWhatIsSaidOfFastTransitions() {
        let domain = elements("36 03 a1b2 01").mobility
        #expect(domain == MobilityDomain(id: 0xb2a1, isOverDistributionSystem: true))
        #expect(elements("36 03 a1b2 02").mobility?.isOverDistributionSystem == false)
        #expect(elements("36 02 a1b2").mobility == nil)
        #expect(elements("36 03 a1b2 01  36 03 0000 00").mobility == domain)
    }

    @Test func readsTheLoad() {
        #expect(elements("0b 05 0300 80 ffff").channelUtilization == 0x80)
        #expect(elements("0b 05 ffff 00 0000").channelUtilization == 0)
        #expect(elements("0b 05 0000 ff 0000").channelUtilization == 255)
        #expect(elements("0b 05 0300 40 0000  0b 05 0300 80 0000").channelUtilization == 0x40, "the first one counts")
    }

    @Test(arguments: ["", "0b 00", "0b 04 0300 80 00", "0b 06 0300 80 0000 00", "0b 05 0300 80 00"])
    func hasNoLoad(_ hex: String) {
        #expect(elements(hex).channelUtilization == nil)
    }

    // MARK: Security

    /// An RSN element with CCMP and these key managements (IEEE 802.11-2020, table 9-151).
    private func rsn(
        _ managements: [UInt8], pairwise: UInt8 = 4, group: UInt8 = 4, capabilities: [UInt8] = [0, 0]
    ) -> String {
        let body: [UInt8] =
            [1, 0, 0x00, 0x0f, 0xac, group, 1, 0, 0x00, 0x0f, 0xac, pairwise, UInt8(managements.count), 0]
            + managements.flatMap { [0x00, 0x0f, 0xac, $0] } + capabilities
        return Hex.string([48, UInt8(body.count)]) + Hex.string(body)
    }

    @Test(arguments: [
        ([2], Security.wpa2), ([4], .wpa2), ([6], .wpa2), ([2, 6, 4], .wpa2), ([8], .wpa3), ([9], .wpa3), ([24], .wpa3),
        ([2, 8], .wpa2wpa3), ([6, 9], .wpa2wpa3), ([18], .owe), ([1], .enterprise), ([3], .enterprise),
        ([5], .enterprise), ([12], .enterprise), ([14], .enterprise), ([17], .enterprise), ([1, 2], .wpa2),
        ([7], .unknown), ([99], .unknown),
    ])
    func readsKeyManagement(_ managements: [UInt8], _ expected: Security) {
        #expect(security(rsn(managements)) == expected)
        // The element decides, whatever the privacy bit says.
        #expect(security(rsn(managements), isPrivate: false) == expected)
    }

    @Test func readsCiphers() {
        #expect(security(rsn([8], pairwise: 9)) == .wpa3)
        #expect(security(rsn([2], pairwise: 8, group: 10)) == .wpa2)
        #expect(security(rsn([2], pairwise: 5)) == .wep)
        #expect(security(rsn([2], pairwise: 0, group: 1)) == .wep)
        #expect(security(rsn([2], pairwise: 0, group: 4)) == .wpa2)
        #expect(security(rsn([2], pairwise: 6)) == .unknown)
        #expect(security(rsn([2], group: 1)) == .wep)
        #expect(security(rsn([2], group: 7)) == .unknown)
    }

    /// For one station, or for the group alone, as where a router serves WPA and WPA2 side by side.
    @Test(arguments: [(2, 2), (2, 4), (4, 2), (0, 2), (9, 2)] as [(UInt8, UInt8)])
    func whatHasTKIPIsRefused(_ pairwise: UInt8, _ group: UInt8) {
        for managements in [[1], [2], [8], [2, 8], [18]] as [[UInt8]] {
            #expect(security(rsn(managements, pairwise: pairwise, group: group)) == .legacy)
        }
    }

    @Test func readsWhatProtectsALink() {
        func protection(_ hex: String) -> LinkProtection { elements(hex).protection }
        #expect(protection(rsn([2])) == [])
        #expect(protection(rsn([2], capabilities: [0x80, 0])) == .pmf)
        #expect(protection(rsn([2, 8], capabilities: [0x80, 0])) == [.sae, .pmf])
        #expect(protection(rsn([8], capabilities: [0xc0, 0])) == [.sae, .pmf])
        #expect(protection(rsn([8], capabilities: [0, 0xc0])) == .sae, "the other byte")
        #expect(protection(rsn([18], capabilities: [0xc0, 0])) == [.owe, .pmf])
        #expect(protection(rsn([18], capabilities: [0xc0])) == .owe, "half a field is none")
        #expect(protection(rsn([8], capabilities: [])) == .sae)
        #expect(protection("00 01 61") == [])
        #expect(protection(wpa) == [])
        #expect(protection("dd 0f 506f9a1c 020000000200 04 486f6d65") == [], "an announced twin is another")
    }

    private let wpa = "dd 16 0050f201 0100 0050f202 0100 0050f202 0100 0050f202"

    @Test func readsTheOldElement() {
        #expect(security(wpa) == .legacy)
        #expect(security("dd 16 0050f201 0100 0050f204 0100 0050f204 0100 0050f202") == .legacy, "with CCMP, too")
        #expect(security("dd 16 0050f201 0100 0050f202 0100 0050f202 0100 0050f201") == .legacy, "with users, too")
        #expect(security("\(wpa) \(rsn([8]))") == .wpa3, "it counts for nothing beside RSN")
        #expect(security("\(wpa) \(rsn([2], group: 2))") == .legacy)
        #expect(security("30 00 \(wpa)") == .legacy)
        #expect(security("\(wpa) \(rsn([2]))") == .wpa2)
    }

    @Test func withoutElementsThePrivacyBitDecides() {
        #expect(security("00 01 61", isPrivate: false) == .open)
        #expect(security("00 01 61", isPrivate: true) == .wep)
        #expect(security("dd 07 0050f202 010100", isPrivate: false) == .open)
        #expect(security("dd 03 0050f2", isPrivate: false) == .open)
    }

    @Test func anOpenNetworkMayAnnounceItsEncryptedTwin() {
        let transition = "dd 0f 506f9a1c 020000000200 04 486f6d65"
        #expect(elements(transition).announcesOWE)
        #expect(security(transition, isPrivate: false) == .owe)
        #expect(security(transition, isPrivate: true) == .wep)
        #expect(security("\(transition) \(rsn([2]))") == .wpa2)
    }

    /// The encrypted half hides its name, and is called as the open one; no other access point is called by what it says of
    /// another one.
    @Test func theEncryptedHalfHasTheNameOfTheOpenOne() {
        let twin = "dd 0f 506f9a1c 020000000200 04 486f6d65"
        #expect(elements("00 00 \(rsn([18])) \(twin)").networkName?.text == "Home")
        #expect(elements("00 03 61 62 63 \(rsn([18])) \(twin)").networkName?.text == "Home")
        #expect(elements("00 03 61 62 63 \(rsn([18]))").networkName?.text == "abc")
        #expect(elements("00 03 61 62 63 \(twin)").networkName?.text == "abc")
        #expect(elements("00 03 61 62 63 \(rsn([2])) \(twin)").networkName?.text == "abc")
        for broken in [
            "dd 04 506f9a1c", "dd 0a 506f9a1c 020000000200", "dd 0b 506f9a1c 020000000200 04",
            "dd 0d 506f9a1c 020000000200 04 4865", "dd 0b 506f9a1c 020000000200 00",
            "dd 0d 506f9a1c 020000000200 02 0000",
        ] {
            #expect(elements("00 03 61 62 63 \(rsn([18])) \(broken)").networkName?.text == "abc", "\(broken)")
        }
    }

    @Test func whatIsLeftOutHasDefaults() {
        #expect(security("30 02 0100") == .enterprise)
        #expect(security("30 06 0100 000fac04") == .enterprise)
        #expect(security("30 0c 0100 000fac04 0100 000fac04") == .enterprise)
        #expect(security("30 12 0100 000fac04 0100 000fac04 0100 000fac02") == .wpa2)
    }

    @Test(arguments: [
        "30 00", "30 01 01", "30 02 0200", "30 05 0100 000fac", "30 07 0100 000fac04 01",
        "30 0a 0100 000fac04 0200 000f", "30 08 0100 000fac04 0000", "30 08 0100 000fac04 ffff",
        "30 0e 0100 000fac04 0100 000fac04 0000", "dd 04 0050f201", "dd 06 0050f201 0300",
    ])
    func aBrokenElementNeverPassesForOpen(_ hex: String) {
        #expect(security(hex) == .unknown)
        #expect(security(hex, isPrivate: false) == .unknown)
    }

    @Test func theFirstOfTwoElementsCounts() {
        #expect(security("\(rsn([2])) \(rsn([8]))") == .wpa2)
        #expect(security("30 00 \(rsn([8]))") == .wpa3)
    }
}
