import AgentModel
import AppProtocol
import Testing

@testable import AgentCore

/// The name of the device, from the request to the status.
@Suite struct DeviceNameTests {
    /// The change that sets the name, while it is not stored.
    private func naming(_ bench: CoreBench) -> CommitID? {
        bench.changes.first { if case .named = $0.value.kind { true } else { false } }?.key
    }

    // covers: seed/device-name
    @Test func aNameIsStoredBeforeItIsAnsweredAndClearedAgain() throws {
        var bench = try CoreBench()
        try bench.start()
        for name in [try DeviceName("Küche"), nil] {
            let before = bench.core.status(at: bench.core.now).deviceName
            bench.handle(.request(7, .setName(name)))
            #expect(bench.core.status(at: bench.core.now).deviceName == before)
            let id = try #require(naming(bench))
            #expect(try bench.store(id).contains("answer 7"))
            #expect(bench.disk.name == name && bench.core.status(at: bench.core.now).deviceName == name)
            #expect(bench.core.lastPublished.status?.deviceName == name)
        }
    }

    @Test func aNameThatCannotBeStoredChangesNothing() throws {
        var bench = try CoreBench()
        try bench.start()
        bench.handle(.request(7, .setName(try DeviceName("Küche"))))
        let id = try #require(naming(bench))
        #expect(bench.refuse(id).contains("answer 7 storageFailed"))
        #expect(bench.core.status(at: bench.core.now).deviceName == nil)
    }
}
