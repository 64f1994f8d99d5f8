import AgentCore
import AgentModel
import AppProtocol
import KeyFile
import Testing

@testable import Simulation

/// A device whose world is changed while it lives.
@Suite struct RealTimeDeviceTests {
    @Test func theDeviceGoesToTheBackupWhenItsAccessPointLosesPower() throws {
        var life = Life(Sketch.house(seconds: 60))
        life.run(until: 10)
        #expect(life.joined == ["home"])
        try life.device.change("Home off")
        life.run(until: 20)
        #expect(life.joined == ["backup"])
        #expect(life.device.world.accessPoints.map(\.on) == [false, true])
        #expect(life.device.world.hasAddress)
    }

    /// What happens to a world from outside is what its scenario would have had happen at that moment.
    @Test(arguments: [
        "home off", "home signal -90", "home signal -88 over 20s", "home internet dead", "home password another-one",
        "home full", "interference 2400-2420MHz loss 99% for 30s", "uplink wired", "supplicant dies back after 3s",
    ])
    func aChangeFromOutsideIsLikeOneOfTheScenario(_ change: String) throws {
        var scenario = Sketch.house(seconds: 120)
        scenario.settings.validation = .init()
        var told = scenario
        told.happenings = try ScenarioParser.changes(change, in: scenario).map {
            Scenario.Happening(at: .seconds(31), $0)
        }
        var first = Life(told, hasStory: true)
        var second = Life(scenario)
        // Not at a moment at which the signal is measured: before or after it is not said.
        first.run(until: 31)
        second.run(until: 31)
        try second.device.change(change)
        for second30 in [40, 60, 100] as [Int64] {
            first.run(until: second30)
            second.run(until: second30)
        }
        #expect(first.decisions == second.decisions)
        #expect(first.joined == second.joined)
        #expect(first.decisions.count > 1)
    }

    /// An access point that was off does not know its stations any more, however short that was.
    @Test func anAccessPointThatIsBackBeforeItWasMissedHasForgottenTheDevice() throws {
        var life = Life(Sketch.house(seconds: 60))
        life.run(until: 10)
        try life.device.change("home off")
        life.run(untilMilliseconds: 10_100)
        try life.device.change("home on")
        #expect(life.joined == ["home"])
        life.run(until: 30)
        #expect(life.decisions.contains { $0.contains("lost") }, "\(life.decisions)")
        #expect(life.joined == ["home"])
    }

    @Test func aWorldThatIsChangedForDaysDoesNotGrow() throws {
        var life = Life(Sketch.house(seconds: 60))
        for round in 0..<500 as Range<Int64> {
            life.run(until: 20 * round)
            try life.device.change(round.isMultiple(of: 2) ? "home off" : "home on")
            try life.device.change("backup signal \(-60 - round % 7) over 5s")
            try life.device.change("interference 2400-2420MHz loss 10% for 1s")
        }
        #expect(life.device.happenings < 20)
    }

    @Test func aDeviceThatIsCarriedAwayHearsNothingAndIsBackLater() throws {
        var life = Life(Sketch.house(seconds: 60))
        life.run(until: 10)
        try life.device.change("away")
        life.run(until: 60)
        #expect(life.joined == [])
        try life.device.change("back")
        life.run(until: 300)
        #expect(life.joined == ["home"])
        #expect(life.device.world.accessPoints.map(\.signal) == [-50, -60])
    }

    @Test func whatIsNoChangeOfTheWorldIsRefused() {
        var life = Life(Sketch.house(seconds: 60))
        life.run(until: 5)
        let before = life.device.world
        for text in ["", "nix off", "home", "home off now", "home signal 5", "home\u{7}off", "at 5s home off"] {
            #expect(throws: WorldError.self, "\(text)") { try life.device.change(text) }
        }
        for text in ["command Backup", "told Home open", "suspend for 5s", "agent restarts"] {
            let error = #expect(throws: WorldError.self) { try life.device.change(text) }
            #expect(error?.code == .unsupported, "\(text)")
        }
        #expect(life.device.world == before)
    }

    /// Passwords count as the app sends them, in networks that the scenario does not have the device know too.
    @Test func theDeviceJoinsWhatItIsTold() throws {
        var scenario = Sketch.house(seconds: 60)
        scenario.accessPoints.append(Sketch.accessPoint("Shed", megahertz: 2462, password: "shed password"))
        var life = Life(scenario)
        life.run(until: 10)
        try life.switchTo("Shed", password: "not the password")
        life.run(until: 60)
        #expect(life.joined == ["home"])
        #expect(life.outcomes.last?.phase == .rolledBack && life.outcomes.last?.reason?.rawValue == "wrongKey")
        try life.switchTo("Nowhere", password: "shed password")
        life.run(until: 120)
        #expect(life.outcomes.last?.phase == .rolledBack)
        try life.switchTo("Shed", password: "shed password")
        life.run(until: 180)
        #expect(life.joined == ["shed"])
        #expect(life.outcomes.last?.phase == .committed)
    }
}

/// A live device with a key file that stores at once, and no apps.
private struct Life {
    var device: RealTimeDevice
    private(set) var decisions: [String] = []
    private(set) var outcomes: [SwitchStatus] = []
    private var state: StoredState
    private var requests: UInt64 = 0
    private static let key = Secret(text: "the key of a device in a test")

    init(_ scenario: Scenario, hasStory: Bool = false) {
        state = RealTimeDevice.firstState(of: scenario) { _, _ in Secret(Array(repeating: 7, count: 32)) }
        device = RealTimeDevice(
            scenario, hasStory: hasStory, hasNoise: true, seed: 1, state: state, maximumBackups: 3, localKey: Self.key,
            beginning: Timestamp(millisecondsSince1970: 0))
    }

    var joined: [String] { device.world.accessPoints.filter(\.joined).map(\.name) }

    mutating func run(until seconds: Int64) { run(untilMilliseconds: seconds * 1000) }

    mutating func run(untilMilliseconds moment: Int64) {
        while true {
            device.run(until: min(max(device.now, device.nextMoment), moment))
            attend()
            if device.nextMoment > moment { break }
        }
        device.run(until: moment)
        attend()
    }

    mutating func switchTo(_ name: String, password: String) throws {
        requests += 1
        let network = StoredNetwork(
            ssid: Sketch.ssid(name),
            credential: .passphrase(Secret(text: password), psk: Secret(Array(repeating: 7, count: 32))),
            security: .wpa2, isHidden: false)
        device.handle(
            .request(
                RequestID(requests),
                .switchNetwork(.new(network), confirmWithin: nil, joinOnce: false, switchID: "switch-\(requests)")))
        attend()
        device.handle(.answerSent(switchID: "switch-\(requests)"))
        attend()
    }

    private mutating func attend() {
        while true {
            let effects = device.drainEffects()
            if effects.isEmpty { return }
            for effect in effects {
                switch effect {
                case .publish(.decision(let decision)): decisions.append(decision.text)
                case .publish(.switchProgress(let status)):
                    if status.phase.isEnd { outcomes.append(status) }
                case .commit(let id, let change):
                    try? change.apply(to: &state)
                    device.committed(id, state)
                default: break
                }
            }
        }
    }
}

extension SwitchPhase {
    fileprivate var isEnd: Bool { self == .committed || self == .rolledBack || self == .failed }
}
