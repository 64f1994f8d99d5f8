import Simulation
import Testing

@testable import Fleet

/// Two days of sixty devices in virtual time: four outages, two killed nodes and a newer password.
// covers: seed/user-fleet
@Suite struct FleetWeekTests {
    @Test func allDevicesComeBack() throws {
        var settings = FleetWeek.Settings(devices: 60, scenario: try ScenarioLibrary.scenario(named: "quiet"))
        settings.days = 2
        var week = try FleetWeek(settings)
        let result = try week.run()
        #expect(result.outages == 4 && result.nodesKilled == 2 && result.cutOff > 30)
        #expect(result.late == 0 && result.lostMessages == 0)
        #expect(result.rotation.lost == 0 && result.rotation.cut == 4)
        #expect(result.rotation.committed == 54 && result.rotation.undone == 6)
        #expect(result.operatorCommitted == 54 && result.operatorUndone == 6)
        #expect(result.peak <= FleetWeek.budget(of: 60))
    }
}
