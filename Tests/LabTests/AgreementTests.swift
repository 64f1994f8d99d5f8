import AgentModel
import Failover
import Lab
import Simulation
import Testing

extension Radios {
    /// The simulator and the lab agree on what becomes of a device: on the networks that it goes through, and within
    /// `tolerance` on how long it takes. The lab's processor is emulated, so that starting hostapd alone can take seconds
    /// there.
    @Suite struct AgreementTests {
        private static let tolerance = Duration.seconds(6)

        /// What the simulator says of a scenario from `moment` on.
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
