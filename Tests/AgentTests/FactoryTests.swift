import AgentModel
import AppProtocol
import KeyFile
import KeyFileSimulation
import Randomness
import Testing

@testable import Agent

/// Provisioning and reset, with the power cut at every step.
@Suite struct FactoryTests {
    private static func home() throws -> StoredNetwork {
        StoredNetwork(
            ssid: try SSID("HomeNet"),
            credential: .passphrase(Secret(text: "correct horse"), psk: Secret(Array(1...32))))
    }

    private static func identity(_ id: String) throws -> DeviceIdentity {
        DeviceIdentity(key: try DeviceKey(deviceId: id, localKey: Secret(text: id + "-7c1f94d2a86be035")))
    }

    // MARK: A device on a simulated disk

    private static func rootKey(on disk: SimulatedDisk) -> RootKeyFile {
        RootKeyFile(name: "root-key", files: disk, random: SeededRandom(seed: 7))
    }

    private static func open(_ disk: SimulatedDisk) throws -> KeyFile {
        try KeyFile(
            on: try disk.medium(), path: "/store/keyfile", maximumBackups: 3, rootKey: rootKey(on: disk), now: { 1 })
    }

    private static func inspect(_ disk: SimulatedDisk) throws -> Provisioning.Device {
        let hasRootKey = try rootKey(on: disk).load() != nil
        return try Provisioning.Device(state: disk, hasRootKey: hasRootKey, stored: try open(disk).state)
    }

    @discardableResult
    private static func provision(_ provisioning: Provisioning, _ disk: SimulatedDisk) throws -> Provisioning.Plan {
        if let scope = try FactoryReset.underWay(in: disk) { try reset(scope, disk) }
        let plan = try provisioning.plan(for: try inspect(disk))
        _ = try rootKey(on: disk).makeFirst()
        _ = try provisioning.provideIdentity(plan, in: disk)
        try provisioning.provideState(plan, in: try open(disk))
        return plan
    }

    private static func reset(_ scope: FactoryReset.Scope, _ disk: SimulatedDisk) throws {
        let store = StoreEraser(name: SimulatedDisk.storeName, in: disk)
        let reset = FactoryReset(scope, state: disk, rootKey: rootKey(on: disk), store: store)
        try reset.begin()
        _ = try reset.destroyRootKey()
        _ = try reset.finish()
    }

    private static func provisioned() throws -> SimulatedDisk {
        let disk = SimulatedDisk()
        try provision(Provisioning(identity: .given(try identity("lamp-01")), network: try home()), disk)
        try Secret(text: "{}").withBytes { bytes throws(KeyFileError) in try disk.replace("app-keys", with: bytes) }
        return disk
    }

    /// The disk as a power cut may leave it, at each operation of `body`, in every way.
    private static func cuts(
        _ disk: SimulatedDisk, _ body: (SimulatedDisk) throws -> Void
    ) rethrows -> [SimulatedDisk] {
        var random = SeededRandom(seed: 5)
        var copies: [SimulatedDisk] = []
        disk.onOperation = {
            for outcome in CutOutcome.allCases {
                if let copy = disk.afterPowerCut(outcome, using: &random) as? SimulatedDisk { copies.append(copy) }
            }
        }
        try body(disk)
        disk.onOperation = nil
        return copies
    }

    // MARK: Provisioning

    @Test func makesWhatIsMissingAndKeepsTheRest() throws {
        let disk = SimulatedDisk()
        let first = try Self.provision(Provisioning(), disk)
        #expect(first == Provisioning.Plan(rootKey: .made, identity: .made))
        let files = disk.files
        let id = try IdentityFolder(disk).read().id
        #expect(try Self.provision(Provisioning(), disk).changesNothing)
        #expect(try Self.provision(Provisioning(identity: .named(id)), disk).changesNothing)
        #expect(disk.files == files)
        let network = Provisioning(network: try Self.home())
        #expect(try Self.provision(network, disk).network == .made)
        #expect(try Self.open(disk).state.home == Self.home())
        #expect(try Self.provision(network, disk).changesNothing)
    }

    @Test func aNameReplacesAnotherAndKeepsTheNetworks() throws {
        let disk = try Self.provisioned()
        var provisioning = Provisioning()
        for (text, step) in [("Kitchen", Provisioning.Step.made), ("Kitchen", .kept), ("Attic", .replaced)] {
            provisioning.name = try DeviceName(text)
            #expect(try Self.provision(provisioning, disk).name == step)
            #expect(try Self.open(disk).state.name?.text == text)
        }
        #expect(try Self.open(disk).state.home == Self.home())
    }

    @Test func anotherIdentityAndAnotherHomeNeedForce() throws {
        let disk = try Self.provisioned()
        let files = disk.files
        var other = Provisioning(identity: .given(try Self.identity("lamp-02")))
        #expect(throws: ProvisioningConflict.identity("lamp-01")) { try Self.provision(other, disk) }
        #expect(throws: ProvisioningConflict.identity("lamp-01")) {
            try Self.provision(Provisioning(identity: .named("lamp-02")), disk)
        }
        var network = Provisioning(
            network: StoredNetwork(ssid: try SSID("Shop"), credential: .none, security: .open))
        #expect(throws: ProvisioningConflict.network(try SSID("HomeNet"))) { try Self.provision(network, disk) }
        #expect(disk.files == files)

        other.replaces = true
        #expect(try Self.provision(other, disk).identity == .replaced)
        #expect(try IdentityFolder(disk).read().id == "lamp-02")
        #expect(try Self.open(disk).state.home == Self.home())
        network.replaces = true
        #expect(try Self.provision(network, disk).network == .replaced)
        #expect(try Self.open(disk).state.home?.ssid == network.network?.ssid)
    }

    /// The floor of a home that is provisioned again by force is what its owner says.
    // covers: rule/floor-owner
    @Test func byForceTheSameHomeLosesItsFloor() throws {
        let disk = try Self.provisioned()
        let keyFile = try Self.open(disk)
        var state = keyFile.state
        state.home?.minimumSecurity = [.sae, .pmf]
        try keyFile.commit(state)
        var network = Provisioning(network: try Self.home())
        #expect(try Self.provision(network, disk).changesNothing)
        #expect(try Self.open(disk).state.home?.minimumSecurity == [.sae, .pmf])
        network.replaces = true
        #expect(try Self.provision(network, disk).network == .replaced)
        #expect(try Self.open(disk).state.home == Self.home())
        // One that was learned as well.
        state = try Self.open(disk).state
        var learned = LearnedMinimumSecurity()
        learned.countLink(with: .sae)
        state.statistics[try Self.home().ssid] = NetworkStatistics(learnedMinimumSecurity: learned)
        try Self.open(disk).commit(state)
        #expect(try Self.provision(network, disk).network == .replaced)
        #expect(try Self.open(disk).state.statistics.isEmpty)
        #expect(try Self.provision(network, disk).changesNothing)
    }

    /// After a power cut, and whatever the boot then makes at random, the same command ends with the device that was
    /// meant.
    @Test(arguments: [false, true])
    func aPowerCutLeavesADeviceThatCanBeFinished(isReplacing: Bool) throws {
        let disk = isReplacing ? try Self.provisioned() : SimulatedDisk()
        let new = try Self.identity("lamp-02")
        let known = isReplacing ? ["lamp-01", "lamp-02"] : ["lamp-02"]
        let wanted = Provisioning(identity: .given(new), network: try Self.home(), replaces: isReplacing)
        let copies = try Self.cuts(disk) { try Self.provision(wanted, $0) }
        #expect(copies.count > 100)
        for copy in copies {
            // Never the id of one device with the key of another.
            let found = try? IdentityFolder(copy).read()
            if let found {
                #expect(known.contains(found.id))
                #expect(found.hasKey(of: try Self.identity(found.id)))
            } else {
                #expect(!isReplacing)
                #expect(try IdentityFolder(copy).isEmpty)
            }
            try Self.provision(wanted, copy)
            #expect(try IdentityFolder(copy).read().hasKey(of: new))
            #expect(try Self.open(copy).state.home == Self.home())
            #expect(copy.files.keys.sorted() == ["certificate", "device-id", "keyfile", "local-key", "root-key"])
        }
    }

    // MARK: Reset

    @Test func aResetLeavesNothing() throws {
        let disk = try Self.provisioned()
        try Self.reset(.everything, disk)
        #expect(disk.files.isEmpty)
        let spared = try Self.provisioned()
        try Self.reset(.networks, spared)
        #expect(spared.files.keys.sorted() == ["certificate", "device-id", "local-key"])
        #expect(try IdentityFolder(spared).read().id == "lamp-01")
    }

    /// The keys of apps go before the mark does: with the mark gone an agent would take them.
    @Test(arguments: FactoryReset.Scope.allCases) func theMarkOutlivesTheKeysOfApps(scope: FactoryReset.Scope) throws {
        let disk = try Self.provisioned()
        var wasMarked = false
        disk.onOperation = {
            let isMarked = disk.files["factory-reset"] != nil
            wasMarked = wasMarked || isMarked
            #expect(!wasMarked || isMarked || disk.files["app-keys"] == nil)
        }
        try Self.reset(scope, disk)
        #expect(wasMarked && disk.files["app-keys"] == nil)
    }

    /// Every file of the state directory, also those that a power cut leaves.
    @Test(arguments: FactoryReset.Scope.allCases) func aResetTakesWhatTheListSays(scope: FactoryReset.Scope) throws {
        let files = PersistentFile.all.filter { [.state, .store, .rootKey].contains($0.location) }
        let content = Dictionary(uniqueKeysWithValues: files.flatMap(\.names).map { ($0, Array($0.utf8)) })
        let disk = SimulatedDisk(files: content)
        try Self.reset(scope, disk)
        let kept = files.filter { !$0.removedBy.contains(scope.remover) }.flatMap(\.names)
        #expect(disk.files.keys.sorted() == kept.sorted())
        #expect(disk.files.allSatisfy { content[$0.key] == $0.value })
        #expect(kept.isEmpty == (scope == .everything))
    }

    /// Removed data is overwritten first, as far as a file system lets that be seen.
    // covers: seed/no-plain-password
    @Test func whatGoesIsOverwrittenFirst() throws {
        let disk = try Self.provisioned()
        let key = try #require(disk.files["root-key"])
        var wasZero = false
        disk.onOperation = {
            if let now = disk.files["root-key"], now != key { wasZero = wasZero || now.allSatisfy { $0 == 0 } }
        }
        try Self.reset(.everything, disk)
        #expect(wasZero)
    }

    /// Before or wiped: a power cut leaves the device as it was, or marked as one that no agent uses, which the next
    /// run ends, cut short a second time or not.
    @Test(arguments: FactoryReset.Scope.allCases)
    func aPowerCutLeavesTheDeviceAsItWasOrWiped(scope: FactoryReset.Scope) throws {
        let disk = try Self.provisioned()
        let before = disk.files
        let copies = try Self.cuts(disk) { try Self.reset(scope, $0) }
        var seen: Set<Bool> = []
        for (index, copy) in copies.enumerated() {
            guard let found = try FactoryReset.underWay(in: copy) else {
                // A mark that was not there yet may have been under its other name.
                let left = copy.files.filter { $0.key != "factory-reset.new" }
                let isWiped =
                    scope == .everything
                    ? left.isEmpty : left.keys.sorted() == ["certificate", "device-id", "local-key"]
                #expect(left == before || isWiped)
                seen.insert(isWiped)
                continue
            }
            #expect(found == scope)
            // A second cut in some of them: in all of them it would take minutes.
            var again: [SimulatedDisk] = []
            if index % 53 == 0 {
                again = try Self.cuts(copy) { try Self.reset(found, $0) }
            } else {
                try Self.reset(found, copy)
            }
            for disk in again + [copy] {
                if let scope = try FactoryReset.underWay(in: disk) { try Self.reset(scope, disk) }
                #expect(disk.files["root-key"] == nil && disk.files["keyfile"] == nil)
                #expect(disk.files["app-keys"] == nil)
                #expect((disk.files["local-key"] != nil) == (scope == .networks))
                #expect(disk.files["local-key"] == before["local-key"] || scope == .everything)
            }
        }
        #expect(seen == [true, false])
    }

    @Test func provisioningFinishesAResetFirst() throws {
        let disk = try Self.provisioned()
        let store = StoreEraser(name: SimulatedDisk.storeName, in: disk)
        try FactoryReset(.everything, state: disk, rootKey: Self.rootKey(on: disk), store: store).begin()
        try Self.provision(Provisioning(), disk)
        #expect(try FactoryReset.underWay(in: disk) == nil)
        #expect(try IdentityFolder(disk).read().id != "lamp-01")
        #expect(try Self.open(disk).state.home == nil)
    }

    /// A mark that cannot be read does not say what it was to spare.
    @Test func aMarkThatCannotBeReadSparesNothing() throws {
        #expect(try FactoryReset.underWay(in: SimulatedDisk(files: ["factory-reset": [0xff]])) == .everything)
        #expect(
            try FactoryReset.underWay(in: SimulatedDisk(files: ["factory-reset": Array("networks\n".utf8)]))
                == .networks)
        #expect(try FactoryReset.underWay(in: SimulatedDisk()) == nil)
    }

    @Test func noAgentStartsOnADeviceThatIsBeingWiped() async throws {
        try await inFolder { folder in
            try FactoryReset.requireNone(in: folder)
            try Folder.open(folder).replace("factory-reset", with: UnsafeRawBufferPointer(start: nil, count: 0))
            let error = #expect(throws: UnfinishedReset.self) { try FactoryReset.requireNone(in: folder) }
            #expect(error?.description.contains("altnet factory-reset") == true)
        }
    }

    @Test func flashIsErasedSectorBySectorAsFarAsItCanBe() throws {
        let flash = SimulatedFlash(try #require(Geometry(sectorSize: 4096, sectorCount: 4, writeUnit: 16)))
        let key = HeldRootKey(RootKeys(current: Secret(Array(1...32))), source: "a test")
        let keyFile = try KeyFile(on: flash, path: "/dev/mtd9", maximumBackups: 3, rootKey: key, now: { 1 })
        try keyFile.commit(StoredState(home: try Self.home()))
        flash.badSectors = [3]
        let left = try StoreEraser(on: flash, path: "/dev/mtd9", hasBegun: false).destroy()
        #expect(left.count == 1)
        #expect(flash.bytes.prefix(3 * 4096).allSatisfy { $0 == 0xff })
    }

    /// A partition whose number is wrong in a setting.
    @Test func whatIsNoStoreIsNotErased() throws {
        let geometry = try #require(Geometry(sectorSize: 4096, sectorCount: 4, writeUnit: 16))
        let foreign = SimulatedFlash(geometry, bytes: [UInt8](repeating: 0x5a, count: geometry.size))
        #expect(throws: KeyFileError.foreignContent(path: "/dev/mtd9")) {
            _ = try StoreEraser(on: foreign, path: "/dev/mtd9", hasBegun: false)
        }
        // A store that was condemned before may be half erased.
        #expect(try StoreEraser(on: foreign, path: "/dev/mtd9", hasBegun: true).destroy().isEmpty)
    }
}
