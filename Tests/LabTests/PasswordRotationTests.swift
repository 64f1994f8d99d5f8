import AgentModel
import AppClient
import AppProtocol
import Lab
import Testing

extension Radios {
    /// A newer password is stored before the router has it: the real hostapd changes to it, and the device goes along.
    @Suite struct PasswordRotationTests {
        private static let newer = "newer-password"

        private func phases(_ device: Device) async throws -> [StagedPasswordStatus.Phase] {
            try await device.ask { client throws(ClientError) in try await client.backups() }.staged.map(\.phase)
        }

        private func stage(_ device: Device, of home: AccessPoint, keepFor: Int? = nil) async throws {
            let list = try await device.ask { client throws(ClientError) in
                try await client.stagePassword(
                    Secret(text: Self.newer), of: home.ssid, changeId: "2026-12", keepFor: keepFor)
            }
            #expect(list.staged.map(\.phase) == [.staged])
        }

        /// With a backup in range, and after a power cut, or with neither.
        @Test(.extended, arguments: [false, true])
        func theDeviceGoesAlongWithItsRouter(hasBackup: Bool) async throws {
            try await scenario("password rotation \(hasBackup ? "with a backup" : "")", accessPoints: 2) { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 6)
                let other = try await lab.accessPoint("BackupNet", security: .wpa2("backup-password"), channel: 11)
                for network in hasBackup ? [home, other] : [home] { try await network.powerOn() }
                try await lab.station.startSupplicant()
                let device = Device(in: lab)
                try await device.start()
                try await device.provision(home)
                try await device.store([other.asStored()])
                try await stage(device, of: home)
                if hasBackup {
                    await device.kill()
                    try await device.start()
                    try await device.online(on: home, within: .seconds(20))
                }
                #expect(try await phases(device) == [.staged])

                let change = ContinuousClock.now
                try await home.changePassword(Self.newer)
                try await eventually(within: .seconds(240), every: .seconds(1), "the newer password to be used") {
                    try await phases(device) == [.committed]
                }
                try await device.online(on: home, within: .seconds(1))
                let place = hasBackup ? ", a backup in range" : ""
                lab.report("restart with the newer password until it is the only one\(place)", .now - change)
                await device.kill()
                try await device.start()
                try await device.online(on: home, within: .seconds(10))
                // The same request changes nothing more.
                let again = try await device.ask { client throws(ClientError) in
                    try await client.stagePassword(Secret(text: Self.newer), of: home.ssid, changeId: "2026-12")
                }
                #expect(again.staged.map(\.phase) == [.committed])
            }
        }

        /// A change that never comes: the device stays where it is, and forgets the newer password.
        @Test(.extended) func aChangeThatNeverComesIsUndone() async throws {
            try await scenario("password rotation undone", accessPoints: 1) { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 6)
                try await home.powerOn()
                try await lab.station.startSupplicant()
                let device = Device(in: lab)
                try await device.start()
                try await device.provision(home)
                try await stage(device, of: home, keepFor: 60)
                let mark = device.decisions.count
                try await eventually(within: .seconds(80), every: .seconds(1), "the newer password to be given up") {
                    try await phases(device) == [.expired]
                }
                #expect(device.way(since: mark).isEmpty && device.status?.state == .online)
            }
        }
    }
}
