import AppProtocol
import FoundationEssentials
import Lab
import Testing

extension Radios {
    /// A phone that stays in one network, a device that it moves to another, and the broker that both reach.
    @Suite(.extended) struct AppElsewhereTests {
        // covers: seed/switch-by-hash, seed/user-app-developer
        @Test func aSwitchToWhereThePhoneIsNotIsFollowedThroughTheBroker() async throws {
            try await scenario("an app elsewhere", accessPoints: 2) { lab in
                let upstream = try await lab.upstream()
                let house = try await House(lab, upstream: upstream)
                let place = try #require(await lab.station.address)
                let bridge = try await lab.start(
                    Device.program("altnet-mqtt", beside: Device.binary),
                    environment: [
                        "ALTNET_SOCKET": house.device.socket, "ALTNET_MQTT_SECRETS": lab.directory,
                        "ALTNET_MQTT_BROKER": "mqtt://\(upstream.broker.address)", "ALTNET_MQTT_SPREAD_S": "1",
                        "ALTNET_MQTT_RETRY_S": "2",
                    ], log: "bridge")
                defer { bridge.kill() }
                try await house.device.store([await house.home.asStored(), await house.backup.asStored()])
                let mark = house.mark
                let phone = try await PhoneElsewhere(house, at: "\(place)", upstream)

                #expect(try await phone.altnet("switch", "\(house.backup.ssid)").contains("Connected to"))
                try await house.expectTraffic(through: house.backup)
                house.expectWay([house.backup], since: mark)

                // The device is still elsewhere, and the phone brings it back.
                #expect(try await phone.altnet("status").contains("\(house.backup.ssid)"))
                #expect(try await phone.altnet("switch", "\(house.home.ssid)").contains("Connected to"))
                house.expectWay([house.backup, house.home], since: mark)
            }
        }
    }
}

/// The command line on a phone in the home network, with the device's first address there and the broker's.
private struct PhoneElsewhere {
    private let house: House
    private let options: [String]

    init(_ house: House, at place: String, _ upstream: Upstream) async throws {
        self.house = house
        let keyFile = house.lab.directory + "/phone.key"
        let code = PairingCode(try await house.device.key).uri() + "\n"
        try Data(code.utf8).write(to: URL(filePath: keyFile))
        options = [
            "--device", place, "--broker", "mqtt://\(upstream.broker.address)", "--broker-secrets",
            house.lab.directory, "--key-file", keyFile,
        ]
    }

    /// Runs a command to its end, and returns what it has printed.
    func altnet(_ arguments: String...) async throws -> String {
        let folder = Device.program("", beside: Device.binary)
        // `env` sets the path of altnet-mqtt.
        let program = try await house.home.start(
            "env", ["PATH=\(folder):/usr/bin:/bin", "NO_COLOR=1", Device.binary] + arguments + options,
            log: "phone-" + arguments.joined(separator: "-"))
        try await eventually(within: .seconds(150), "altnet \(arguments.joined(separator: " ")) to end") {
            !program.isRunning
        }
        return try String(contentsOfFile: program.log, encoding: .utf8)
    }
}
