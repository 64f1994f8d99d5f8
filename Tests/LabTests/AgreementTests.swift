import AgentModel
import Failover
import FoundationEssentials
import Simulation
import Testing

@testable import Lab

extension Radios {
    /// The simulator and the lab agree on what becomes of a device: on the networks that it goes through, and within
    /// `tolerance` on how long it takes. The lab's processor is emulated, so that starting hostapd alone can take
    /// seconds there.
    @Suite(.extended) struct AgreementTests {
        private static let tolerance = Duration.seconds(6)

        /// The simulator's forecast of a scenario from `moment` on.
        private struct Forecast {
            /// The networks that the device comes online on, in order.
            let networks: [SSID]
            /// How long it takes to the first of them: the quickest and the slowest of a few runs.
            let times: ClosedRange<Duration>
        }

        private func forecast(_ name: String, from moment: Duration) throws -> Forecast {
            let scenario = try ScenarioLibrary.scenario(named: name)
            let runs = (1...9).map { seed -> [PolicyDecision] in
                let run = Simulation.run(scenario, seed: UInt64(seed), recordsTimeline: true)
                return (run.timeline?.decisions ?? []).filter {
                    $0.kind == .online && $0.at.milliseconds >= moment.milliseconds
                }
            }
            let networks = Set(runs.map { $0.compactMap(\.to) })
            try #require(networks.count == 1, "the simulated runs differ: \(networks)")
            let times = try runs.map { Duration.milliseconds(try #require($0.first).at.milliseconds) - moment }.sorted()
            return Forecast(networks: try #require(networks.first), times: times[0]...times[times.count - 1])
        }

        private func expect(
            _ forecast: Forecast, _ device: Device, since mark: Int, after time: Duration, in lab: Lab,
            sourceLocation: SourceLocation = #_sourceLocation
        ) {
            #expect(device.stations(since: mark) == forecast.networks, sourceLocation: sourceLocation)
            lab.report("altnet: lab", time)
            lab.report("altnet: simulated, quickest", forecast.times.lowerBound)
            lab.report("altnet: simulated, slowest", forecast.times.upperBound)
            #expect(time > forecast.times.lowerBound - Self.tolerance, sourceLocation: sourceLocation)
            #expect(time < forecast.times.upperBound + Self.tolerance, sourceLocation: sourceLocation)
        }

        // covers: seed/user-firmware, seed/why-switched
        @Test func powerCut() async throws {
            let forecast = try forecast("lab-power-cut", from: .seconds(60))
            try await scenario("agreement on a power cut", accessPoints: 2) { lab in
                let house = try await House(lab)
                let mark = house.mark
                let cut = ContinuousClock.now
                try await house.home.powerOff()
                try await house.device.online(on: house.backup, within: .seconds(30))
                expect(forecast, house.device, since: mark, after: .now - cut, in: lab)
            }
        }

        // covers: seed/no-ping-pong
        @Test func fade() async throws {
            let forecast = try forecast("lab-fade", from: .seconds(60))
            try await scenario("agreement on a fade", accessPoints: 2) { lab in
                let house = try await House(lab, backupSignal: -40)
                let mark = house.mark
                let faded = ContinuousClock.now
                try await house.home.setSignal(-85)
                try await house.device.online(on: house.backup, within: .seconds(60))
                expect(forecast, house.device, since: mark, after: .now - faded, in: lab)
            }
        }

        @Test func restart() async throws {
            let forecast = try forecast("lab-restart", from: .seconds(60))
            try await scenario("agreement on a restart", accessPoints: 1) { lab in
                let home = try await lab.accessPoint("HomeNet", security: .wpa2("home-password"), channel: 1)
                try await home.powerOn()
                let device = try await Device.atHome(home, in: lab)
                let mark = device.decisions.count
                let restart = ContinuousClock.now
                try await home.restart()
                try await device.decision("lost", since: mark, within: .seconds(15))
                try await device.online(on: home, within: .seconds(30))
                expect(forecast, device, since: mark, after: .now - restart, in: lab)
            }
        }

        // covers: seed/user-house
        @Test func wrongPassword() async throws {
            let forecast = try forecast("lab-wrong-password", from: .seconds(80))
            try await scenario("agreement on a wrong password", accessPoints: 2) { lab in
                let house = try await House(lab, backupPassword: "not-the-password")
                let mark = house.mark
                try await house.home.powerOff()
                try await house.device.decision("blocked", since: mark, within: .seconds(60))
                let back = ContinuousClock.now
                try await house.home.powerOn()
                try await house.device.online(on: house.home, within: .seconds(30))
                expect(forecast, house.device, since: mark, after: .now - back, in: lab)
            }
        }

        @Test func appears() async throws {
            let forecast = try forecast("lab-appears", from: .seconds(70))
            try await scenario("agreement on a network that appears", accessPoints: 2) { lab in
                let house = try await House(lab)
                try await house.backup.powerOff()
                let mark = house.mark
                try await house.home.powerOff()
                try await house.device.decision("search", since: mark, within: .seconds(30))
                let appears = ContinuousClock.now
                try await house.backup.powerOn()
                try await house.device.online(on: house.backup, within: .seconds(30))
                expect(forecast, house.device, since: mark, after: .now - appears, in: lab)
            }
        }
    }
}

/// A device that a module of the kernel simulates.
struct SimulatedDevice: Sendable, CustomTestStringConvertible {
    private let module: String
    private let parameters: [String]
    let testDescription: String

    /// NOR flash; sizes in KiB.
    static func nor(size: Int = 512, eraseSize: Int) -> Self {
        Self(
            module: "mtdram", parameters: ["total_size=\(size)", "erase_size=\(eraseSize)"],
            testDescription: "NOR flash of \(size) KiB, erase blocks of \(eraseSize) KiB")
    }

    /// NAND flash with erase blocks of 128 KiB and pages of 2 KiB.
    /// - Parameter defects: as `modinfo nandsim` has them.
    static func nand(eraseBlocks: Int = 8, _ defects: String...) -> Self {
        Self(
            module: "nandsim", parameters: ["id_bytes=0xec,0xa1,0x00,0x15", "parts=\(eraseBlocks)"] + defects,
            testDescription: (["NAND flash of \(eraseBlocks) erase blocks"] + defects).joined(separator: ", "))
    }

    /// NAND flash of an older kind: erase blocks of 16 KiB and pages of 512 bytes.
    static func smallPageNAND(eraseBlocks: Int) -> Self {
        Self(
            module: "nandsim", parameters: ["id_bytes=0x98,0x73", "parts=\(eraseBlocks)"],
            testDescription: "NAND flash of \(eraseBlocks) erase blocks with small pages")
    }

    /// A disk; its size in KiB.
    static func disk(size: Int = 512) -> Self {
        Self(module: "brd", parameters: ["rd_nr=1", "rd_size=\(size)"], testDescription: "disk of \(size) KiB")
    }

    /// Has the device for as long as `body` runs.
    func use(_ body: (_ path: String) throws -> Void) throws {
        try Self.run("modprobe", [module] + parameters)
        let result = Result { try body(path()) }
        try Self.run("modprobe", ["-r", module])
        try result.get()
    }

    /// Runs a program of the system to its end.
    static func run(_ program: String, _ arguments: [String]) throws {
        try Program.run(program, arguments, log: "/run/simulated-device.log")
    }

    private func path() throws -> String {
        if module == "brd" { return "/dev/ram0" }
        // mtd0: 00080000 00001000 "mtdram test device"
        let devices = try String(contentsOfFile: "/proc/mtd", encoding: .utf8).split(separator: "\n")
        let line = try #require(devices.first { $0.contains("\"mtdram") || $0.contains("\"NAND simulator") })
        return "/dev/\(line.prefix { $0 != ":" })"
    }
}

extension Trait where Self == ConditionTrait {
    /// Skipped where the kernel cannot simulate flash and disks.
    static var onSimulatedDevices: Self {
        let missing = ["mtdram", "nandsim", "mtdblock", "brd"].filter {
            (try? SimulatedDevice.run("modprobe", ["--dry-run", $0])) == nil
        }
        return .disabled(
            if: !missing.isEmpty, Comment(rawValue: "this kernel has no \(missing.joined(separator: ", "))"))
    }
}
