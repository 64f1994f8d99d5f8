import AgentModel
import AppClient
import AppProtocol
import FoundationEssentials
import Glibc
import Lab
import Testing

extension Radios {
    /// What comes from the air and from a machine that is not in order.
    @Suite struct BadInputTests {
        @Test(
            arguments: [
                Array(repeating: 0xff, count: 32), [0, 10, 0], Array("\u{1b}]0;owned\u{7}\u{1b}[2J".utf8),
            ] as [[UInt8]])
        func anySSIDIsJoinedAndShownSafely(_ bytes: [UInt8]) async throws {
            try await scenario("SSID \(Hex.string(bytes.prefix(4)))") { lab in
                let home = try await lab.accessPoint(
                    SSID(bytes: bytes), security: .wpa2("home-password"), channel: 6)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                try await lab.pinger(to: home.gateway).reply(within: .seconds(5))
                for arguments in [["status"], ["scan"], ["history"], ["status", "--json"]] {
                    let shown = try await device.commandLine(arguments)
                    #expect(shown.contains(arguments.contains("--json") ? "ssid" : home.ssid.description))
                    #expect(!shown.unicodeScalars.contains { $0.value < 32 && $0 != "\n" || $0 == "\u{7f}" })
                }
            }
        }

        @Test func aMissingInterfaceIsWaitedFor() async throws {
            try await scenario("missing interface") { lab in
                let device = Device(in: lab, settings: ["ALTNET_INTERFACE": "wlan9"])
                try await device.start()
                let client = try await device.client()
                do throws(ClientError) {
                    _ = try await client.startScan()
                    Issue.record("a scan started on an interface that does not exist")
                } catch {
                    #expect(error.code == .interfaceMissing)
                }
                #expect(try await client.network().state == .offline)
                await client.close()
                #expect(await device.isRunning)
            }
        }

        /// The key file has all of its room from the start.
        @Test func aFullDiskStopsNothing() async throws {
            try await scenario("full disk") { lab in
                let home = try await lab.accessPoint("HomeNet", security: .open, channel: 6)
                try await home.powerOn()
                let folder = "\(lab.directory)/flash"
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                try #require(mount("tmpfs", folder, "tmpfs", 0, "size=64k") == 0)
                defer { umount2(folder, Int32(MNT_DETACH)) }
                let device = Device(in: lab, settings: ["ALTNET_STATE_DIR": folder])
                try await lab.station.startDHCPClient()
                try await lab.station.startSupplicant()
                try await device.start()
                try await device.provision(home)
                try fill(folder + "/ballast")

                let network = NewNetwork(ssid: try SSID("BackupNet"), password: nil)
                #expect(try await device.store([network]).networks.count == 1)
                await device.kill()
                try await device.start()
                let client = try await device.client()
                #expect(try await client.backups().networks.map(\.ssid) == [network.ssid])
                await client.close()
            }
        }

        /// Writes until there is no room left.
        private func fill(_ path: String) throws {
            let file = open(path, O_WRONLY | O_CREAT, 0o600)
            defer { close(file) }
            let block = [UInt8](repeating: 0xaa, count: 1024)
            while write(file, block, block.count) > 0 {}
            try #require(errno == ENOSPC)
        }

        @Test func withoutPermissionItSaysWhichIsMissing() async throws {
            try await scenario("no permission") { lab in
                let home = try await lab.accessPoint("HomeNet", security: .open, channel: 6)
                try await home.powerOn()
                try await lab.station.startSupplicant()
                let device = Device(in: lab, runAs: 65534)
                try await device.start()
                let client = try await device.client()
                do throws(ClientError) {
                    _ = try await client.startScan()
                    Issue.record("a scan was started")
                } catch {
                    #expect(error.code == .radioFailed)
                    #expect("\(error)".contains("CAP_NET_ADMIN"))
                }
                #expect(try await client.scanResults().lastScanId == nil, "none has begun, so none ends")
                await client.close()
                #expect(await device.log.contains("CAP_NET_ADMIN"))
                #expect(await device.isRunning)
            }
        }
    }
}
