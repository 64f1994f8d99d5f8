import AppClient
import AppProtocol
import FoundationEssentials
import Lab
import Testing

/// An access point that falls silent while the radio looks at other channels too, and one that does not.
extension Radios.SilenceTests {
    /// In domain US the first survey for the backup takes half a minute: the power is cut while it is under way.
    @Test func aPowerCutDuringASurvey() async throws {
        try await scenario("power cut during a survey", accessPoints: 2, country: "US") { lab in
            let house = try await House(lab, isSurveyed: false)
            try await house.pinger.reply(after: .now + .seconds(15), within: .seconds(20))
            let cut = ContinuousClock.now
            try await house.expectFailover(within: .seconds(3))
            let back = try await house.pinger.reply(after: cut + .milliseconds(100), within: .seconds(5))
            lab.report("power cut during a survey in US to first ping", back - cut)
            let log = await house.device.log
            #expect(log.contains("seems silent"))
        }
    }

    /// The same of a device that sends nothing.
    @Test func anIdlePowerCutDuringAScan() async throws {
        try await scenario("idle power cut during a scan", accessPoints: 2, country: "US") { lab in
            let house = try await House(lab)
            try await Self.becomeIdle(house)
            let client = try await house.device.client()
            async let scan = client.scan(within: .seconds(60)).finished.outcome
            try await Task.sleep(for: .seconds(3))
            let cut = ContinuousClock.now
            try await house.home.powerOff()
            try await house.device.online(on: house.backup, within: .seconds(8))
            lab.report("idle power cut during a scan in US to the backup", ContinuousClock.now - cut)
            #expect(try await scan == .aborted)
            await client.close()
            #expect(await house.device.log.contains("seems silent"))
        }
    }

    /// Lost frames are no silence while scans go on, either. `LAB_NOISE_S` for how long each, `LAB_NOISE` for how many percent.
    @Test(arguments: [("CN", true), ("US", true), ("US", false)])
    func lostFramesAreNoSilenceDuringScans(country: String, isInUse: Bool) async throws {
        let percent = ProcessInfo.processInfo.environment["LAB_NOISE"].flatMap { Int($0) } ?? 30
        try await scenario("scans, \(percent) percent lost", accessPoints: 2, country: country) { lab in
            let house = try await House(lab)
            if isInUse { try await Self.comeIntoUse(house) } else { try await Self.becomeIdle(house) }
            let noise = try await lab.start(Self.airLoss, ["\(Double(percent) / 100)"])
            let mark = house.mark
            let start = ContinuousClock.now
            var outcomes: [ScanFinished.Outcome] = []
            while ContinuousClock.now - start < Self.noise {
                let client = try await house.device.client()
                outcomes.append(try await client.scan(within: .seconds(60)).finished.outcome)
                await client.close()
            }
            await noise.terminate()
            let log = await house.device.log
            let aborted = outcomes.count { $0 != .finished }
            lab.report(
                "\(percent) % of the frames lost during scans, domain \(country), \(isInUse ? "in use" : "idle"), "
                    + "\(ContinuousClock.now - start)",
                "\(outcomes.count) scans, \(aborted) ended early, \(Self.count("seems silent", in: log)) questions")
            #expect(aborted == 0 || percent > 30)
            #expect(!log.contains("has fallen silent"))
            #expect(house.device.way(since: mark) == [])
        }
    }
}
