import AgentModel
import AppClient
import AppProtocol
import Lab
import Testing

extension Radios {
    /// The app commands, and the device does it or says why not.
    @Suite struct CommandTests {
        @Test func switchByHash() async throws {
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

        @Test func refusedSwitchesChangeNothing() async throws {
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

        @Test func outOfRangeEndsWhereItWas() async throws {
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
        @Test func aRestartBeforeTheConfirmationUndoesTheSwitch() async throws {
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

        @Test func scanSeesWhatIsInRange() async throws {
            try await scenario("scan", accessPoints: 2) { lab in
                let house = try await House(lab, backup: .wpa3("backup-password"), backupSignal: -63)
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
                #expect(networks.first { $0.ssid == house.home.ssid }?.security == .wpa2)
                await client.close()
            }
        }
    }
}
