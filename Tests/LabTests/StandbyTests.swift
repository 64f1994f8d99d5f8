import AppProtocol
import Lab
import Testing

extension Radios {
    /// A network that stands by takes over at a loss (Docs/handover.md).
    @Suite struct StandbyTests {
        private static let settings = ["ALTNET_STANDBY": "always", "ALTNET_RETURN_CONFIRM_S": "0"]

        private func standsBy(_ network: AccessPoint, in house: House) async throws {
            try await eventually(within: .seconds(60), "\(network.ssid) to stand by") {
                house.device.status?.standby?.ssid == network.ssid
            }
        }

        @Test(arguments: MakeBeforeBreakTests.spares)
        func aPowerCutTakesNoMoreThanToNoticeIt(_ spare: SpareStation) async throws {
            try await scenario("standby, \(spare)", accessPoints: 2, spare: spare) { lab in
                let house = try await House(lab, settings: Self.settings)
                try await standsBy(house.backup, in: house)
                var gaps: [Duration] = []
                var moves: [Duration] = []
                for (dying, other) in [(house.home, house.backup), (house.backup, house.home), (house.home, house.backup)] {
                    try await SilenceTests.comeIntoUse(house)
                    let mark = house.mark
                    let cut = ContinuousClock.now
                    try await dying.powerOff()
                    _ = try await house.device.decision("lost", since: mark, within: .seconds(5))
                    let noticed = ContinuousClock.now
                    let back = try await house.pinger.reply(after: cut + .milliseconds(100), within: .seconds(5))
                    gaps.append(back - cut)
                    moves.append(back - noticed)
                    try await house.expectTraffic(through: other)
                    #expect(house.device.way(since: mark) == [], "no join")
                    try await dying.powerOn()
                    try await standsBy(dying, in: house)
                }
                lab.report("altnet: power cut to ping with a standby, \(spare), longest of 3", gaps.max() ?? .zero)
                lab.report("altnet: from the loss noticed to a ping, \(spare), longest of 3", moves.max() ?? .zero)
                // The goal is 50 ms; a ping goes out every 20.
                #expect(moves.allSatisfy { $0 <= .milliseconds(70) }, "\(moves)")
            }
        }
    }
}
