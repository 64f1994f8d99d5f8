import AgentModel
import AppClient
import AppProtocol
import KeyFile
import Lab
import Testing

extension Radios {
    /// `joinOnce`: the device is in a network for as long as the link lasts.
    @Suite struct VisitTests {
        private func guest(of lab: Lab) async throws -> AccessPoint {
            let guest = try await lab.accessPoint("Guest", security: .wpa2("guest-password"), channel: 11)
            try await guest.powerOn()
            return guest
        }

        /// Every network of which the device's key file has the password.
        private static func names(storedIn lab: Lab) throws -> Set<SSID> {
            let folder = lab.directory + "/altnet"
            let place = StorePlace(path: folder + "/keyfile", rootKey: .file(path: folder + "/root-key"))
            let state = try place.open(maximumBackups: 3).state
            let roles = [state.home, state.chosen, state.current, state.previous, state.pendingSwitch?.target]
            return Set((roles.compactMap(\.self) + state.backups).map(\.ssid))
        }

        private func refusal(_ ask: () async throws -> SwitchStatus) async throws -> ErrorCode? {
            do {
                _ = try await ask()
                return nil
            } catch let error as ClientError {
                return error.code
            }
        }

        @Test func isForgottenWhenTheLinkIsLost() async throws {
            try await scenario("visit until the link is lost", accessPoints: 3) { lab in
                let house = try await House(lab)
                let guest = try await guest(of: lab)
                let visit = try await house.device.switchNetwork(to: guest, joinOnce: true)
                #expect(try await house.device.outcome(of: visit, within: .seconds(30)).phase == .committed)
                try await house.expectTraffic(through: guest)
                let hash = try #require(house.device.status?.hash)
                let again = try await refusal { try await house.device.switchNetwork(to: guest, joinOnce: true) }
                #expect(again == .alreadyAssociated)

                var mark = house.mark
                try await guest.powerOff()
                // At once, or by way of the backup where that is seen first.
                try await house.device.online(on: house.home, within: .seconds(90))
                #expect(!house.device.way(since: mark).contains(guest.ssid))

                // It is nothing to fall back to any more.
                try await guest.powerOn()
                mark = house.mark
                try await house.home.powerOff()
                try await house.device.online(on: house.backup, within: .seconds(30))
                house.expectWay([house.backup], since: mark)
                let client = try await house.device.client()
                #expect(
                    try await refusal { try await client.switchNetwork(to: .stored(hash)) } == .unknownNetwork)
                #expect(try await client.backups().networks.map(\.ssid) == [house.backup.ssid])
                await client.close()
            }
        }

        @Test func isForgottenByARestart() async throws {
            try await scenario("visit until the agent restarts", accessPoints: 3) { lab in
                let house = try await House(lab)
                let guest = try await guest(of: lab)
                let visit = try await house.device.switchNetwork(to: guest, joinOnce: true)
                #expect(try await house.device.outcome(of: visit, within: .seconds(30)).phase == .committed)
                // In order, so that it stores all that it would store at some time.
                await house.device.stop()
                #expect(try Self.names(storedIn: lab) == [house.home.ssid, house.backup.ssid])
                try await house.device.start()
                try await house.device.online(on: house.home, within: .seconds(30))
                try await house.expectTraffic(through: house.home)
            }
        }

        @Test func isUndoneByARestartInTheMiddle() async throws {
            try await scenario("restart in the middle of a visit's switch", accessPoints: 3) { lab in
                let house = try await House(lab)
                let guest = try await guest(of: lab)
                let visit = try await house.device.switchNetwork(to: guest, confirmWithin: 300, joinOnce: true)
                try await house.device.phase(.waitingForConfirmation, of: visit, within: .seconds(30))
                await house.device.kill()
                try await house.device.start()
                try await house.device.phase(.rolledBack, of: visit, within: .seconds(40))
                try await house.device.online(on: house.home, within: .seconds(5))
            }
        }

        @Test func becomesAChoiceWithoutLeaving() async throws {
            try await scenario("visit that is kept", accessPoints: 3) { lab in
                let house = try await House(lab)
                let guest = try await guest(of: lab)
                let visit = try await house.device.switchNetwork(to: guest, joinOnce: true)
                #expect(try await house.device.outcome(of: visit, within: .seconds(30)).phase == .committed)
                let mark = house.mark
                let kept = try await house.device.switchNetwork(to: guest)
                #expect(try await house.device.outcome(of: kept, within: .seconds(30)).phase == .committed)
                #expect(house.device.decisions.count == mark, "the link stays")
                await house.device.kill()
                try await house.device.start()
                try await house.device.online(on: guest, within: .seconds(10))
            }
        }
    }
}
