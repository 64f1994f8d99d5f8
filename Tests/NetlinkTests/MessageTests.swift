import AgentModel
import CNetlink
import Randomness
import Testing

@testable import Netlink

/// Requests byte for byte, and the decoding of their answers.
@Suite struct MessageTests {
    private let family = GenericNetlinkFamily(id: 0x20, groups: [:])

    private func radioRequest(_ command: nl80211_commands) -> NetlinkRequest {
        var request = NetlinkRequest(nl80211: command, family: family)
        request.attributes.put(NL80211_ATTR_IFINDEX, UInt32(28))
        return request
    }

    @Test func asksForAFamily() {
        let request = GenericNetlinkFamily.request(named: "nl80211")
        #expect(
            request.encoded(flags: NLM_F_REQUEST | NLM_F_ACK, sequence: 1, port: 0x0102_0304)
                == bytes(
                    """
                    20000000            # length
                    1000                # type: GENL_ID_CTRL
                    0500                # flags: request, acknowledge
                    01000000            # sequence
                    04030201            # port
                    03 02 0000          # CTRL_CMD_GETFAMILY, version 2
                    0c00 0200           # CTRL_ATTR_FAMILY_NAME
                    6e6c383032313100    # "nl80211", zero
                    """))
    }

    @Test func triggersATargetedScan() throws {
        var request = radioRequest(NL80211_CMD_TRIGGER_SCAN)
        let scan = ScanRequest(ssids: [try SSID("Home")], frequencies: [2412, 5180].map(Frequency.init), flush: true)
        request.attributes.put(scan, asking: [[]] + scan.ssids.map(\.bytes))
        #expect(
            request.encoded(flags: NLM_F_REQUEST | NLM_F_ACK, sequence: 7, port: 9)
                == bytes(
                    """
                    48000000            # length
                    2000                # type: the family
                    0500                # flags: request, acknowledge
                    07000000            # sequence
                    09000000            # port
                    21 01 0000          # NL80211_CMD_TRIGGER_SCAN, version 1
                    0800 0300 1c000000  # NL80211_ATTR_IFINDEX
                    1000 2d80           # NL80211_ATTR_SCAN_SSIDS, nested
                    0400 0100           #   the wildcard
                    0800 0200 486f6d65  #   "Home"
                    1400 2c80           # NL80211_ATTR_SCAN_FREQUENCIES, nested
                    0800 0100 6c090000  #   2412 MHz
                    0800 0200 3c140000  #   5180 MHz
                    0800 9e00 02000000  # NL80211_ATTR_SCAN_FLAGS: flush
                    """))
    }

    @Test func listensWithoutAsking() {
        var attributes = AttributeWriter()
        attributes.put(ScanRequest(asksEverybody: false), asking: [])
        #expect(attributes.bytes.isEmpty)
    }

    @Test func setsSignalThresholds() {
        var attributes = AttributeWriter()
        attributes.put(signalThresholds: [-60, -75], hysteresis: 2)
        #expect(
            attributes.bytes
                == bytes(
                    """
                    1800 5e80           # NL80211_ATTR_CQM, nested
                    0c00 0100           #   NL80211_ATTR_CQM_RSSI_THOLD
                    b5ffffff c4ffffff   #     -75, -60: in ascending order
                    0800 0200 02000000  #   NL80211_ATTR_CQM_RSSI_HYST
                    """))
        attributes = AttributeWriter()
        attributes.put(signalThresholds: [], hysteresis: 0)
        #expect(
            attributes.bytes
                == bytes(
                    """
                    1400 5e80           # NL80211_ATTR_CQM, nested
                    0800 0100 00000000  #   NL80211_ATTR_CQM_RSSI_THOLD: off
                    0800 0200 00000000  #   NL80211_ATTR_CQM_RSSI_HYST
                    """))
    }

    @Test func padsAttributes() {
        var attributes = AttributeWriter()
        attributes.put(NL80211_ATTR_MAC, bytes: [2, 0, 0, 0, 1, 0])
        attributes.put(NL80211_ATTR_REASON_CODE, UInt16(3))
        attributes.putFlag(NL80211_ATTR_SPLIT_WIPHY_DUMP)
        #expect(
            attributes.bytes
                == bytes(
                    """
                    0a00 0600           # NL80211_ATTR_MAC
                    020000000100 0000   #   six bytes, padding
                    0600 3600           # NL80211_ATTR_REASON_CODE
                    0300 0000           #   leaving, padding
                    0400 ae00           # NL80211_ATTR_SPLIT_WIPHY_DUMP
                    """))
    }

    @Test func setsALinkUpAndDown() {
        #expect(
            NetlinkRequest.setLink(index: 3, up: true).encoded(flags: NLM_F_REQUEST, sequence: 2, port: 0)
                == bytes(
                    """
                    20000000            # length
                    1300                # type: RTM_SETLINK
                    0100                # flags: request
                    02000000 00000000   # sequence, port
                    00 00 0000          # AF_UNSPEC, padding, hardware type
                    03000000            # index
                    01000000            # flags: IFF_UP
                    01000000            # which flags to change
                    """))
        let down = NetlinkRequest.setLink(index: 3, up: false).encoded(flags: 0, sequence: 0, port: 0)
        #expect(Array(down.suffix(8)) == bytes("00000000 01000000"))
    }

    @Test func asksForRoutes() {
        #expect(
            NetlinkRequest.dump(of: .routes).encoded(flags: NLM_F_REQUEST | 0x300, sequence: 1, port: 0)
                == bytes(
                    """
                    1c000000            # length
                    1a00                # type: RTM_GETROUTE
                    0103                # flags: request, root and match: a dump
                    01000000 00000000   # sequence, port
                    00 00 00 00         # AF_UNSPEC, prefix lengths, type of service
                    00 00 00 00         # table, protocol, scope, type
                    00000000            # flags
                    """))
    }

    @Test func splitsADatagram() throws {
        let first = bytes("12000000 1000 0200 05000000 06000000 aabb 0000")
        let second = bytes("10000000 0300 0000 05000000 06000000")
        let messages = Array(NetlinkDatagram(first + second))
        #expect(messages.map(\.type) == [0x10, 3])
        #expect(messages.map(\.sequence) == [5, 5])
        #expect(messages.map(\.port) == [6, 6])
        #expect(messages.map { Array($0.payload) } == [[0xaa, 0xbb], []])
        #expect(messages[0].has(NLM_F_MULTI))
        #expect(!messages[1].has(NLM_F_MULTI))
    }

    @Test(arguments: [
        "", "100000", "0f000000 1000 0200 05000000 06000000", "00000000 1000 0200 05000000 06000000",
        "11000000 1000 0200 05000000 06000000", "ffffffff 1000 0200 05000000 06000000 00",
    ])
    func aMessageThatClaimsTooMuchOrTooLittleIsNone(_ hex: String) {
        #expect(Array(NetlinkDatagram(bytes(hex))).isEmpty)
    }

    @Test func readsAttributesUntilOneIsWrong() {
        let attributes = Attributes(bytes("0500 0100 2a 000000  0800 0280 01020304  ffff 0300 00")[...])
        #expect(attributes.map(\.type) == [1, 2])
        #expect(attributes[1]?.number(as: UInt8.self) == 42)
        #expect(attributes[1]?.number(as: UInt16.self) == nil)
        #expect(attributes[2]?.number(as: UInt32.self) == 0x0403_0201)
        #expect(attributes[3] == nil)
        #expect(Array(Attributes(bytes("0300 0100 0800 0200")[...])).isEmpty)
    }

    @Test func readsText() {
        #expect(AttributeValue(bytes: Array("wlan0\0rest".utf8)[...]).string == "wlan0")
        #expect(AttributeValue(bytes: [0x77, 0xff][...]).string == nil)
    }

    @Test func readsAcknowledgements() throws {
        let request = "24000000 1300 0500 02000000 00000000"
        func acknowledgement(_ hex: String) throws -> Acknowledgement? {
            Acknowledgement(try NetlinkMessage(bytes(hex)))
        }

        let success = try #require(
            try acknowledgement("24000000 0200 0001 02000000 07000000 00000000 \(request)"))
        #expect(success.errno == 0)
        #expect(success.detail == nil)

        // ENODEV, the request capped to its header, the text "No such\0" and an attribute before it.
        let capped = try #require(
            try acknowledgement(
                """
                38000000 0200 0003 02000000 07000000 edffffff \(request)
                0800 0200 04000000 # NLMSGERR_ATTR_OFFS
                0c00 0100 4e6f207375636800
                """))
        #expect(capped.errno == 19)
        #expect(capped.detail == "No such")

        // The same with the whole request, four bytes more than its header... and not capped.
        let whole = try #require(
            try acknowledgement(
                """
                34000000 0200 0002 02000000 07000000 edffffff
                14000000 1300 0500 02000000 00000000 aabbccdd
                0c00 0100 4e6f207375636800
                """))
        #expect(whole.detail == "No such")

        #expect(try acknowledgement("14000000 0300 0200 02000000 07000000 f0ffffff")?.errno == 16)
        #expect(try acknowledgement("10000000 0300 0200 02000000 07000000")?.errno == 0)
        #expect(try acknowledgement("14000000 0200 0000 02000000 07000000 00000080")?.errno == .max)
        #expect(try acknowledgement("10000000 0200 0000 02000000 07000000") == nil)
        #expect(try acknowledgement("10000000 0100 0000 02000000 07000000") == nil)

        let cookie = try #require(Acknowledgement(try NetlinkMessage(Fixture.cookie)))
        #expect(cookie.errno == 0)
        #expect(cookie.detail == nil)
    }

    @Test func readsAFamily() throws {
        let message = try NetlinkMessage(
            bytes(
                """
                48000000 1000 0000 01000000 07000000
                01 02 0000                # CTRL_CMD_NEWFAMILY
                0600 0100 2000 0000       # CTRL_ATTR_FAMILY_ID
                2c00 0780                 # CTRL_ATTR_MCAST_GROUPS
                1800 0180                 #   the first
                0800 0200 05000000        #     CTRL_ATTR_MCAST_GRP_ID
                0900 0100 7363616e 00 000000   #     CTRL_ATTR_MCAST_GRP_NAME: "scan"
                1000 0280                 #   one without a number
                0900 0100 6d6c6d65 00 000000   #     "mlme"
                """))
        let family = try #require(GenericNetlinkFamily(message))
        #expect(family == GenericNetlinkFamily(id: 0x20, groups: ["scan": 5]))
    }
}

extension GenericNetlinkFamily {
    init(id: UInt16, groups: [String: Int]) {
        var attributes = AttributeWriter()
        attributes.put(Int(CTRL_ATTR_FAMILY_ID), id)
        attributes.putNested(Int(CTRL_ATTR_MCAST_GROUPS)) { list in
            for (name, number) in groups {
                list.putNested(1) { group in
                    group.put(Int(CTRL_ATTR_MCAST_GRP_ID), UInt32(number))
                    group.put(Int(CTRL_ATTR_MCAST_GRP_NAME), string: name)
                }
            }
        }
        let payload = [0, 0, 0, 0] + attributes.bytes
        self.init(NetlinkMessage(type: 0x10, flags: 0, sequence: 0, port: 0, payload: payload[...]))!
    }
}

/// Nothing that arrives may bring the agent down: random bytes, and real messages damaged at random.
@Suite(.timeLimit(.minutes(10))) struct FuzzTests {
    private func decodeEverything(_ bytes: [UInt8]) {
        let messages = Array(NetlinkDatagram(bytes))
        var table = RouteTable()
        for message in messages {
            _ = Acknowledgement(message)
            _ = GenericNetlinkFamily(message)
            _ = BSS(message, now: Instant(milliseconds: 0))
            _ = BSS.isAssociated(message)
            _ = StationInfo(message)
            _ = WirelessInterface(message)
            _ = RadioEvent(message)
            _ = RouteLookup(message.payload)
            for type in UInt16(16)...33 {
                let message = NetlinkMessage(
                    type: type, flags: message.flags, sequence: 0, port: 0, payload: message.payload)
                _ = RouteSubject(message)
                guard let news = RouteMessage(message) else { continue }
                _ = table.apply(news, from: .news) { _ in .other }
                for link in table.links.values { _ = table.uplink(over: link) }
            }
        }
        _ = Phy(messages)?.stationConcurrency
        _ = InformationElements(bytes[...]).security(isPrivate: true)
    }

    @Test func randomBytes() {
        var random = SeededRandom(seed: 1)
        for _ in 0..<20_000 { decodeEverything(random.bytes(count: Int.random(in: 0...96, using: &random))) }
    }

    @Test func randomPayloads() {
        var random = SeededRandom(seed: 2)
        for _ in 0..<20_000 {
            let payload = random.bytes(count: Int.random(in: 0...96, using: &random))
            var request = NetlinkRequest(type: UInt16.random(in: 0...64, using: &random), fixedPart: [])
            request.attributes.put(Int.random(in: 0...48, using: &random), bytes: payload)
            decodeEverything(
                request.encoded(flags: Int32.random(in: 0...0xffff, using: &random), sequence: 0, port: 0))
        }
    }

    @Test func damagedMessages() {
        var random = SeededRandom(seed: 3)
        for _ in 0..<20_000 {
            var message = Fixture.all.randomElement(using: &random)!
            for _ in 0..<Int.random(in: 1...3, using: &random) { message = random.damage(message) }
            decodeEverything(message)
        }
    }

    @Test func damagedElements() {
        var random = SeededRandom(seed: 4)
        let valid = bytes(
            """
            00 04 486f6d65
            30 18 0100 000fac04 0100 000fac04 0200 000fac02 000fac08 0000
            dd 16 0050f201 0100 0050f202 0100 0050f202 0100 0050f202
            dd 0f 506f9a1c 020000000200 04 486f6d65
            """)
        for _ in 0..<20_000 { decodeEverything(random.damage(random.damage(valid))) }
    }
}
