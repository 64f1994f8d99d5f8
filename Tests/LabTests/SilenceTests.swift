import AppClient
import AppProtocol
import FoundationEssentials
import Lab
import Testing

extension Radios {
    /// How the agent notices that an access point has fallen silent, and how it does not
    /// (Docs/contributor/loss-and-radios.md).
    @Suite(.extended, .onSoftMAC("brcmfmac counts no beacons")) struct SilenceTests {
        /// A link on which frames are lost at random is not a lost link, though the device may leave it for its
        /// interference. `LAB_NOISE_S` for how long each.
        @Test(arguments: [10, 30, 50])
        func lostFramesAreNoSilence(percent: Int) async throws {
            try await scenario("\(percent) percent lost", accessPoints: 2) { lab in
                let house = try await House(lab)
                try await Self.comeIntoUse(house)
                let noise = try await Self.loseFrames(percent, in: lab)
                let decided = house.device.decisions.count
                try await Task.sleep(for: Self.noise)
                #expect(noise.isRunning)
                await noise.terminate()
                let log = await house.device.log
                let questions = Self.count("seems silent", in: log)
                lab.report("\(percent) % of the frames lost, \(Self.noise)", "\(questions) questions")
                #expect(!log.contains("has fallen silent"))
                #expect(!house.device.decisions.dropFirst(decided).contains { $0.kind.rawValue == "lost" })
            }
        }

        @Test func anIdleLinkIsLeftToTheKernelWhereThatIsWanted() async throws {
            try await scenario("idle power cut", accessPoints: 2) { lab in
                let house = try await House(lab, settings: ["ALTNET_IDLE_LOOKS": "0"])
                try await Self.becomeIdle(house)
                if let work = try await house.device.work(for: .seconds(60)) {
                    lab.report(
                        "the agent in a minute, without looks", "\(work.wakeUps) wake-ups, \(work.processorTime)")
                }
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

        /// Loses frames at random until the program is terminated.
        static func loseFrames(_ percent: Int, in lab: Lab) async throws -> Program {
            let program = try await lab.start(Lab.checkout + "/board/lab/air-loss", ["\(Double(percent) / 100)"])
            try await eventually(within: .seconds(10), "frames to be lost") {
                try String(contentsOfFile: program.log, encoding: .utf8).contains("frames are lost")
            }
            return program
        }

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

/// An access point that falls silent while the radio scans other channels too, and one that does not.
extension Radios.SilenceTests {
    /// In domain US the first scan of all channels for the backup takes half a minute: the power is cut while it is
    /// under way.
    @Test func aPowerCutDuringAFullScan() async throws {
        try await scenario("power cut during a scan of all channels", accessPoints: 2, country: "US") { lab in
            let house = try await House(lab, hasSeenBackup: false)
            try await house.pinger.reply(after: .now + .seconds(15), within: .seconds(20))
            let cut = ContinuousClock.now
            try await house.expectFailover(within: .seconds(3))
            let back = try await house.pinger.reply(after: cut + .milliseconds(100), within: .seconds(5))
            lab.report("power cut during a scan of all channels in US to first ping", back - cut)
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

    /// Lost frames are no silence while scans go on, either. `LAB_NOISE_S` for how long each, `LAB_NOISE` for how many
    /// percent.
    @Test(arguments: [("CN", true), ("US", true), ("US", false)])
    func lostFramesAreNoSilenceDuringScans(country: String, isInUse: Bool) async throws {
        let percent = ProcessInfo.processInfo.environment["LAB_NOISE"].flatMap { Int($0) } ?? 30
        try await scenario("scans, \(percent) percent lost", accessPoints: 2, country: country) { lab in
            let house = try await House(lab)
            if isInUse { try await Self.comeIntoUse(house) } else { try await Self.becomeIdle(house) }
            let noise = try await Self.loseFrames(percent, in: lab)
            let decided = house.device.decisions.count
            let start = ContinuousClock.now
            var outcomes: [ScanFinished.Outcome] = []
            while ContinuousClock.now - start < Self.noise {
                let client = try await house.device.client()
                outcomes.append(try await client.scan(within: .seconds(60)).finished.outcome)
                await client.close()
            }
            #expect(noise.isRunning)
            await noise.terminate()
            let log = await house.device.log
            let aborted = outcomes.count { $0 != .finished }
            lab.report(
                "\(percent) % of the frames lost during scans, domain \(country), \(isInUse ? "in use" : "idle"), "
                    + "\(ContinuousClock.now - start)",
                "\(outcomes.count) scans, \(aborted) ended early, \(Self.count("seems silent", in: log)) questions")
            #expect(aborted == 0 || percent > 30)
            #expect(!log.contains("has fallen silent"))
            #expect(!house.device.decisions.dropFirst(decided).contains { $0.kind.rawValue == "lost" })
        }
    }
}

extension Radios {
    /// Figures for the reader of the run, altnet beside wpa_supplicant alone; nothing is asserted about them.
    @Suite(.extended) struct SpeedTests {
        @Test func theSupplicantAlone() async throws {
            try await scenario("wpa_supplicant alone", accessPoints: 2) { lab in
                let home = try await lab.accessPoint(
                    "HomeNet", security: .wpa2("home-password"), channel: 1, signal: -50)
                let backup = try await lab.accessPoint(
                    "BackupNet", security: .wpa2("backup-password"), channel: 6, signal: -60)
                try await home.powerOn()
                try await backup.powerOn()
                let pinger = try await lab.pinger()
                try await lab.station.startDHCPClient()
                let start = ContinuousClock.now
                try await lab.station.startSupplicant(knowing: [
                    ConfiguredNetwork(home.ssid, security: .wpa2("home-password"), priority: 2),
                    ConfiguredNetwork(backup.ssid, security: .wpa2("backup-password"), priority: 1),
                ])
                lab.report(
                    "wpa_supplicant alone: cold start to first ping",
                    try await pinger.reply(within: .seconds(60)) - start)
                #expect(try await lab.station.network() == home.ssid)

                let cut = ContinuousClock.now
                try await home.powerOff()
                try await pinger.silence(of: .milliseconds(500), within: .seconds(5))
                let back = try await pinger.reply(after: cut + .milliseconds(100), within: .seconds(120))
                lab.report("wpa_supplicant alone: power cut to first ping", back - cut)
                #expect(try await lab.station.network() == backup.ssid)
            }
        }

        /// The kernel looks for missing beacons on whole seconds, so one power cut says little: these are spread over
        /// the second.
        @Test func powerCuts() async throws {
            var times: [Duration] = []
            for tenth in stride(from: 0, to: 10, by: 2) {
                try await scenario("power cut \(tenth)", accessPoints: 2) { lab in
                    let house = try await House(lab)
                    // An access point that was seen just now would be joined without a scan, and power cuts seldom come
                    // just then.
                    try await house.pinger.reply(after: .now + .seconds(15), within: .seconds(20))
                    try await lab.wait(untilTenth: tenth)
                    let cut = ContinuousClock.now
                    try await house.home.powerOff()
                    times.append(try await house.timeToPing(on: house.backup, since: cut, within: .seconds(20)))
                    guard times.count == 5 else { return }
                    times.sort()
                    lab.report("altnet: power cut to first ping, shortest of 5", times[0])
                    lab.report("altnet: power cut to first ping, median", times[2])
                    lab.report("altnet: power cut to first ping, longest", times[4])
                }
            }
        }

        @Test func theAgentsMemory() async throws {
            try await scenario("memory", accessPoints: 2) { lab in
                let house = try await House(lab)
                let memory = try #require(await house.device.residentMemory)
                lab.report("altnet: resident memory", "\(memory) KiB")
            }
        }
    }
}

extension Radios {
    /// A device that sends little notices the end of its access point too. What is measured comes from the far end, behind the backup,
    /// and so is no traffic of the device's before it is there (Docs/contributor/loss-and-radios.md).
    @Suite(.extended) struct QuietDeviceTests {
        /// In milliseconds, from one packet of the device to the next; and in which regulatory domain.
        @Test(arguments: [20, 500, 30_000], ["CN", "US"])
        func aPowerCut(packetEvery interval: Int, in country: String) async throws {
            var times: [Duration] = []
            for tenth in stride(from: 0, to: 10, by: 2) {
                try await scenario("quiet power cut \(country) \(interval) \(tenth)", accessPoints: 2, country: country)
                { lab in
                    let house = try await House(lab)
                    house.pinger.end()
                    // Its address there stays the same.
                    let visit = try await house.device.switchNetwork(toStored: house.backup.ssid)
                    _ = try await house.device.outcome(of: visit, within: .seconds(30))
                    let address = try #require(await lab.station.address)
                    let way = try await house.device.switchNetwork(to: house.home)
                    _ = try await house.device.outcome(of: way, within: .seconds(30))
                    _ = try await lab.pinger(every: .milliseconds(interval))
                    try await Task.sleep(for: .seconds(25))
                    if tenth == 0, let work = try await house.device.work(for: .seconds(60)) {
                        lab.report(
                            "the agent in a minute, a packet every \(interval) ms, \(country)",
                            "\(work.wakeUps) wake-ups, \(work.processorTime)")
                    }
                    let farEnd = try await house.backup.pinger(to: address, every: .milliseconds(10))
                    try await lab.wait(untilTenth: tenth)
                    let cut = ContinuousClock.now
                    try await house.home.powerOff()
                    times.append(try await farEnd.reply(after: cut, within: .seconds(20)) - cut)
                    #expect(try await lab.station.network() == house.backup.ssid)
                    guard times.count == 5 else { return }
                    times.sort()
                    lab.report(
                        "a packet every \(interval) ms, \(country): power cut to a ping, shortest of 5", times[0])
                    lab.report("a packet every \(interval) ms, \(country): power cut to a ping, median", times[2])
                    lab.report("a packet every \(interval) ms, \(country): power cut to a ping, longest", times[4])
                }
            }
        }
    }
}
