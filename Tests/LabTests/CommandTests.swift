import AgentModel
import AppClient
import AppProtocol
import FoundationEssentials
import Glibc
import Lab
import Testing

extension Radios {
    /// The app commands, and the device does it or says why not.
    @Suite struct CommandTests {
        // covers: seed/backup-model, seed/switch-by-hash
        @Test(.extended) func switchByHash() async throws {
            try await scenario("switch by hash", accessPoints: 2) { lab in
                let house = try await House(lab)
                let mark = house.mark
                let start = ContinuousClock.now
                let accepted = try await house.device.switchNetwork(toStored: house.backup.ssid)
                #expect(accepted.phase == .accepted)
                let outcome = try await house.device.outcome(of: accepted, within: .seconds(20))
                #expect(outcome.phase == .committed)
                try await house.expectTraffic(through: house.backup)
                lab.report("altnet: longest gap of a commanded switch", house.pinger.longestGap(since: start))
                house.expectWay([house.backup], since: mark)
            }
        }

        // covers: seed/switch-by-hash, seed/already-associated
        @Test(.extended) func refusedSwitchesChangeNothing() async throws {
            try await scenario("refused switches", accessPoints: 2) { lab in
                let house = try await House(lab)
                let mark = house.mark
                let client = try await house.device.client()
                let unknown = NetworkHash(
                    localKey: Secret(text: "another device's key"), ssid: house.backup.ssid, password: Secret(text: "x")
                )
                await #expect(throws: ClientError.self) { try await client.switchNetwork(to: .stored(unknown)) }
                do throws(ClientError) { _ = try await client.switchNetwork(to: .stored(unknown)) } catch {
                    #expect(error.code == .unknownNetwork)
                }
                let current = try #require(try await client.network().hash)
                do throws(ClientError) {
                    _ = try await client.switchNetwork(to: .stored(current))
                    Issue.record("a switch to the network it is on was accepted")
                } catch {
                    #expect(error.code == .alreadyAssociated)
                }
                let four = try ["A", "B", "C", "D"].map { NewNetwork(ssid: try SSID($0), password: nil) }
                do throws(ClientError) {
                    _ = try await client.updateBackups(four.map { .new($0) })
                    Issue.record("four backups were accepted")
                } catch {
                    #expect(error.code == .tooManyNetworks)
                }
                #expect(try await client.backups().networks.map(\.ssid) == [house.backup.ssid])
                await client.close()
                try await house.expectTraffic(through: house.home)
                #expect(house.device.decisions.count == mark)
            }
        }

        // covers: seed/switch-scans-first
        @Test(.extended) func outOfRangeEndsWhereItWas() async throws {
            try await scenario("switch out of range", accessPoints: 2) { lab in
                let house = try await House(lab)
                try await house.backup.powerOff()
                let mark = house.mark
                let accepted = try await house.device.switchNetwork(toStored: house.backup.ssid)
                let outcome = try await house.device.outcome(of: accepted, within: .seconds(40))
                #expect(outcome.phase == .rolledBack)
                #expect(outcome.reason?.rawValue == "notFound")
                #expect(house.device.way(since: mark) == [], "it never left")
                try await house.expectTraffic(through: house.home)
            }
        }

        // covers: seed/switch-rolls-back
        @Test func aWrongPasswordEndsWhereItWas() async throws {
            try await scenario("switch with a wrong password", accessPoints: 2) { lab in
                let house = try await House(lab, backupPassword: "not-the-password")
                let mark = house.mark
                let accepted = try await house.device.switchNetwork(toStored: house.backup.ssid)
                let outcome = try await house.device.outcome(of: accepted, within: .seconds(60))
                #expect(outcome.phase == .rolledBack)
                #expect(outcome.reason?.rawValue == "wrongKey")
                try await house.expectTraffic(through: house.home)
                house.expectWay([house.backup, house.backup, house.home], since: mark)
            }
        }

        // covers: seed/roll-back
        @Test func aSwitchThatIsNotConfirmedIsUndone() async throws {
            try await scenario("switch without confirmation", accessPoints: 2) { lab in
                let house = try await House(lab)
                let mark = house.mark
                let lost = try await house.device.switchNetwork(toStored: house.backup.ssid, confirmWithin: 5)
                try await house.device.phase(.waitingForConfirmation, of: lost, within: .seconds(30))
                try await house.expectTraffic(through: house.backup)
                let outcome = try await house.device.outcome(of: lost, within: .seconds(40))
                #expect(outcome.phase == .rolledBack)
                #expect(outcome.reason?.rawValue == "unconfirmed")
                try await house.expectTraffic(through: house.home)
                house.expectWay([house.backup, house.home], since: mark)
                await #expect(throws: ClientError.self) { try await house.device.confirm(lost) }

                let kept = try await house.device.switchNetwork(toStored: house.backup.ssid, confirmWithin: 60)
                try await house.device.phase(.waitingForConfirmation, of: kept, within: .seconds(30))
                #expect(try await house.device.confirm(kept).phase == .committed)
                #expect(try await house.device.confirm(kept).phase == .committed, "the answer may have been lost")

                // It is the network that the device belongs in now, also after a power cut.
                await house.device.kill()
                await lab.station.killSupplicant()
                try await lab.station.startSupplicant()
                try await house.device.start()
                try await house.device.online(on: house.backup, within: .seconds(30))
            }
        }

        /// The power goes while the app has not yet confirmed: the device is back where it came from.
        // covers: seed/roll-back
        @Test(.extended) func aRestartBeforeTheConfirmationUndoesTheSwitch() async throws {
            try await scenario("restart before the confirmation", accessPoints: 2) { lab in
                let house = try await House(lab)
                let accepted = try await house.device.switchNetwork(toStored: house.backup.ssid, confirmWithin: 300)
                try await house.device.phase(.waitingForConfirmation, of: accepted, within: .seconds(30))
                await house.device.kill()
                try await house.device.start()
                try await house.device.phase(.rolledBack, of: accepted, within: .seconds(40))
                try await house.device.online(on: house.home, within: .seconds(5))
                try await house.expectTraffic(through: house.home)
                let client = try await house.device.client()
                let status = try await client.switchStatus(accepted.switchId)
                #expect(status.reason?.rawValue == "interrupted")
                await client.close()
            }
        }

        // covers: seed/switch-by-name
        @Test func switchWithSSIDAndPassword() async throws {
            try await scenario("switch to a network that is not stored", accessPoints: 3) { lab in
                let house = try await House(lab)
                let guest = try await lab.accessPoint("Guest\u{1b}[31m", security: .wpa2("guest-password"), channel: 11)
                try await guest.powerOn()
                let outcome = try await house.device.outcome(
                    of: house.device.switchNetwork(to: guest), within: .seconds(30))
                #expect(outcome.phase == .committed)
                try await house.expectTraffic(through: guest)

                // It is kept, and no backup was lost for it.
                await house.device.kill()
                try await house.device.start()
                try await house.device.online(on: guest, within: .seconds(10))
                let client = try await house.device.client()
                #expect(try await client.backups().networks.map(\.ssid) == [house.backup.ssid])
                #expect(try await client.network().hash != nil)
                await client.close()
            }
        }

        @Test(.extended) func scanSeesWhatIsInRange() async throws {
            try await scenario("scan", accessPoints: 2) { lab in
                let house = try await House(
                    lab, backup: .wpa3("backup-password"), backupSignal: -63,
                    homeSettings: ["bss_load_update_period=50"])
                let client = try await house.device.client()
                let started = try await client.startScan()
                try await eventually(within: .seconds(20), "the scan to end") {
                    try await client.scanResults().lastScanId == started.scanId
                }
                let networks = try await client.scanResults().networks
                let backup = try #require(networks.first { $0.ssid == house.backup.ssid })
                #expect(backup.bssid == house.backup.bssid)
                #expect(backup.signal == -63)
                #expect(backup.security == .wpa3)
                #expect(backup.frequency.channel == 6)
                let home = try #require(networks.first { $0.ssid == house.home.ssid })
                #expect(home.security == .wpa2)
                #expect(home.load != nil && backup.load == nil)
                await client.close()
            }
        }
    }
}

extension Radios {
    /// An app in the network that the device is in commands it over TLS, and goes after it.
    @Suite struct PhoneTests {
        private func address(of lab: Lab, in network: AccessPoint) async throws -> IPv4Address {
            var found: IPv4Address?
            try await eventually(within: .seconds(10), "an address of \(network.ssid)") {
                found = await lab.station.address
                return found.map { $0.value >> 8 == network.gateway.value >> 8 } ?? false
            }
            return try #require(found)
        }

        // covers: seed/key-agreement, seed/one-protocol, seed/user-app-developer
        @Test func switchesAndConfirmsOverTheNewNetwork() async throws {
            try await scenario("a phone switches", accessPoints: 2) { lab in
                let house = try await House(lab)
                let key = try await house.device.key
                let atHome = Phone(in: house.home, of: lab, knowing: key)
                let home = try await address(of: lab, in: house.home)
                let network: NetworkStatus = try await atHome.ask(.getNetwork, at: home)
                #expect(network.ssid == house.home.ssid && network.uplink == .wifi)
                #expect(network.flags == [.canUpdateBackups, .canSwitch])
                let backups: BackupList = try await atHome.ask(.getBackups, at: home)
                let hash = try #require(backups.networks.first?.hash)

                // The answer comes before the link drops.
                let request = SwitchRequest(target: .stored(hash), confirmWithin: 60)
                let accepted: SwitchStatus = try await atHome.ask(.switchNetwork(request), at: home)
                #expect(accepted.phase == .accepted)
                try await house.device.phase(.waitingForConfirmation, of: accepted, within: .seconds(30))

                // The listener is where the device is, and has let go of the one that was left behind.
                let atBackup = Phone(in: house.backup, of: lab, knowing: key)
                let query = SwitchQuery(switchId: accepted.switchId)
                let there = try await address(of: lab, in: house.backup)
                let status: SwitchStatus = try await atBackup.ask(.getSwitch(query), at: there)
                #expect(status.phase == .waitingForConfirmation)
                try await eventually(within: .seconds(10), "the connection from home to be closed") {
                    await house.device.log.contains("no longer has its address")
                }
                let confirmed: SwitchStatus = try await atBackup.ask(.confirmSwitch(query), at: there)
                #expect(confirmed.phase == .committed)
                try await house.expectTraffic(through: house.backup)
            }
        }

        // covers: seed/switch-rolls-back
        @Test(.extended) func readsThatItWasRolledBack() async throws {
            try await scenario("a phone does not confirm", accessPoints: 2) { lab in
                let house = try await House(lab)
                let phone = Phone(in: house.home, of: lab, knowing: try await house.device.key)
                let home = try await address(of: lab, in: house.home)
                let backups: BackupList = try await phone.ask(.getBackups, at: home)
                let hash = try #require(backups.networks.first?.hash)
                let request = SwitchRequest(target: .stored(hash), confirmWithin: 5)
                let accepted: SwitchStatus = try await phone.ask(.switchNetwork(request), at: home)
                let outcome = try await house.device.outcome(of: accepted, within: .seconds(60))
                #expect(outcome.phase == .rolledBack)
                try await house.expectTraffic(through: house.home)

                let query = SwitchQuery(switchId: accepted.switchId)
                let back = try await address(of: lab, in: house.home)
                let status: SwitchStatus = try await phone.ask(.getSwitch(query), at: back)
                #expect(status == outcome)
                await #expect(throws: ProtocolError.self) {
                    let _: SwitchStatus = try await phone.ask(.confirmSwitch(query), at: back)
                }
            }
        }

        @Test func anUnknownClientGetsNoAnswer() async throws {
            try await scenario("a stranger's phone", accessPoints: 2) { lab in
                let house = try await House(lab)
                let home = try await address(of: lab, in: house.home)
                let key = try await house.device.key
                let other = try DeviceKey(deviceId: key.deviceId, localKey: Secret(text: "0123456789abcdef"))
                let stranger = Phone(in: house.home, of: lab, knowing: other)
                await #expect(throws: LabError.self) {
                    let _: NetworkStatus = try await stranger.ask(.getNetwork, at: home, within: .seconds(5))
                }
                try await eventually(within: .seconds(20), "the wrong key to be logged") {
                    await house.device.log.contains("wrong key")
                }
                let owner = Phone(in: house.home, of: lab, knowing: key)
                let network: NetworkStatus = try await owner.ask(.getNetwork, at: home)
                #expect(network.ssid == house.home.ssid)
            }
        }
    }
}

extension Radios {
    /// Input from the air and from a machine that is not in order.
    @Suite struct BadInputTests {
        // covers: seed/current-ssid
        @Test(
            .extended,
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

        @Test(.extended) func aMissingInterfaceIsWaitedFor() async throws {
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
        @Test(.extended) func aFullDiskStopsNothing() async throws {
            try await onSmallDisk("full disk") { device, _, folder in
                try fill(folder + "/ballast")
                #expect(try await device.store([backup]).networks.count == 1)
                await device.kill()
                try await device.start()
                let client = try await device.client()
                #expect(try await client.backups().networks.map(\.ssid) == [backup.ssid])
                await client.close()
            }
        }

        @Test(.extended) func aReadOnlyDiskKeepsTheDeviceOnline() async throws {
            try await onSmallDisk("read-only disk") { device, home, folder in
                await device.kill()
                try #require(mount("tmpfs", folder, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), nil) == 0)
                try await device.start()
                try await device.online(on: home, within: .seconds(20))
                let failure = try await #require(throws: ClientError.self) { try await device.store([backup]) }
                #expect("\(failure)".contains("Read-only file system"))
                #expect(await device.isRunning)
            }
        }

        private var backup: NewNetwork {
            get throws { NewNetwork(ssid: try SSID("BackupNet"), password: nil) }
        }

        /// Runs `scene` with a device at home, whose key file is in `folder`, a file system of 64 KiB.
        private func onSmallDisk(
            _ name: String, scene: (_ device: Device, _ home: AccessPoint, _ folder: String) async throws -> Void
        ) async throws {
            try await scenario(name) { lab in
                let home = try await lab.accessPoint("HomeNet", security: .open, channel: 6)
                try await home.powerOn()
                let folder = "\(lab.directory)/flash"
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                try #require(mount("tmpfs", folder, "tmpfs", 0, "size=64k") == 0)
                defer { umount2(folder, Int32(MNT_DETACH)) }
                let device = Device(in: lab, settings: ["ALTNET_STATE_DIR": folder])
                try await lab.station.startSupplicant()
                try await device.start()
                try await device.provision(home)
                try await scene(device, home, folder)
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
