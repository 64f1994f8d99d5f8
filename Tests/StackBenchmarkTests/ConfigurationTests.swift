import AgentModel
import Testing

@testable import Lab

/// What each stack is told of the two networks.
@Suite struct ConfigurationTests {
    private let networks: [KnownNetwork]

    init() throws {
        networks = [
            KnownNetwork(try SSID("HomeNet"), security: .wpa2("home-password"), priority: 10),
            KnownNetwork(try SSID("BackupNet"), security: .wpa2("backup-password"), priority: 0),
        ]
    }

    @Test func iwd() {
        #expect(IwdStack.networkFile(networks[0]) == "[Security]\nPassphrase=home-password\n")
        #expect(IwdStack.mainFile.contains("EnableNetworkConfiguration=true\n"))
    }

    @Test func networkManager() {
        let file = NetworkManagerStack.connectionFile(networks[0], number: 1)
        #expect(file.hasPrefix("[connection]\nid=HomeNet\nuuid=00000000-0000-4000-8000-000000000001\ntype=wifi\n"))
        #expect(file.contains("\nautoconnect-priority=10\n"))
        #expect(file.contains("\n[wifi]\nssid=HomeNet\n"))
        #expect(file.contains("\nkey-mgmt=wpa-psk\npsk=home-password\n"))
    }

    @Test func connMan() throws {
        #expect(
            ConnManStack.provisioningFile(networks) == """
                [service_1]
                Type=wifi
                Name=HomeNet
                Passphrase=home-password

                [service_2]
                Type=wifi
                Name=BackupNet
                Passphrase=backup-password


                """)
        let address = try #require(BSSID("02:00:00:00:00:00"))
        #expect(
            ConnManStack.service(networks[1].ssid, at: address)
                == "wifi_020000000000_4261636b75704e6574_managed_psk")
    }

    @Test func altnetIsAskedToValidateOnlyWhereThereIsAnInternet() {
        #expect(AltnetStack.settings(withInternet: false).isEmpty)
        #expect(AltnetStack.settings(withInternet: true)["ALTNET_VALIDATION_URL"] == Upstream.validationURL)
    }

    @Test func everyStackIsAHeading() {
        #expect(Set(StackName.allCases.map(\.title)).count == StackName.allCases.count)
    }
}
