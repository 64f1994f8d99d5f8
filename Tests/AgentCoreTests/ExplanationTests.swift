import AgentModel
import Failover
import KeyFile
import Testing

@testable import AgentCore

// covers: seed/why-switched
@Suite struct ExplanationTests {
    @Test func aDeviceThatLooksForNoNetworkSaysWhy() throws {
        var manual = try CoreBench.network("Phone")
        manual.options.isManual = true
        let cases: [(StoredState?, AgentCore.SearchFault?)] = [
            (StoredState(), .nothingStored), (StoredState(backups: [manual]), .onlyManual), (nil, nil),
        ]
        for (disk, fault) in cases {
            var bench = try CoreBench(disk: disk)
            bench.handle(.begin(inUse: "wlan0"))
            bench.handle(.atWork)
            #expect(bench.core.searchFault == fault)
        }
    }

    private func decision(
        _ kind: PolicyDecision.Kind, from: String?, to: String?, bssid: String? = nil, _ cause: PolicyDecision.Cause
    ) throws -> PolicyDecision {
        PolicyDecision(
            at: Instant(milliseconds: 1), kind: kind, from: try from.map { try SSID($0) },
            to: try to.map { try SSID($0) },
            fromBSSID: nil, toBSSID: bssid.flatMap { BSSID($0) }, cause: cause, signal: -81, considered: [])
    }

    @Test func aMoveWithinANetworkIsNoJoin() throws {
        let roam = try decision(.join, from: "Home", to: "Home", bssid: "02:00:00:00:01:01", .weak)
        #expect(roam.text == "moving to the access point 02:00:00:00:01:01 of Home: the link was weak at -81 dBm")
        #expect(
            try decision(.join, from: "Home", to: "Attic", .weak).text == "joining Attic: the link was weak at -81 dBm")
        #expect(try decision(.join, from: nil, to: "Attic", .start).text == "joining Attic: nothing was joined yet")
    }

    @Test func whatANetworkIsGoodForIsTold() throws {
        #expect(
            try decision(.unusable, from: "Home", to: nil, .failure(.noInternet)).text
                == "Home is unusable: no internet access")
        #expect(
            try decision(.join, from: "Attic", to: "Home", .preferred).text
                == "joining Home: the preferred network is back")
    }
}
