import FoundationEssentials
import Lab
import Testing

extension Radios {
    /// How the agent notices that an access point has fallen silent, and how it does not (Docs/detection.md).
    @Suite struct SilenceTests {
        /// A link on which frames are lost at random is no link that is lost. `LAB_NOISE_S` for how long each.
        @Test(arguments: [10, 30, 50])
        func lostFramesAreNoSilence(percent: Int) async throws {
            try await scenario("\(percent) percent lost", accessPoints: 2) { lab in
                let house = try await House(lab)
                try await Self.comeIntoUse(house)
                let noise = try await lab.start(Self.airLoss, ["\(Double(percent) / 100)"])
                let mark = house.mark
                try await Task.sleep(for: Self.noise)
                await noise.terminate()
                let log = await house.device.log
                let questions = Self.count("seems silent", in: log)
                lab.report("\(percent) % of the frames lost, \(Self.noise)", "\(questions) questions")
                #expect(!log.contains("has fallen silent"))
                #expect(house.device.way(since: mark) == [])
            }
        }

        @Test func anIdleLinkIsLeftToTheKernel() async throws {
            try await scenario("idle power cut", accessPoints: 2) { lab in
                let house = try await House(lab)
                try await Self.becomeIdle(house)
                try await house.home.powerOff()
                try await house.device.online(on: house.backup, within: .seconds(20))
                #expect(await !house.device.log.contains("seems silent"))
            }
        }

        @Test func whereItIsOffTheKernelNoticesAlone() async throws {
            try await scenario("power cut, watch off", accessPoints: 2) { lab in
                let house = try await House(lab, settings: ["ALTNET_SILENT_BEACONS": "0"])
                try await Self.comeIntoUse(house)
                try await house.expectFailover(within: .seconds(5))
                #expect(await !house.device.log.contains("seems silent"))
            }
        }

        static let noise = Duration.seconds(
            ProcessInfo.processInfo.environment["LAB_NOISE_S"].flatMap { Int($0) } ?? 30)
        static let airLoss = Lab.checkout + "/board/lab/air-loss"

        /// The agent sees within ten seconds that the device is in use.
        static func comeIntoUse(_ house: House) async throws {
            try await house.pinger.reply(after: .now + .seconds(12), within: .seconds(15))
        }

        /// And within twenty that it is not any more.
        static func becomeIdle(_ house: House) async throws {
            house.pinger.end()
            try await Task.sleep(for: .seconds(25))
        }

        static func count(_ words: String, in log: String) -> Int {
            log.split(separator: "\n").count { $0.contains(words) }
        }
    }
}
