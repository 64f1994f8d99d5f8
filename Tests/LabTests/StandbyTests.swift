import AppProtocol
import FoundationEssentials
import Lab
import Testing

extension Radios {
    /// A network that stands by takes over at a loss (Docs/contributor/loss-and-radios.md).
    @Suite struct StandbyTests {
        private static let settings = ["ALTNET_STANDBY": "always", "ALTNET_RETURN_CONFIRM_S": "0"]

        private func standsBy(_ network: AccessPoint, in house: House) async throws {
            try await eventually(within: .seconds(60), "\(network.ssid) to stand by") {
                house.device.status?.standby?.ssid == network.ssid
            }
        }

        @Test(.extended, arguments: MakeBeforeBreakTests.spares)
        func aPowerCutTakesNoMoreThanToNoticeIt(_ spare: SpareStation) async throws {
            try await scenario("standby, \(spare)", accessPoints: 2, spare: spare) { lab in
                let house = try await House(lab, settings: Self.settings)
                try await standsBy(house.backup, in: house)
                var gaps: [Duration] = []
                var moves: [Duration] = []
                for (dying, other) in [
                    (house.home, house.backup), (house.backup, house.home), (house.home, house.backup),
                ] {
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

        /// The stick leaves the network that it stood by in, and the one in use, in the middle.
        @Test(.extended) func aStickThatVanishesTakesNothingWithIt() async throws {
            try await scenario("standby, a stick that vanishes", accessPoints: 2, spare: .otherRadio) { lab in
                let house = try await House(lab, settings: Self.settings)
                try await standsBy(house.backup, in: house)
                let (mark, start) = (house.mark, ContinuousClock.now)
                try await lab.station.unplugSpare()
                try await eventually(within: .seconds(5), "no network to stand by") {
                    house.device.status?.standby == nil
                }
                try await Task.sleep(for: .seconds(3))
                #expect(house.pinger.lost(since: start) == 0)
                #expect(house.device.way(since: mark) == [])
                try await SilenceTests.comeIntoUse(house)
                try await house.expectFailover(within: .seconds(5))

                try await house.home.powerOn()
                try await lab.station.plugSpare()
                try await standsBy(house.home, in: house)
                try await SilenceTests.comeIntoUse(house)
                try await house.backup.powerOff()
                try await house.device.online(on: house.home, within: .seconds(5))
                try await house.backup.powerOn()
                try await standsBy(house.backup, in: house)
                let pulled = ContinuousClock.now
                try await lab.station.unplugSpare()
                let time = try await house.timeToPing(on: house.backup, since: pulled, within: .seconds(5))
                lab.report("altnet: the stick in use pulled out, until a ping through the standby", time)
                try await house.expectTraffic(through: house.backup)
                #expect(!house.device.decisions.dropFirst(mark).contains { $0.kind.rawValue == "blocked" })
            }
        }

        /// A minute of a device that is otherwise idle, beside the same without a standby.
        @Test(.extended, arguments: MakeBeforeBreakTests.spares) func standingByCostsLittle(_ spare: SpareStation)
            async throws
        {
            for standby in ["when-weak", "always"] {
                try await scenario("cost of \(standby), \(spare)", accessPoints: 2, spare: spare) { lab in
                    let house = try await House(lab, settings: ["ALTNET_STANDBY": standby])
                    if standby == "always" { try await standsBy(house.backup, in: house) }
                    house.pinger.end()
                    try await Task.sleep(for: .seconds(30))
                    let minute = Duration.seconds(60)
                    async let work = house.device.work(for: minute)
                    let air = try await lab.airUse(of: lab.station.spareAddress(), for: minute)
                    let done = try #require(try await work)
                    lab.report(
                        "a minute with \(standby), \(spare)",
                        "the agent \(done.wakeUps) wake-ups, \(done.processorTime); the second station "
                            + "\(air.frames) frames, \(air.time) on the air")
                    // A thousandth of the air.
                    #expect(air.time < .milliseconds(60), "\(air)")
                    #expect((air.frames > 0) == (standby == "always"))
                }
            }
        }

        /// By the kernel's Multipath TCP, over which a client and a server have a byte go there and back every 20 ms.
        @Test(.extended, arguments: MakeBeforeBreakTests.spares)
        func aConnectionOfManyPathsOutlivesAPowerCut(_ spare: SpareStation) async throws {
            try await scenario("many paths, \(spare)", accessPoints: 2, spare: spare) { lab in
                let upstream = try await lab.upstream()
                let house = try await House(lab, upstream: upstream, settings: Self.settings)
                let program = Lab.checkout + "/Tests/Servers/multipath"
                let (server, port) = ("\(Upstream.mirror)", "5201")
                _ = try await upstream.run(program, ["serve", server, port])
                try await standsBy(house.backup, in: house)
                let end = lab.directory + "/enough"
                let client = try await lab.start(program, ["ask", server, port, end], log: "paths")
                try await SilenceTests.comeIntoUse(house)
                let cut = ContinuousClock.now
                try await house.home.powerOff()
                let time = try await house.timeToPing(on: house.backup, since: cut, within: .seconds(5))
                try await Task.sleep(for: .seconds(3))
                #expect(client.isRunning)
                try Data().write(to: URL(filePath: end))
                try await eventually(within: .seconds(10), "the client to end") { !client.isRunning }
                let said = try String(contentsOfFile: client.log, encoding: .utf8)
                #expect(client.exitStatus == 0, "\(said)")
                let words = said.split(whereSeparator: \.isWhitespace)
                let longest = try #require(words.count == 4 ? Int(words[1]) : nil, "\(said)")
                #expect(words[3] != "0", "one path alone: \(said)")
                lab.report("altnet: power cut to ping with a standby and many paths, \(spare)", time)
                lab.report("the longest time between two answers over many paths, \(spare)", .milliseconds(longest))
                #expect(Duration.milliseconds(longest) <= time + .milliseconds(300), "\(said)")
            }
        }
    }
}
