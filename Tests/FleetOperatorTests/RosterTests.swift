import AgentModel
import AppProtocol
import FleetOperator
import Testing

@testable import MQTTBridge

/// What is read of the messages that a broker keeps, and of the files of a fleet's owner.
@Suite struct RosterTests {
    private static let time = Timestamp(millisecondsSince1970: 1_770_091_506_000)

    private func status(_ change: (inout NetworkStatus) -> Void = { _ in }, outages: Int = 0) throws -> StatusMessage {
        var network = NetworkStatus(
            state: .online, uplink: .wifi, flags: [], ssid: try SSID("Home"), signal: -50,
            since: Timestamp(millisecondsSince1970: 0))
        change(&network)
        return StatusMessage(
            told: Self.time, deviceId: "pump-1", firmware: .init(installed: "1", latest: "1"), selected: "Home",
            network: network, outages: .init(today: outages, secondsToday: 0), lost: 0)
    }

    private func network(_ name: String, seen: Int64? = nil, failure: JoinFailure? = nil) throws -> BackupNetwork {
        let ssid = try SSID(name)
        return BackupNetwork(
            ssid: ssid,
            hash: NetworkHash(
                localKey: Secret(text: "0123456789abcdef"), ssid: ssid, password: Secret(text: "correct horse")),
            security: .wpa2, isHidden: false,
            lastSeen: seen.map { Timestamp(millisecondsSince1970: Self.time.millisecondsSince1970 - $0 * 1000) },
            lastFailure: failure)
    }

    private func device(_ status: StatusMessage, _ networks: [BackupNetwork]) throws -> DeviceEntry {
        var roster = Roster(prefix: "altnet")
        func hear(_ topic: String, _ payload: [UInt8]) {
            roster.record(IncomingMessage(topic: "altnet/pump-1/" + topic, payload: payload, isRetained: true))
        }
        hear("availability", Array("online".utf8))
        hear("status", try OutsideJSON.encode(status))
        hear(
            "backups",
            try OutsideJSON.encode(BackupList(max: 3, revision: 1, networks: networks, home: try network("Home"))))
        return try #require(roster.devices["pump-1"])
    }

    @Test func aDeviceOnItsOnlyNetworkIsAtRisk() throws {
        #expect(try device(status(), []).risks == [.oneNetwork])
        #expect(try device(status(), [network("Attic")]).risks == [.oneNetwork])
        #expect(try device(status(), [network("Attic", seen: 90_000)]).risks == [.oneNetwork])
        #expect(try device(status(), [network("Attic", seen: 60, failure: .wrongKey)]).risks == [.oneNetwork])
        #expect(try device(status(), [network("Attic", seen: 60)]).risks == [])
    }

    @Test func whatEndangersADeviceIsTold() throws {
        let attic = [try network("Attic", seen: 60)]
        #expect(try device(status { $0.signal = -76 }, attic).risks == [.weakSignal])
        #expect(try device(status { $0.radio = RadioStatus(fault: "mute", since: Self.time) }, attic).risks == [.radio])
        #expect(try device(status(outages: 3), attic).risks == [.outages])
        let dead = try device(
            status {
                $0.connectivity = Connectivity(
                    level: .link, required: .internet, problem: .nameServerSilent, checked: Self.time)
            }, attic)
        #expect(dead.risks == [.notConnected] && dead.reason == "nameServerSilent")
    }

    @Test func filtersTakeWhatTheySay() throws {
        let device = try device(status { $0.signal = -80 }, [])
        func takes(_ filter: DeviceFilter, after seconds: Int64 = 0) -> Bool {
            filter.matches(
                device, at: Timestamp(millisecondsSince1970: Self.time.millisecondsSince1970 + seconds * 1000))
        }
        #expect(device.lastSeen == Self.time)
        #expect(!takes(DeviceFilter(unseenFor: .seconds(3600)), after: 3599))
        #expect(takes(DeviceFilter(unseenFor: .seconds(3600)), after: 3600))
        #expect(takes(DeviceFilter(risks: [.weakSignal])) && !takes(DeviceFilter(risks: [.radio])))
        #expect(takes(DeviceFilter()) && !takes(DeviceFilter(reason: "linkLost")))
    }

    @Test func emptyMessagesTakeADeviceBack() throws {
        var roster = Roster(prefix: "a/b")
        roster.record(IncomingMessage(topic: "a/b/%2bx/availability", payload: Array("offline".utf8)))
        #expect(roster.devices["+x"]?.isOnline == false)
        roster.record(IncomingMessage(topic: "a/b/%2bx/availability", payload: []))
        #expect(roster.devices["+x"]?.isOnline == nil)
    }

    // MARK: Files

    @Test func aChangeIsReadFromItsFile() throws {
        let change = try FleetChange(
            file: Array(
                #"{"changeId":"c","ssid":"HomeNet","password":"correct horse 2","keepFor":600,"confirmWithin":60,"devices":["a"]}"#
                    .utf8))
        #expect(change.confirmWithin == 60 && change.devices == ["a"] && change.staging.keepFor == 600)
        for wrong in [
            "{}", #"{"changeId":"c","ssid":"HomeNet"}"#,
            #"{"changeId":"","ssid":"HomeNet","password":"correct horse 2"}"#,
            #"{"changeId":"c","ssid":"HomeNet","password":"correct horse 2","confirmWithin":1}"#, "nonsense",
        ] {
            #expect(throws: ProtocolError.self) { try FleetChange(file: Array(wrong.utf8)) }
        }
    }

    @Test func keysAreReadLineByLine() throws {
        let key = "0123456789abcdef0123456789abcdef"
        let text = "# the pumps\n\npump-1 \(key)\r\naltnet://pair?v=1&id=pump-2&key=\(key)\n"
        let keys = try DeviceKeyLines.read(Array(text.utf8))
        #expect(Set(keys.keys) == ["pump-1", "pump-2"])
        #expect(keys["pump-1"]?.localKey == Secret(text: key))
        for (wrong, line) in [("pump-1", 1), ("\npump-1 short", 2), ("a \(key)\na \(key)", 2), ("altnet:x", 1)] {
            let fault = #expect(throws: DeviceKeyLines.Fault.self) { try DeviceKeyLines.read(Array(wrong.utf8)) }
            #expect(fault?.line == line && fault?.description.contains("short") != true)
        }
    }
}
