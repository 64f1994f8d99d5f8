import AgentModel
import DNS
import Foundation
import Simulation
import Testing

@testable import DeveloperDevice

@Suite struct WorldKeysTests {
    @Test func keysAreChangesInTheWordsOfScenarios() throws {
        var keys = WorldKeys()
        let world = try world(on: [true, false], joined: 0)
        func action(_ key: Character) -> WorldKeys.Action? {
            key.asciiValue.flatMap { keys.action(for: $0, in: world) }
        }
        #expect(action("1") == .change("repeater off"))
        #expect(action("2") == .change("router on"))
        #expect(action("3") == nil)
        #expect(action("-") == .change("repeater signal -61"))
        #expect(action("+") == .change("repeater signal -49"))
        #expect(action("i") == .change("repeater internet dead"))
        #expect(action("a") == .change("away"))
        #expect(action("a") == .change("back"))
        #expect(action("u") == .change("uplink wired"))
        #expect(action("q") == .end)
        #expect(action("x") == nil)
    }

    @Test func withoutAnAccessPointThatIsOnThereIsNoSignalToChange() throws {
        var keys = WorldKeys()
        #expect(keys.action(for: UInt8(ascii: "-"), in: try world(on: [false, false], joined: nil)) == nil)
    }

    private func world(on: [Bool], joined: Int?) throws -> WorldState {
        let accessPoints = zip(["repeater", "router"], on).enumerated().map { index, accessPoint in
            """
            {"name":"\(accessPoint.0)","ssid":"Home","bssid":"02:00:00:00:00:0\(index + 1)","frequency":2412,\
            "on":\(accessPoint.1),"signal":-55,"internet":"online","full":false,"admits":true,"joined":\(joined == index)}
            """
        }
        let text = """
            {"scenario":"x","timeMs":0,"x":0,"y":0,"hasAddress":true,"accessPoints":[\(accessPoints.joined(separator: ","))]}
            """
        return try JSONDecoder().decode(WorldState.self, from: Data(text.utf8))
    }
}

/// What a device says by DNS-SD, read by what apps read it with.
@Suite struct ServiceAnnouncementTests {
    private let announcement = ServiceAnnouncement(deviceId: "bench 01", port: 4711)

    @Test func whoAsksForDevicesIsToldAllOfOne() throws {
        let query = DNSMessage(asking: [DNSQuestion(.altnetDevices, .pointer)], id: 77)
        let bytes = try #require(announcement.answer(to: query, isLegacy: true, address: [192, 0, 2, 7]))
        let answer = try DNSMessage(reading: bytes)
        #expect(answer.isResponse && answer.id == 77 && answer.questions == query.questions)
        #expect(answer.answers.count == 1 && answer.records.count == 4)
        #expect(answer.records.allSatisfy { $0.timeToLive <= 10 })
        let data = answer.records.map(\.data)
        #expect(data.contains(.text([Array("v=1".utf8), Array("id=bench 01".utf8)])))
        #expect(data.contains(.ipv4([192, 0, 2, 7])))
        let host = try #require(DNSName("altnet-bench-01.local"))
        #expect(data.contains(.service(host: host, port: 4711)))
    }

    /// A string of a TXT record has at most 255 bytes, so a longer name is cut after a whole character.
    @Test func theNameIsAnnouncedAsFarAsItFits() throws {
        let query = DNSMessage(asking: [DNSQuestion(.altnetDevices, .pointer)], id: 77)
        func lamps(_ count: Int) -> String { String(repeating: "\u{1f4a1}", count: count) }
        for (text, expected) in [("Küche", "Küche"), (lamps(64), lamps(62))] {
            let named = ServiceAnnouncement(deviceId: "bench 01", name: try DeviceName(text), port: 4711)
            let bytes = try #require(named.answer(to: query, isLegacy: true, address: [192, 0, 2, 7]))
            let strings = ["v=1", "id=bench 01", "name=\(expected)"].map { Array($0.utf8) }
            #expect(try DNSMessage(reading: bytes).records.map(\.data).contains(.text(strings)))
        }
    }

    @Test func othersQuestionsAreNotAnswered() throws {
        let other = try #require(DNSName("_http._tcp.local"))
        let query = DNSMessage(asking: [DNSQuestion(other, .pointer)], id: 1)
        #expect(announcement.answer(to: query, isLegacy: true, address: [192, 0, 2, 7]) == nil)
        let response = try DNSMessage(reading: announcement.announcement(address: [192, 0, 2, 7]))
        #expect(announcement.answer(to: response, isLegacy: false, address: [192, 0, 2, 7]) == nil)
    }

    @Test func aDeviceThatEndsTakesItsAnnouncementBack() throws {
        let goodbye = try DNSMessage(reading: announcement.announcement(address: [192, 0, 2, 7], isGoodbye: true))
        #expect(goodbye.records.count == 4 && goodbye.records.allSatisfy { $0.timeToLive == 0 })
    }
}
