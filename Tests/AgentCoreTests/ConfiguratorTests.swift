import AgentModel
import AppProtocol
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
        bench.tell(.begin(inUse: "wlan0"))
        bench.tell(.atWork)
        #expect(bench.tell(.supplicant("wlan0", .unavailable)).filter { $0.hasPrefix("listen") }.isEmpty)
        var effects = bench.tell(.supplicant("wlan0", .available))
        effects += bench.tell(.linkAnswer("wlan0", .whatIsThere(bench.question), .notLinked))
        #expect(effects.filter { $0.hasPrefix("listen") } == ["listen wlan0 true"])
        // A configurator that has failed is listened for again.
        #expect(bench.tell(.supplicant("wlan0", .configuratorLeft)) == ["listen wlan0 true"])
        #expect(bench.tell(.supplicant("wlan0", .unavailable)).contains("listen wlan0 false"))
    }

    @Test func aSwitchEndsIt() throws {
        var bench = try fresh()
        bench.tell(.begin(inUse: "wlan0"))
        bench.tell(.atWork)
        bench.tell(.supplicant("wlan0", .available))
        bench.tell(.linkAnswer("wlan0", .whatIsThere(bench.question), .notLinked))
        bench.tell(
            .request(
                7,
                .switchNetwork(.new(bench.home), confirmWithin: nil, joinOnce: false, besideUplink: true, switchID: "s")
            ))
        var effects: [String] = []
        for id in Array(bench.changes.keys) { effects += try bench.store(id) }
        effects += bench.tell(.answered(switchID: "s"))
        #expect(effects.filter { $0.hasPrefix("listen") } == ["listen wlan0 false"], "\(effects)")
        // The network that came is being looked for: nothing is listened for.
        #expect(bench.tell(.supplicant("wlan0", .configuratorLeft)).isEmpty)
    }

    @Test func aDeviceWithANetworkDoesNot() throws {
        var bench = try CoreBench(listensForConfigurator: true)
        try bench.start()
        #expect(
            bench.tell(.supplicant("wlan0", .disconnected(reason: 4, locallyGenerated: true))).filter {
                $0.hasPrefix("listen")
            }.isEmpty)
        var off = try fresh(listens: false)
        off.tell(.begin(inUse: "wlan0"))
        off.tell(.atWork)
        #expect(off.tell(.supplicant("wlan0", .available)).filter { $0.hasPrefix("listen") }.isEmpty)
    }
}
