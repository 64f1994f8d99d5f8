import AgentModel
import AppProtocol
import AppServer
import Failover
import Testing

@testable import Agent

@Suite struct AgentSettingsTests {
    @Test func everythingHasADefault() throws {
        let settings = try AgentSettings(environment: ["PATH": "/bin"])
        #expect(settings.interface == "wlan0")
        #expect(settings.controlSocket == "/run/wpa_supplicant/wlan0")
        #expect(settings.keyFilePath == "/var/lib/altnet/keyfile")
        #expect(settings.rootKeyPath == nil)
        #expect(settings.keyFileAnchorPath == nil)
        #expect(settings.credentialsDirectory == nil)
        #expect(settings.maximumBackups == 3)
        #expect(settings.unixListener == UnixListenerSettings(path: "/run/altnet/altnet.sock", mode: 0o660))
        #expect(settings.lanPort == 25_863)
        #expect(settings.serverLimits.lan.connections == 32)
        var policy = PolicySettings()
        policy.validation = PolicySettings.Validation()
        #expect(settings.policy == policy)
        #expect(settings.recordPath == nil)
        #expect(settings.recordLimit == 16 * 1024 * 1024)
    }

    @Test func readsWhatIsSet() throws {
        let settings = try AgentSettings(environment: [
            "ALTNET_INTERFACE": "wlp2s0", "ALTNET_MAX_BACKUPS": "10", "ALTNET_WEAK_2G_DBM": "-72",
            "ALTNET_LOG_LEVEL": "debug",
        ])
        #expect(settings.controlSocket == "/run/wpa_supplicant/wlp2s0")
        #expect(settings.maximumBackups == 10)
        #expect(settings.policy.twoPointFour.weak == -72)
        #expect(settings.logLevel == .debug)
    }

    @Test func readsWhatThePolicyIsToDo() throws {
        let settings = try AgentSettings(environment: [
            "ALTNET_RETURN_CONFIRM_S": "7200", "ALTNET_SCAN_SHARE": "20",
            "ALTNET_RECORD": "/data/record", "ALTNET_RECORD_MB": "2",
        ])
        #expect(settings.policy.returnsToPreferred)
        #expect(settings.policy.preferredConfirmation == .seconds(7200))
        #expect(settings.policy.scanShare == 20)
        #expect(settings.recordPath == "/data/record")
        #expect(settings.recordLimit == 2 * 1024 * 1024)
    }

    @Test func readsWhoMayTalkToIt() throws {
        let settings = try AgentSettings(environment: [
            "ALTNET_SOCKET": "/run/a.sock", "ALTNET_SOCKET_MODE": "0600", "ALTNET_SOCKET_GROUP": "root",
            "ALTNET_SOCKET_READERS": "4711", "ALTNET_LAN_PORT": "4000", "ALTNET_LAN_CONNECTIONS": "7",
        ])
        #expect(
            settings.unixListener == UnixListenerSettings(path: "/run/a.sock", mode: 0o600, group: 0, readers: 4711))
        let key = try DeviceKey(deviceId: "device", localKey: Secret(text: "0123456789abcdef"))
        let (device, keys) = (DeviceIdentity(key: key, certificate: try .random()), OwnerKey(key.localKey))
        #expect(settings.lanListener(for: device, keys)?.port == 4000)
        #expect(settings.lanListener(for: device, keys)?.credentials.certificate.fingerprint == device.key.certificate)
        #expect(settings.lanListener(for: device, keys)?.credentials.acceptsPreSharedKey == false)
        #expect(settings.lanListener(for: DeviceIdentity(key: key), keys) == nil)
        #expect(settings.serverLimits.lan.connections == 7)
        #expect(try AgentSettings(environment: ["ALTNET_LAN_PORT": "0"]).lanListener(for: device, keys) == nil)
        let former = try AgentSettings(environment: ["ALTNET_PRE_SHARED_KEY": "yes"])
        #expect(former.lanListener(for: device, keys)?.credentials.acceptsPreSharedKey == true)
    }

    @Test func withoutConfirmationTheDeviceDoesNotReturn() throws {
        let settings = try AgentSettings(environment: ["ALTNET_RETURN_CONFIRM_S": "0"])
        var expected = PolicySettings()
        expected.returnsToPreferred = false
        expected.validation = PolicySettings.Validation()
        #expect(settings.policy == expected)
    }

    @Test func theKeyFileAndItsKeyCanBeElsewhere() throws {
        let moved = try AgentSettings(environment: ["ALTNET_STATE_DIR": "/data/altnet"])
        #expect(moved.keyFilePath == "/data/altnet/keyfile")
        let settings = try AgentSettings(environment: [
            "ALTNET_KEYFILE": "/dev/mtd3", "ALTNET_ROOT_KEY": "/etc/altnet/root-key",
            "ALTNET_KEYFILE_ANCHOR": "/boot/anchor", "CREDENTIALS_DIRECTORY": "/run/credentials/altnet.service",
        ])
        #expect(settings.keyFilePath == "/dev/mtd3")
        #expect(settings.rootKeyPath == "/etc/altnet/root-key")
        #expect(settings.keyFileAnchorPath == "/boot/anchor")
        #expect(settings.credentialsDirectory == "/run/credentials/altnet.service")
        #expect(settings.stateDirectory == "/var/lib/altnet")
    }

    @Test(arguments: [
        ("ALTNET_MAX_BACKUPS", "0", "1 to 10"), ("ALTNET_MAX_BACKUPS", "11", "1 to 10"),
        ("ALTNET_MAX_BACKUPS", "three", "1 to 10"), ("ALTNET_MARGIN_DB", "0", "1 to 40"),
        ("ALTNET_WEAK_2G_DBM", "-90", "above ALTNET_CRITICAL_2G_DBM"),
        ("ALTNET_FLOOR_5G_DBM", "-50", "and ALTNET_FLOOR_5G_DBM"), ("ALTNET_SCAN_SHARE", "0", "1 to 50"),
        ("ALTNET_RETURN_CONFIRM_S", "-1", "0 to 86400"), ("ALTNET_RECORD", "record", "begins with /"),
        ("ALTNET_RECORD_MB", "0", "1 to 1024"),
        ("ALTNET_WEAK_2G_DBM", "70", "-110 to -20"),
        ("ALTNET_STATE_DIR", "var/lib", "begins with /"),
        ("ALTNET_KEYFILE", "keyfile", "begins with /"), ("ALTNET_ROOT_KEY", "", "/var/lib/altnet/root-key"),
        ("ALTNET_KEYFILE_ANCHOR", "anchor", "begins with /"),
        ("ALTNET_INTERFACE", "../etc", "network interface"),
        ("ALTNET_INTERFACE", "", "network interface"),
        ("ALTNET_LOG_LEVEL", "loud", "trace, debug"), ("ALTNET_INTERFCE", "wlan0", "ALTNET_INTERFACE"),
        ("ALTNET_LAN_PORT", "65536", "0 to 65535"), ("ALTNET_LAN_CONNECTIONS", "0", "1 to 1024"),
        ("ALTNET_SOCKET_MODE", "0999", "0660"), ("ALTNET_SOCKET_MODE", "1777", "0660"),
        ("ALTNET_SOCKET_GROUP", "no-such-group", "group"),
        ("ALTNET_SOCKET_READERS", "-1", "group"), ("ALTNET_COUNTRY", "XX", "ISO 3166"),
        ("ALTNET_COUNTRY", "de", "ISO 3166"), ("ALTNET_INTERFACE", "sixteen-letters-", "1 to 15"),
        ("ALTNET_POWER_SAVE_NETWORKS", "Garden", "Garden=on"),
        ("ALTNET_POWER_SAVE_NETWORKS", "Garden=driver", "=traffic"),
        ("ALTNET_INTERFACE", "wl an0", "1 to 15"), ("ALTNET_INTERFACE", "..", "1 to 15"),
    ])
    func refusesAndSaysWhatIsAllowed(name: String, value: String, allowed: String) throws {
        let error = #expect(throws: InvalidSettings.self) { try AgentSettings(environment: [name: value]) }
        let problem = try #require(error?.problems.first)
        #expect(error?.problems.count == 1)
        #expect(problem.name == name || name == "ALTNET_FLOOR_5G_DBM")
        #expect(problem.origin == .environment)
        #expect(problem.description.contains(allowed), "\(problem)")
    }
}
