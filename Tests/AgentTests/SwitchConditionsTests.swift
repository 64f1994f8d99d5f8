import AgentModel
import AppProtocol
import KeyFile
import Testing

@testable import Agent
@testable import AgentCore

/// Of several reasons against a switch, the document says which one is told.
@Suite struct SwitchConditionsTests {
    private let ssid: SSID
    private let running: SwitchLedger.Entry

    init() throws {
        ssid = try SSID("Attic")
        var ledger = SwitchLedger()
        running = ledger.open("s-1", target: try StoredNetwork(DecryptedNetwork(ssid: ssid, password: nil)))
    }

    @Test func nothingStandsInTheWay() {
        #expect(SwitchConditions().refusal(of: ssid) == nil)
        #expect(SwitchConditions(uplink: .wifi).refusal(of: ssid) == nil)
    }

    // covers: seed/switch-by-hash, seed/already-associated
    @Test func theFirstReasonIsTold() {
        var conditions = SwitchConditions(
            running: running, uplink: .wired, missingInterface: ProtocolError(.interfaceMissing, "there is none"),
            isAssociated: true)
        #expect(conditions.refusal(of: ssid)?.code == .switchInProgress)
        #expect(conditions.refusal(of: ssid)?.details == ["switchId": "s-1"])
        conditions.running = nil
        #expect(conditions.refusal(of: ssid)?.code == .cannotSwitch)
        conditions.uplink = nil
        #expect(conditions.refusal(of: ssid)?.code == .interfaceMissing)
        conditions.missingInterface = nil
        #expect(conditions.refusal(of: ssid)?.code == .alreadyAssociated)
    }

    // covers: seed/allowed-by-flags
    @Test(arguments: [Uplink.wired, .cellular, .other]) func anotherUplinkForbidsIt(uplink: Uplink) {
        #expect(SwitchConditions(uplink: uplink).refusal(of: ssid)?.code == .cannotSwitch)
        #expect(SwitchConditions(uplink: uplink, besideUplink: true).refusal(of: ssid) == nil)
    }
}
