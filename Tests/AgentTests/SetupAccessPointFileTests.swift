import AgentModel
import Testing

@testable import Agent
@testable import AgentCore

/// Why the setup access point is open, over a restart of the agent.
@Suite struct SetupAccessPointFileTests {
    private static let now = Instant(milliseconds: 90_000)
    private static let opening = SetupAccessPoint.Opening(
        reason: .nothingSeen, since: Instant(milliseconds: 60_000), hasArrived: true)

    private static func read(_ text: String, boot: String = "b-1") -> SetupAccessPoint.Opening? {
        SetupAccessPointFile.opening(in: Array(text.utf8), boot: boot, now: now)
    }

    @Test func whatIsWrittenIsRead() {
        let text = SetupAccessPointFile.text(of: Self.opening, boot: "b-1")
        #expect(Self.read(text) == Self.opening)
        #expect(Self.read(SetupAccessPointFile.text(of: nil, boot: "b-1")) == nil)
        // After another start of the system it counts no more.
        #expect(Self.read(text, boot: "b-2") == nil)
        #expect(Self.read(SetupAccessPointFile.text(of: Self.opening, boot: ""), boot: "") == nil)
    }

    @Test func whatMakesNoSenseIsAsIfItWereNotThere() {
        let text = SetupAccessPointFile.text(of: Self.opening, boot: "b-1")
        for length in 0..<(text.utf8.count - 1) {
            #expect(Self.read(String(decoding: text.utf8.prefix(length), as: UTF8.self)) == nil)
        }
        for line in ["nothingSeen", "nothingSeen -1", "nothingSeen 90001", "party 5", "nothingSeen x", ""] {
            #expect(Self.read("altnet-rescue 1\nboot b-1\n\(line)\nend\n") == nil)
        }
        #expect(Self.read(String(repeating: "x", count: 5000)) == nil)
    }

    @Test func itIsAFileOfTheFolder() async throws {
        try await inFolder { folder in
            let file = SetupAccessPointFile(directory: folder)
            #expect(file.read(boot: "b-1", now: Self.now) == nil)
            try file.write(Self.opening, boot: "b-1")
            #expect(file.read(boot: "b-1", now: Self.now) == Self.opening)
            try file.write(nil, boot: "b-1")
            #expect(file.read(boot: "b-1", now: Self.now) == nil)
        }
    }

    @Test func theSettingsSwitchItOff() throws {
        #expect(try AgentSettings(environment: ["ALTNET_SETUP_AP": "no"]).setupAccessPoint == nil)
        let point = try #require(
            try AgentSettings(environment: [
                "ALTNET_SETUP_AP_SSID": "Lamp", "ALTNET_SETUP_AP_UNSEEN_S": "60", "ALTNET_SETUP_AP_RADIO": "instead",
            ]).setupAccessPoint)
        #expect(point.interface == "altnet0" && point.name?.description == "Lamp" && point.radio == .instead)
        #expect(point.times.unseen == .seconds(60) && point.times.idle == .seconds(120))
    }

    @Test(arguments: [
        ["ALTNET_SETUP_AP": "maybe"], ["ALTNET_SETUP_AP_UNSEEN_S": "5"], ["ALTNET_SETUP_AP_INTERFACE": "wlan0"],
        ["ALTNET_SETUP_AP_SSID": String(repeating: "x", count: 33)], ["ALTNET_SETUP_AP_RADIO": "beside"],
    ]) func whatIsNotAllowedIsRefused(_ environment: [String: String]) {
        #expect(throws: InvalidSettings.self) { try AgentSettings(environment: environment) }
    }
}

/// The access points that the page lists while the radio cannot scan.
@Suite struct RememberedAccessPointTests {
    private static func scan(_ round: UInt8, count: UInt16) -> [BSS] {
        (0..<count).compactMap { number in
            BSSID(bytes: [2, 0, round, 0] + [UInt8(number >> 8), UInt8(number & 255)]).map {
                BSS(
                    bssid: $0, ssid: nil, frequency: Frequency(megahertz: 2412), signal: -60,
                    lastSeen: Instant(milliseconds: Int64(round) * 1000), security: .open)
            }
        }
    }

    /// Forged beacons with ever new addresses add up to no more than one scan has.
    @Test func eachOpeningAddsWithinALimit() {
        var remembered: [BSS] = []
        for round in UInt8(0)..<10 { remembered = Self.scan(round, count: 600).adding(remembered) }
        #expect(remembered.count == [BSS].mostRemembered)
        #expect(remembered.prefix(600) == Self.scan(9, count: 600)[...])
        #expect(remembered.dropFirst(600) == Self.scan(8, count: 400)[...])
    }

    @Test func whatIsSeenAgainIsThereOnce() {
        let seen = Self.scan(1, count: 3)
        #expect(seen.adding(seen) == seen)
        #expect(Self.scan(2, count: 1).adding(seen).count == 4)
    }
}
