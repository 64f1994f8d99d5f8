import AgentModel
import AppProtocol
import Randomness
import Testing

@Suite struct ValueTests {
    // covers: seed/backup-model
    @Test func hashIsTheOneThatAppsCompute() throws {
        let key = Secret(text: "0123456789abcdef")
        let hash = NetworkHash(localKey: key, ssid: try SSID("HomeNet"), password: Secret(text: "swordfish"))
        #expect(ProtocolDocument.text.contains("password `swordfish` is `\(hash)`"))
        // SHA-256 of "abc", FIPS 180-2 appendix B.1: an open network has the empty password.
        let abc = NetworkHash(localKey: Secret(text: "a"), ssid: try SSID("bc"), password: nil)
        #expect(abc.base64 == "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=")
        #expect(NetworkHash(base64: abc.base64) == abc)
    }

    @Test(arguments: [
        "", "abc", "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa1=", "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0=",
    ])
    func otherTextIsNoHash(text: String) {
        #expect(NetworkHash(base64: text) == nil)
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (951_782_400_001, "2000-02-29T00:00:00.001Z"),
        (1_770_091_506_789, "2026-02-03T04:05:06.789Z"), (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ])
    func timestampIsWrittenAndRead(milliseconds: Int64, text: String) {
        let timestamp = Timestamp(millisecondsSince1970: milliseconds)
        #expect(timestamp.description == text)
        #expect(Timestamp(text) == timestamp)
    }

    @Test func everyDayIsWrittenAndRead() {
        for day in stride(from: Int64(0), to: 2_932_896, by: 97) {
            let timestamp = Timestamp(millisecondsSince1970: day * 86_400_000 + day % 86_400_000)
            #expect(Timestamp(timestamp.description) == timestamp)
        }
    }

    @Test func timestampReadsOtherFractions() {
        #expect(Timestamp("2026-02-03T04:05:06Z")?.description == "2026-02-03T04:05:06.000Z")
        #expect(Timestamp("2026-02-03T04:05:06.5Z")?.description == "2026-02-03T04:05:06.500Z")
        #expect(Timestamp("2026-02-03T04:05:06.123456789Z")?.description == "2026-02-03T04:05:06.123Z")
    }

    @Test(arguments: [
        "", "now", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-02-03T24:00:00Z", "2026-02-03T04:05:06",
        "2026-02-03 04:05:06Z", "2026-02-03T04:05:06.Z", "2026-02-03T04:05:06,5Z", "2026-02-03T04:05:-6Z",
        "2026-02-03T04:05:06+01:00", "1969-12-31T23:59:59Z", "２０２６-02-03T04:05:06Z",
    ])
    func otherTextIsNoTimestamp(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test func timestampStaysWithinFourDigitYears() {
        #expect(Timestamp(millisecondsSince1970: .min).description == "1970-01-01T00:00:00.000Z")
        #expect(Timestamp(millisecondsSince1970: .max).description == "9999-12-31T23:59:59.999Z")
    }

    @Test(arguments: [(-100, 0), (-127, 0), (-75, 50), (-50, 100), (0, 100), (-52, 96)])
    func qualityFollowsSignal(signal: Int, percent: Int) {
        #expect(SignalQuality.percent(signal: signal) == percent)
    }

    // covers: seed/current-network, seed/allowed-by-flags
    @Test func flagsFollowTheUplink() {
        let both: NetworkFlags = [.canUpdateBackups, .canSwitch]
        #expect(NetworkFlags.allowed(uplink: .wifi, radioPresent: true, switchInProgress: false) == both)
        #expect(NetworkFlags.allowed(uplink: nil, radioPresent: true, switchInProgress: false) == both)
        #expect(NetworkFlags.allowed(uplink: nil, radioPresent: false, switchInProgress: false) == .canUpdateBackups)
        #expect(
            NetworkFlags.allowed(uplink: .wifi, radioPresent: true, switchInProgress: false, isStoreWritable: false)
                == .canSwitch)
        #expect(NetworkFlags.allowed(uplink: .wired, radioPresent: true, switchInProgress: false) == .canUpdateBackups)
        #expect(
            NetworkFlags.allowed(uplink: .cellular, radioPresent: true, switchInProgress: false) == .canUpdateBackups)
        #expect(
            NetworkFlags.allowed(uplink: .wifi, radioPresent: true, switchInProgress: true)
                == [.canUpdateBackups, .switchInProgress])
        #expect(DeviceAttributes.backupNetworks.rawValue == 4096)
    }

    /// The raw values of `SCNetworkReachabilityFlags` (SCNetworkReachability.h), and the names in the protocol.
    // covers: seed/reach-flags
    @Test(
        arguments: [
            ("transientConnection", 0x1), ("reachable", 0x2), ("connectionRequired", 0x4), ("connectionOnTraffic", 0x8),
            ("interventionRequired", 0x10), ("connectionOnDemand", 0x20), ("isLocalAddress", 0x1_0000),
            ("isDirect", 0x2_0000), ("isCellular", 0x4_0000),
        ] as [(String, UInt32)])
    func reachabilityFlagsHaveApplesValues(name: String, value: UInt32) {
        let flag = ReachabilityFlags(rawValue: value)
        #expect(flag.names == [name] && ReachabilityFlags(names: [name]) == flag)
    }

    @Test func reachabilityFlagsHaveApplesOtherNames() {
        #expect(ReachabilityFlags.allNames.count == 9)
        #expect(ReachabilityFlags.connectionAutomatic.rawValue == 0x8 && ReachabilityFlags.isWWAN.rawValue == 0x4_0000)
    }

    /// Any 1 to 32 bytes come back as they were.
    // covers: seed/current-ssid
    @Test func ssidTravelsLosslessly() throws {
        var random = SeededRandom(seed: 7)
        for _ in 0..<3000 {
            let bytes = (0..<Int.random(in: 1...32, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let shaped = Bool.random(using: &random) ? bytes : bytes.map { $0 & 0x7f }
            let ssid = try SSID(bytes: shaped)
            let request = Request(id: "x", content: .device(.startScan(ScanRequest(ssids: [ssid]))))
            #expect(try Request(line: try request.line()) == request)
        }
    }

    /// Names that look alike, that carry what editors drop, or that are no text, in both directions.
    @Test(arguments: [
        Array("Caf\u{e9}".utf8), Array("Cafe\u{301}".utf8), Array("\u{feff}Home".utf8), Array(" Home ".utf8), [0],
        [0x0a],
        [0x22, 0x5c, 0x2f], Array("\u{1f4f6}\u{200d}\u{202e}".utf8), Array("\u{fffd}".utf8), [0xff], [0xc0, 0x80],
        [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x41, 0xc3], Array(repeating: 0xfe, count: 32),
    ])
    func everySSIDComesBack(bytes: [UInt8]) throws {
        let ssid = try SSID(bytes: bytes)
        let request = Request(
            id: "x",
            content: .device(.switchNetwork(SwitchRequest(target: .new(NewNetwork(ssid: ssid, password: nil))))))
        let line = try request.line()
        guard case .device(.switchNetwork(let order)) = try Request(line: line).content,
            case .new(let network) = order.target
        else {
            Issue.record("no new network")
            return
        }
        #expect(network.ssid.bytes == bytes)
        let isText = String(validating: bytes, as: UTF8.self) != nil
        #expect(String(decoding: line, as: UTF8.self).contains(isText ? #""ssid":"# : #""ssidHex":"#))
        let status = NetworkStatus(state: .online, uplink: .wifi, flags: [], ssid: ssid, since: .now)
        let answer = Response(id: "x", result: .success(.network(status))).line()
        #expect(try ServerLine.body(NetworkStatus.self, of: answer).ssid?.bytes == bytes)
        // The hexadecimal form will do for any name.
        let hex = #"{"v":1,"id":"x","type":"scan.start","body":{"ssids":[{"ssidHex":"\#(Hex.string(bytes))"}]}}"#
        #expect(
            try Request(line: Array(hex.utf8)).content == .device(.startScan(ScanRequest(ssids: [ssid]))))
    }

    @Test func longAnswersLoseTheirEndAndSayIt() throws {
        let ssid = try SSID(bytes: Array(repeating: 0, count: 32))
        let bssid = try #require(BSSID("02:00:00:00:00:01"))
        let network = ScannedNetwork(
            bssid: bssid, ssid: ssid, frequency: Frequency(megahertz: 2412), signal: -50, security: .open, ageMs: 0)
        let scan = ScanResults(isScanning: false, lastScanId: nil, networks: Array(repeating: network, count: 2000))
        let line = Response(id: "a", result: .success(.scan(scan))).line()
        #expect(line.count <= ProtocolLimits.lineLength)
        let read = try ServerLine.body(ScanResults.self, of: line)
        #expect(read.isTruncated)
        #expect(read.networks.count == 125)

        let decision = Decision(
            seq: 1, time: .now, monotonicMs: 0, kind: .init(rawValue: "stay"), from: nil, to: nil,
            reason: ReasonCode(rawValue: "x"), text: String(repeating: "long ", count: 100))
        let history = History(decisions: Array(repeating: decision, count: 200))
        let answer = Response(id: "a", result: .success(.history(history))).line()
        #expect(answer.count <= ProtocolLimits.lineLength)
        #expect(try ServerLine.body(History.self, of: answer).isTruncated)
    }

    @Test(arguments: [(0, 0), (1, 0), (2, 1), (128, 50), (254, 100), (255, 100), (nil, nil)] as [(UInt8?, Int?)])
    func theLoadIsToldInPerCent(utilization: UInt8?, load: Int?) throws {
        let bss = BSS(
            bssid: try #require(BSSID("02:00:00:00:00:01")), ssid: nil, frequency: Frequency(megahertz: 2412),
            signal: -50, lastSeen: Instant(milliseconds: 0), security: .open, channelUtilization: utilization)
        let network = ScannedNetwork(bss, now: Instant(milliseconds: 0), providers: [], refusal: nil)
        #expect(network.load == load)
        let scan = ScanResults(isScanning: false, lastScanId: nil, networks: [network])
        let line = Response(id: "a", result: .success(.scan(scan))).line()
        #expect(try ServerLine.body(ScanResults.self, of: line) == scan)
        #expect(String(decoding: line, as: UTF8.self).contains("load") == (load != nil))
    }

    @Test func theClaimIsOnlyThereWhereAProviderClaims() throws {
        let bssid = try #require(BSSID("02:00:00:00:00:01"))
        let networks = [["click-through", "cafe"], []].map { providers in
            ScannedNetwork(
                bssid: bssid, ssid: nil, frequency: Frequency(megahertz: 2412), signal: -50, security: .open, ageMs: 0,
                providers: providers)
        }
        let scan = ScanResults(isScanning: false, lastScanId: nil, networks: networks)
        let line = Response(id: "a", result: .success(.scan(scan))).line()
        #expect(String(decoding: line, as: UTF8.self).matches(of: /"providers":\["click-through","cafe"\]/).count == 1)
        #expect(String(decoding: line, as: UTF8.self).matches(of: /"providers"/).count == 1)
        #expect(try ServerLine.body(ScanResults.self, of: line) == scan)
    }

    @Test func anAnswerThatCannotBeShortenedIsAnError() throws {
        let status = SwitchStatus(switchId: String(repeating: "x", count: 70_000), phase: .accepted)
        let line = Response(id: "a", result: .success(.switchStatus(status))).line()
        guard case .answer("a", let failure) = try ServerLine(line: line) else {
            Issue.record("no answer")
            return
        }
        #expect(failure?.code == .internalError)
    }

    @Test func whatANewerDeviceSaysIsBearable() throws {
        let event = #"{"v":1,"event":"battery.low","seq":1,"time":"2026-02-03T04:05:06.789Z","body":{}}"#
        guard case .unknown = try ServerLine(line: Array(event.utf8)) else {
            Issue.record("an unknown event was taken for a known one")
            return
        }
        let answer = #"{"v":1,"id":"a","ok":false,"error":{"code":"tired","message":"not now","details":[]}}"#
        guard case .answer("a", let failure) = try ServerLine(line: Array(answer.utf8)) else {
            Issue.record("no answer")
            return
        }
        #expect(failure == ProtocolError(.internalError, "tired: not now"))
    }
}
