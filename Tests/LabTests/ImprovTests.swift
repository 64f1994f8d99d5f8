import AppClient
import FoundationEssentials
import Glibc
import Lab
import Testing

private enum ImprovPhone {
    static let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    /// Where `board/lab/install` puts bumble.
    static let packages = root + "/.lab/bumble"

    static var obstacle: String? {
        if access(packages + "/bumble", F_OK) != 0 { return "\(packages) is missing: the phone is bumble's" }
        return Bluetooth.obstacle
    }
}

extension Radios {
    /// Improv with the real BlueZ, against a phone on a second controller.
    @Suite(.disabled(if: ImprovPhone.obstacle != nil, Comment(rawValue: ImprovPhone.obstacle ?? "")))
    struct ImprovTests {
        /// A new device, a phone, a wrong password first: told, and then online.
        @Test(.extended) func aPhoneGivesTheFirstNetwork() async throws {
            try await scenario("improv over Bluetooth") { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1)
                try await home.powerOn()
                let device = Device(in: lab)
                try await lab.station.startSupplicant()
                try await device.start()
                let bluetooth = try await lab.bluetooth()
                defer { bluetooth.end() }
                // The time of the start is long enough for a phone that is emulated.
                let improv = try await lab.start(
                    Device.binary, ["improv", "ble"],
                    environment: [
                        "ALTNET_SOCKET": device.socket, "DBUS_SYSTEM_BUS_ADDRESS": bluetooth.bus,
                        "ALTNET_IMPROV_S": "600", "ALTNET_IMPROV_PAGE": "http://{address}/",
                        "ALTNET_IMPROV_IDENTIFY": "/bin/true",
                    ], log: "improv")
                // bluetoothd is started anew: the service is registered anew.
                func registrations() throws -> Int {
                    try String(contentsOfFile: improv.log, encoding: .utf8).split(
                        separator: "offering the Improv service"
                    )
                    .count - 1
                }
                try await eventually(within: .seconds(30), "the service") { try registrations() == 1 }
                try bluetooth.restart()
                try await eventually(within: .seconds(60), "the service again") { try registrations() == 2 }
                let phone = try await lab.start(
                    "/usr/bin/python3",
                    [ImprovPhone.root + "/Tests/Servers/improv-phone", "HomeNet", "home-password", "wrong-password"],
                    environment: ["PYTHONPATH": ImprovPhone.packages], log: "phone")
                try await eventually(within: .seconds(320), "the phone to end") { !phone.isRunning }
                let said = try String(contentsOfFile: phone.log, encoding: .utf8)
                let told = try String(contentsOfFile: improv.log, encoding: .utf8)
                #expect(phone.exitStatus == 0, "\(said)\n\(told)")
                // The reason of the failed attempt is in the log, and in the device's history.
                #expect(told.contains("HomeNet: wrongKey"), "\(told)")
                try await device.online(on: home, within: .seconds(5))
                #expect(
                    try await device.ask { client throws(ClientError) in try await client.backups() }.home?.ssid
                        == home.ssid)
                try await lab.pinger().reply(within: .seconds(5))
                for line in said.split(separator: "\n") where line.contains("provisioned in") { print(line) }
                await improv.terminate()
            }
        }
    }
}
