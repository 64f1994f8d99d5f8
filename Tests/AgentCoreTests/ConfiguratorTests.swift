import AgentModel
import KeyFile
import Testing

@testable import AgentCore

/// A device listens for a configurator while there is nothing else to do.
@Suite struct ConfiguratorTests {
    private func fresh(listens: Bool = true, disk: StoredState = StoredState()) throws -> CoreBench {
        try CoreBench(disk: disk, listensForConfigurator: listens)
    }

    @Test func aNewDeviceListensWhenWpaSupplicantIsThere() throws {
        var bench = try fresh()
        bench.handle(.begin(inUse: "wlan0"))
        bench.handle(.atWork)
        #expect(bench.handle(.supplicant("wlan0", .unavailable)).filter { $0.hasPrefix("listen") }.isEmpty)
        var effects = bench.handle(.supplicant("wlan0", .available))
        effects += bench.handle(.linkAnswer("wlan0", .whatIsThere(bench.question), .notLinked))
        #expect(effects.filter { $0.hasPrefix("listen") } == ["listen wlan0 true"])
        // A configurator that has failed is listened for again.
        #expect(bench.handle(.configuratorLeft("wlan0")) == ["listen wlan0 true"])
        #expect(bench.handle(.supplicant("wlan0", .unavailable)).contains("listen wlan0 false"))
    }

    @Test func aSwitchEndsIt() throws {
        var bench = try fresh()
        bench.handle(.begin(inUse: "wlan0"))
        bench.handle(.atWork)
        bench.handle(.supplicant("wlan0", .available))
        bench.handle(.linkAnswer("wlan0", .whatIsThere(bench.question), .notLinked))
        bench.handle(
            .request(
                7,
                .switchNetwork(.new(bench.home), confirmWithin: nil, joinOnce: false, besideUplink: true, switchID: "s")
            ))
        var effects: [String] = []
        for id in Array(bench.changes.keys) { effects += try bench.store(id) }
        effects += bench.handle(.answerSent(switchID: "s"))
        #expect(effects.filter { $0.hasPrefix("listen") } == ["listen wlan0 false"], "\(effects)")
        // The network that came is being looked for: nothing is listened for.
        #expect(bench.handle(.configuratorLeft("wlan0")).isEmpty)
    }

    @Test func aDeviceWithANetworkDoesNot() throws {
        var bench = try CoreBench(listensForConfigurator: true)
        try bench.start()
        #expect(
            bench.handle(.supplicant("wlan0", .disconnected(reason: 4, locallyGenerated: true))).filter {
                $0.hasPrefix("listen")
            }.isEmpty)
        var off = try fresh(listens: false)
        off.handle(.begin(inUse: "wlan0"))
        off.handle(.atWork)
        #expect(off.handle(.supplicant("wlan0", .available)).filter { $0.hasPrefix("listen") }.isEmpty)
    }
}
