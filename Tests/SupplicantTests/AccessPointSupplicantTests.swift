import AgentModel
import Linux
import Testing

@testable import Supplicant

/// wpa_supplicant as the setup access point.
@Suite(.timeLimit(.minutes(10))) struct AccessPointSupplicantTests {
    private static func configuration(offersWPA3: Bool = true) throws -> AccessPointSupplicant.Configuration {
        AccessPointSupplicant.Configuration(
            ssid: try SSID("altnet-7d65"), passphrase: Secret(text: "abcd-efgh-jkmn"),
            psk: Secret([UInt8](repeating: 7, count: 32)), frequency: Frequency(megahertz: 2437), offersWPA3: offersWPA3
        )
    }

    /// What it tells, in order.
    @AgentLoop
    private final class Log {
        private(set) var events: [AccessPointSupplicant.Event] = []
        private var waiter: CheckedContinuation<Void, Never>?

        func add(_ event: AccessPointSupplicant.Event) {
            events.append(event)
            waiter?.resume()
            waiter = nil
        }

        func wait(for count: Int) async {
            while events.count < count { await withCheckedContinuation { waiter = $0 } }
        }
    }

    // covers: seed/no-open-setup-ap
    @Test @AgentLoop func itIsOpenedAndItsDevicesAreCounted() async throws {
        let directory = ScratchDirectory()
        let fake = FakeSupplicant(path: directory.path + "/altnet0")
        fake.send(["AP-ENABLED "], after: "SELECT_NETWORK")
        let log = Log()
        let point = AccessPointSupplicant(
            controlSocket: fake.path, replyDirectory: directory.path, try Self.configuration(), within: .seconds(50)
        ) { log.add($0) }
        await log.wait(for: 1)
        let network = try #require(fake.network(0))
        #expect(network["mode"] == "2" && network["frequency"] == "2437" && network["key_mgmt"] == "WPA-PSK SAE")
        #expect(network["ssid"] == "616c746e65742d37643635" && network["wps_disabled"] == "1")
        fake.send("AP-STA-CONNECTED 02:00:00:00:07:00", "AP-STA-CONNECTED 02:00:00:00:08:00 keyid=1")
        await log.wait(for: 3)
        // Told twice, or of one that was never there.
        fake.send(
            "AP-STA-CONNECTED 02:00:00:00:08:00", "AP-STA-DISCONNECTED 02:00:00:00:09:00",
            "AP-STA-DISCONNECTED 02:00:00:00:07:00")
        await log.wait(for: 4)
        #expect(log.events == [.opened, .stations(1), .stations(2), .stations(1)])
        await point.close()
        #expect(fake.asked.suffix(2) == ["DISCONNECT", "REMOVE_NETWORK all"])
        #expect(log.events.count == 4)
    }

    @Test @AgentLoop func aDriverThatRefusesIsTold() async throws {
        let directory = ScratchDirectory()
        let fake = FakeSupplicant(path: directory.path + "/altnet0")
        fake.send(["Failed to start AP functionality"], after: "SELECT_NETWORK")
        let log = Log()
        let point = AccessPointSupplicant(
            controlSocket: fake.path, replyDirectory: directory.path, try Self.configuration(), within: .seconds(50)
        ) { log.add($0) }
        await log.wait(for: 1)
        #expect(log.events == [.ended("wpa_supplicant: Failed to start AP functionality")])
        await point.close()
    }

    @Test @AgentLoop func withoutWpaSupplicantItEndsInTime() async throws {
        let directory = ScratchDirectory()
        let log = Log()
        let point = AccessPointSupplicant(
            controlSocket: directory.path + "/altnet0", replyDirectory: directory.path, try Self.configuration(),
            within: .milliseconds(20)
        ) { log.add($0) }
        await log.wait(for: 1)
        guard log.events.count == 1, case .ended(let reason) = log.events[0] else {
            Issue.record("\(log.events)")
            return
        }
        #expect(reason.contains("not run"))
        await point.close()
    }

    @Test func firmwareThatDoesTheWorkIsNotAskedForSAE() throws {
        let settings = try Self.configuration(offersWPA3: false).settings
        #expect(settings.contains { $0.name == "key_mgmt" && $0.value == .plain("WPA-PSK") })
        #expect(!settings.contains { $0.name == "sae_password" })
        #expect(settings.contains { $0.name == "ieee80211w" && $0.value == .plain("0") })
    }

    @Test func linesOfDevicesAreRead() {
        let station = HardwareAddress(bytes: [2, 0, 0, 0, 7, 0])
        #expect(ControlEvent("AP-STA-CONNECTED 02:00:00:00:07:00") == station.map { .stationJoined($0) })
        #expect(ControlEvent("AP-STA-DISCONNECTED 02:00:00:00:07:00") == station.map { .stationLeft($0) })
        #expect(ControlEvent("AP-STA-CONNECTED") == .other && ControlEvent("AP-STA-CONNECTED x") == .other)
        #expect(ControlEvent("AP-ENABLED ") == .accessPointEnabled)
        #expect(ControlEvent("AP-DISABLED ") == .accessPointDisabled)
    }
}
