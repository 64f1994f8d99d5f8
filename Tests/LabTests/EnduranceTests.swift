import AgentModel
import AppClient
import AppProtocol
import FoundationEssentials
import Glibc
import KeyFile
import Simulation
import Testing

@testable import Lab

private func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

extension Radios {
    /// The program that ships, in an hour with every fault (`HouseLife.Span.hour`).
    @Suite(.extended) struct EnduranceHourTests {
        private static let seeds = (0..<(number("LAB_ENDURANCE_HOURS") ?? 1)).map {
            UInt64($0 + (number("LAB_ENDURANCE_SEED") ?? 1))
        }

        @Test(arguments: seeds) func allFaultsInAnHour(seed: UInt64) async throws {
            try await LivedHouse.live(HouseLife(seed: seed, .hour))
        }
    }
}

/// The program that ships, for days (`make endurance`). It is not in `Radios`, whose tests take at most 75 minutes.
@Suite(
    .serialized, .onRadios, .keepingRecordsOfFailures,
    .enabled(if: number("LAB_ENDURANCE_DAYS") != nil, "make endurance LAB_DAYS=1 plays it"))
struct EnduranceTests {
    @Test func days() async throws {
        let seed = UInt64(number("LAB_ENDURANCE_SEED") ?? 1)
        try await LivedHouse.live(HouseLife(seed: seed, .days(number("LAB_ENDURANCE_DAYS") ?? 1)))
    }

    /// Measures how long an hour without happenings takes on this machine.
    @Test func anIdleHour() async throws {
        let life = try #require(HouseLife("house seed 0 hour"))
        try await LivedHouse.live(life)
    }
}

/// Plays the happenings of a life with real programs, and watches the agent.
private actor LivedHouse {
    private let lab: Lab
    private let life: HouseLife
    private let house: House
    private let upstream: Upstream
    private let routers: [AccessPoint]
    private let twin: AccessPoint
    private let pinger: Pinger
    private let start = ContinuousClock.now
    private var router = 0
    private var password = "home-password"
    private var clients: [DeviceClient] = []
    private var requests: [Task<Void, Error>] = []
    /// Happenings so far, with their times in seconds.
    private var played: [HouseLife.Happening] = []
    private var samples: [Sample] = []
    private var lastWrite: Date?
    private var minutesWithWrites = 0
    private var ballast: String { house.device.directory + "/ballast" }

    /// Figures of the agent's process.
    private struct Sample {
        let pid: Int32
        /// Anonymous, in KiB. The kernel takes pages of files back.
        let memory: Int
        let descriptors: Int
        let threads: Int
    }

    static func live(_ life: HouseLife) async throws {
        print(life)
        try await scenario("endurance \(life.span == .hour ? "hour" : "days") \(life.seed)", accessPoints: 4) { lab in
            // A disk of its own for the agent, so that it can be full.
            let disk = lab.directory + "/altnet"
            mkdir(disk, 0o700)
            guard mount("none", disk, "tmpfs", 0, "size=4m,mode=700") == 0 else { throw LabError.lastCall("mount") }
            defer { umount2(disk, Int32(MNT_DETACH)) }
            let lived = try await LivedHouse(lab, life)
            try await lived.play()
            try await lived.judge()
        }
    }

    private init(_ lab: Lab, _ life: HouseLife) async throws {
        (self.lab, self.life) = (lab, life)
        upstream = try await lab.upstream()
        // The usual log, and no record of days.
        house = try await House(lab, upstream: upstream, settings: ["ALTNET_LOG_LEVEL": "", "ALTNET_RECORD": ""])
        let next = try await lab.accessPoint("HomeNet", security: .wpa2(password), channel: 11, signal: -52)
        try await next.connect(to: upstream)
        routers = [house.home, next]
        twin = try await lab.accessPoint("HomeNet", security: .wpa2("not-the-right-one"), channel: 3, signal: -45)
        house.pinger.end()
        pinger = try await lab.pinger(to: Upstream.mirror, every: .milliseconds(200))
        try await pinger.reply(within: .seconds(10))
    }

    // MARK: Life

    private var seconds: Int { Int((ContinuousClock.now - start) / .seconds(1)) }

    private struct Step {
        let at: Int
        var isEnd = false
        /// Nil for a look at the agent.
        let happening: HouseLife.Happening?
    }

    func play() async throws {
        let begins = life.happenings.map { Step(at: $0.at, happening: $0) }
        let ends = life.happenings.map { Step(at: $0.end, isEnd: true, happening: $0) }
        let looks = stride(from: 60, through: life.span.seconds, by: 60).map { Step(at: $0, happening: nil) }
        let steps = (begins + ends + looks).enumerated().sorted {
            ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
        }
        for step in steps.map(\.element) {
            try await Task.sleep(until: start + .seconds(step.at))
            guard let happening = step.happening else {
                await look()
                continue
            }
            do {
                if step.isEnd { try await finish(happening) } else { try await play(happening) }
            } catch {
                Issue.record("\(step.isEnd ? "end of" : "") \(happening): \(error)")
            }
        }
        for request in requests { try await request.value }
    }

    private func play(_ happening: HouseLife.Happening) async throws {
        played.append(.init(at: seconds, happening.kind, happening.place, seconds: happening.seconds))
        try await begin(happening)
    }

    /// Ends the happening, and notes how long it took.
    private func finish(_ happening: HouseLife.Happening) async throws {
        try await end(happening)
        let index = played.lastIndex { $0.kind == happening.kind && $0.place == happening.place }
        guard let index, happening.kind != .clockSteps else { return }
        let at = played[index].at
        played[index] = .init(at: at, happening.kind, happening.place, seconds: seconds + 1 - at)
    }

    private func accessPoint(_ place: HouseLife.Place) -> AccessPoint {
        place == .backup ? house.backup : routers[router]
    }

    private func begin(_ happening: HouseLife.Happening) async throws {
        let accessPoint = accessPoint(happening.place)
        switch happening.kind {
        case .routerRestarts: try await accessPoint.powerOff()
        case .routerReplaced:
            try await accessPoint.powerOff()
            router = 1 - router
        case .passwordRotated:
            password = "home-password-\(happening.at)"
            for router in routers { try await router.changePassword(password) }
        case .channelJammed: try await accessPoint.setSignal(-93)
        case .signalFades: try await accessPoint.setSignal(-86)
        case .providerFails: try await accessPoint.cutInternet(happening.seconds.isMultiple(of: 2) ? .drop : .reject)
        case .namesFail: try await accessPoint.names(.silent)
        case .leaseEnds:
            try await accessPoint.dhcp(false)
            try await accessPoint.restart()
        case .networksGone:
            try await accessPoint.powerOff()
            try await house.backup.powerOff()
        case .twinAppears: try await twin.powerOn()
        case .commandedAway where house.device.status?.ssid == house.backup.ssid: break
        case .commandedAway: _ = try await house.device.switchNetwork(toStored: house.backup.ssid)
        case .appsConnect: for _ in 0..<5 { clients.append(try await house.device.client()) }
        case .brokerFails: await upstream.broker.kill()
        case .supplicantKilled: await lab.station.killSupplicant()
        case .agentKilled: await house.device.kill()
        case .powerCut:
            await house.device.kill()
            await lab.station.killSupplicant()
        case .firmwareCrashes, .stickPulled:
            if let radio = lab.fullMAC { try await radio.unplug() } else { try await lab.station.unplug() }
        case .diskFull: fill()
        // The lab has no slow disk.
        case .diskSlow: break
        case .clockSteps: try LabClock.move(by: happening.seconds)
        }
    }

    private func end(_ happening: HouseLife.Happening) async throws {
        let accessPoint = accessPoint(happening.place)
        switch happening.kind {
        case .routerRestarts, .routerReplaced: try await accessPoint.powerOn()
        case .passwordRotated: ask(after: happening) { try await $0.tellPassword() }
        case .channelJammed, .signalFades: try await accessPoint.setSignal(happening.place == .backup ? -60 : -50)
        case .providerFails: try await accessPoint.restoreInternet()
        case .namesFail: try await accessPoint.names(.right)
        case .leaseEnds: try await accessPoint.dhcp(true)
        case .networksGone:
            try await accessPoint.powerOn()
            try await house.backup.powerOn()
        case .twinAppears: try await twin.powerOff()
        case .commandedAway:
            ask(after: happening) { _ = try await $0.house.device.switchNetwork(toStored: $0.house.home.ssid) }
        case .appsConnect:
            for client in clients { await client.close() }
            clients = []
        case .brokerFails: try await upstream.broker.start()
        case .supplicantKilled: try await lab.station.startSupplicant()
        case .agentKilled: try await house.device.start()
        case .powerCut:
            try await lab.station.startSupplicant()
            try await house.device.start()
        case .firmwareCrashes, .stickPulled:
            if let radio = lab.fullMAC { try await radio.plug() } else { try await lab.station.plug() }
        case .diskFull: unlink(ballast)
        case .diskSlow, .clockSteps: break
        }
    }

    /// A person or an app asks while other things happen: again if it is refused, or not answered.
    private func ask(
        after happening: HouseLife.Happening, _ request: @escaping @Sendable (isolated LivedHouse) async throws -> Void
    ) {
        let asked = Task {
            for _ in 0..<9 {
                do { return try await request(self) } catch { try await Task.sleep(for: .seconds(20)) }
            }
            do { try await request(self) } catch { Issue.record("end of \(happening): \(error)") }
        }
        requests.append(asked)
    }

    private func tellPassword() async throws {
        let status = try await house.device.switchNetwork(to: routers[router])
        let outcome = try await house.device.outcome(of: status, within: .seconds(120))
        guard outcome.phase == .committed else { throw LabError.unexpected("the switch ended with \(outcome.phase)") }
    }

    private func fill() {
        let file = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { return }
        let page = [UInt8](repeating: 0, count: 4096)
        while write(file, page, page.count) > 0 {}
        close(file)
    }

    // MARK: Watch

    /// Looks at the agent, every minute.
    private func look() async {
        let isHourly = life.span != .hour && seconds % 3600 < 60
        // The capture of days would not fit into memory.
        if isHourly { truncate("\(lab.directory)/air.pcap", 0) }
        let attributes = try? FileManager.default.attributesOfItem(atPath: house.device.directory + "/keyfile")
        if let written = attributes?[.modificationDate] as? Date, written != lastWrite {
            (lastWrite, minutesWithWrites) = (written, minutesWithWrites + 1)
        }
        guard let program = await house.device.program else { return }
        guard let memory = program.anonymousMemory else {
            Issue.record("the agent ended without a reason: \(program.lastLines)")
            return
        }
        if isHourly { print("hour \(seconds / 3600): \(memory) KiB") }
        func count(_ folder: String) -> Int {
            (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(program.pid)/\(folder)").count) ?? 0
        }
        samples.append(
            Sample(pid: program.pid, memory: memory, descriptors: count("fd"), threads: count("task")))
    }

    // MARK: Verdict

    func judge() async throws {
        judgeOutages()
        judgeProcess(await house.device.log.split(separator: "\n").count)
        try await judgeKeyFile()
    }

    private func judgeOutages() {
        let gaps = pinger.gaps(longerThan: .seconds(1)).map { gap in
            (Int((gap.lowerBound - start) / .seconds(1)), Int((gap.upperBound - start) / .seconds(1)))
        }.filter { $0.1 > max(0, $0.0) }
        let times = HouseLife.soundTimes(played.sorted { $0.at < $1.at }, seconds: life.span.seconds)
        var longest = 0
        for gap in gaps {
            let part = times.map { (max(0, gap.0)..<gap.1).clamped(to: $0) }.max { $0.count < $1.count } ?? 0..<0
            longest = max(longest, part.count)
            if part.count > 10 {
                Issue.record("\(part.count) s offline at \(part.lowerBound) s beside a sound network")
            }
        }
        lab.report("longest outage beside a sound network", "\(longest) s")
        lab.report("all outages", "\(gaps.reduce(0) { $0 + $1.1 - max(0, $1.0) }) s")
    }

    private func judgeProcess(_ lines: Int) {
        let days = Double(life.span.seconds) / 86_400
        lab.report("log lines a day", "\((Double(lines) / days).fixed(0))")
        lab.report("minutes a day with a write of the key file", "\((Double(minutesWithWrites) / days).fixed(1))")
        let longest = Dictionary(grouping: samples, by: \.pid).values.max { $0.count < $1.count } ?? []
        lab.report(
            "descriptors", "\(longest.map(\.descriptors).min() ?? 0) to \(longest.map(\.descriptors).max() ?? 0)")
        lab.report("threads", "\(longest.map(\.threads).min() ?? 0) to \(longest.map(\.threads).max() ?? 0)")
        let part = min(60, longest.count / 3)
        let wide = longest.suffix(part).map(\.descriptors).min() ?? .max
        #expect(wide <= longest.prefix(part).map(\.descriptors).max() ?? 0, "descriptors grow")
        #expect((longest.map(\.threads).max() ?? 0) <= 8)
        guard life.span != .hour else { return }
        // The first hour is for what is learned.
        let settled = longest.dropFirst(60).map { Double($0.memory) }
        let trend = Trend(settled)
        lab.report(
            "memory of the longest life of a process",
            "\(Int(settled.last ?? 0)) KiB, \((trend.slope * 1440).fixed(0)) ± \((trend.error * 1440).fixed(0)) KiB a day"
        )
        #expect(trend.isFlat(tolerance: 4.0 / 1440))
    }

    /// The key file has what was acknowledged.
    private func judgeKeyFile() async throws {
        await house.device.stop()
        let state = try house.device.store.open(maximumBackups: 3).state
        let networks = [state.home, state.chosen, state.current].compactMap(\.self) + state.backups
        #expect(state.backups.contains { $0.ssid == house.backup.ssid }, "the backup was lost")
        let home = networks.filter { $0.ssid == house.home.ssid }
        #expect(
            home.contains {
                if case .passphrase(let own, _) = $0.credential { own == Secret(text: password) } else { false }
            }, "home's password was lost")
    }
}
