import AgentModel
import Linux
import Testing

@testable import Supplicant

private let first = "02:00:00:00:01:00"
private let second = "02:00:00:00:01:01"

private func connected(_ bssid: String, network: Int) -> String {
    "CTRL-EVENT-CONNECTED - Connection to \(bssid) completed [id=\(network) id_str=]"
}

/// From one access point of a network to another.
@Suite(.timeLimit(.minutes(1))) struct RoamTests {
    /// A bench on which the network is joined at the first access point.
    @AgentLoop private func joined() async throws -> Bench {
        let bench = Bench()
        await bench.start()
        bench.fake.say([connected(first, network: 0)], after: "SELECT_NETWORK 0")
        try await bench.supplicant.join(Example.request(bssid: BSSID(first)), attempt: 1)
        #expect(await bench.log.next() == .connected(attempt: 1, bssid: try #require(BSSID(first))))
        return bench
    }

    /// wpa_supplicant stays where it is if it is told to select the network that it has selected: it needs to be another.
    @Test @AgentLoop func movesToTheOtherAccessPoint() async throws {
        let bench = try await joined()
        bench.fake.say([connected(second, network: 1)], after: "SELECT_NETWORK 1")
        try await bench.supplicant.join(Example.request(bssid: BSSID(second), frequencies: [2437]), attempt: 2)
        #expect(await bench.log.next() == .disconnected(reason: 0, locallyGenerated: true))
        #expect(await bench.log.next() == .connected(attempt: 2, bssid: try #require(BSSID(second))))
        #expect(bench.fake.network(1)?["bssid"] == second)
        #expect(await bench.fake.reaches { $0.networks == [1] })
    }

    /// What the old network says to the end is not the outcome of the new one.
    @Test @AgentLoop func theOldLinksEventsAreNotTheNewOnes() async throws {
        let bench = try await joined()
        try await bench.supplicant.join(Example.request(bssid: BSSID(second)), attempt: 2)
        #expect(await bench.log.next() == .disconnected(reason: 0, locallyGenerated: true))
        bench.fake.say(connected(first, network: 0), "CTRL-EVENT-ASSOC-REJECT bssid=\(second) status_code=17")
        guard case .joinFailed(2, .accessPointFull, _) = await bench.log.next() else {
            Issue.record("not a failure: \(bench.log.all)")
            return
        }
        #expect(bench.fake.knownNetworks.isEmpty)
    }
}
