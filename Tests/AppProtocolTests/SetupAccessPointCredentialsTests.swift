import AgentModel
import Testing

@testable import AppProtocol

/// Name and password of the setup access point.
@Suite struct SetupAccessPointCredentialsTests {
    private static func key(_ id: String = "9f86d081884c7d65", name: KeyName = .owner) throws -> DeviceKey {
        try DeviceKey(deviceId: id, localKey: Secret(text: "0123456789abcdef0123456789abcdef"), name: name)
    }

    private static func password(_ point: SetupAccessPointCredentials) -> String {
        point.password.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    // covers: seed/no-open-setup-ap
    @Test func bothFollowFromTheLabel() throws {
        let point = try #require(SetupAccessPointCredentials(of: try Self.key()))
        #expect(point.ssid.description == "altnet-7d65")
        let password = Self.password(point)
        #expect(password.count == 14 && password.split(separator: "-").map(\.count) == [4, 4, 4])
        #expect(!password.contains { "lo01".contains($0) })
        #expect(point == SetupAccessPointCredentials(of: try Self.key()))
        #expect(point.code() == "WIFI:T:WPA;S:altnet-7d65;P:\(password);;")
        #expect(throws: Never.self) { try Passphrase.validate(point.password) }
        // It is not shown by accident.
        #expect(!"\(point)".contains(password))
    }

    @Test func everyDeviceHasItsOwn() throws {
        let one = try #require(SetupAccessPointCredentials(of: try Self.key()))
        let other = try #require(
            SetupAccessPointCredentials(
                of: try DeviceKey(deviceId: "9f86d081884c7d65", localKey: Secret(text: "0123456789abcdeF"))))
        #expect(Self.password(one) != Self.password(other))
    }

    @Test func aNameThatIsSetIsWrittenForCameras() throws {
        let point = try #require(SetupAccessPointCredentials(of: try Self.key(), named: try SSID("Lamp; \"A:B\"")))
        #expect(point.code().hasPrefix(#"WIFI:T:WPA;S:Lamp\; \"A\:B\";P:"#))
        let read = try NetworkCode(reading: Array(point.code().utf8))
        #expect(read.network.ssid == point.ssid)
    }

    @Test func theKeyOfAnAppLeadsNowhere() throws {
        #expect(SetupAccessPointCredentials(of: try Self.key(name: try #require(KeyName("Anna")))) == nil)
    }

    @Test func aShortIdIsTakenWhole() throws {
        #expect(SetupAccessPointCredentials(of: try Self.key("7"))?.ssid.description == "altnet-7")
    }
}
