import AgentModel
import FoundationEssentials
import Glibc
import KeyFile
import Testing

extension Radios {
    /// The whole key file on flash and on disks.
    @Suite(.onSimulatedDevices) struct StoreOnDevicesTests {
        private let rootKey: RootKeyFile

        init() throws {
            let path = "/run/store-on-devices"
            try? FileManager.default.removeItem(atPath: path)
            rootKey = try RootKeyFile(path: "\(path)/root-key")
        }

        private func open(_ path: String, _ body: (KeyFile) throws -> Void) throws {
            try body(KeyFile.open(path: path, maximumBackups: 10, rootKey: rootKey))
        }

        private static func geometry(of path: String) throws -> Geometry {
            try #require(try DeviceMedium.open(path: path)).geometry
        }

        private static func content(of path: String) throws -> [UInt8] {
            let medium = try #require(try DeviceMedium.open(path: path))
            return try medium.bytes(0, medium.geometry.size)
        }

        /// A state with much in it, so that sectors fill up soon; another one for every number.
        private func state(_ number: Int) throws -> StoredState {
            let backups = try (0..<10).map { index in
                let password = "password \(number) of \(index) " + String(repeating: "x", count: 40)
                let psk = Secret(repeatElement(UInt8(truncatingIfNeeded: number), count: 32))
                return StoredNetwork(
                    ssid: try SSID("Network \(index)"), credential: .passphrase(Secret(text: password), psk: psk))
            }
            return StoredState(backups: backups, backupsRevision: UInt64(number))
        }

        @Test(arguments: [
            SimulatedDevice.nor(size: 64, eraseSize: 4), .nor(size: 192, eraseSize: 64),
            .nand(eraseBlocks: 3, "bitflips=1"), .smallPageNAND(eraseBlocks: 8), .disk(size: 64),
            // The chip has given two up, and two more fail on the way.
            .nand(eraseBlocks: 6, "badblocks=0,3", "weakblocks=1:1,5:2"),
        ])
        func goesRoundAllSectorsAndIsFoundAgain(on device: SimulatedDevice) throws {
            try device.use { path in
                let sectors = try Self.geometry(of: path).sectorCount
                var number = 0
                var begun = 0
                while begun < sectors + 2 {
                    try open(path) { store in
                        #expect(store.report.isEmpty)
                        #expect(try store.state == (number == 0 ? StoredState() : state(number)))
                        repeat {
                            number += 1
                            try store.commit(state(number))
                        } while store.usage.sectorsBegun < max(sectors / 2, 2)
                        begun += store.usage.sectorsBegun
                    }
                }
                #expect(number > begun)
                let last = try state(number)
                try open(path) { #expect($0.state == last) }
            }
        }

        @Test func aPageThatHasWornOutIsPassedOver() throws {
            // The page behind the first snapshot.
            try SimulatedDevice.nand("weakpages=3:0").use { path in
                try open(path) { store in
                    for number in 1...6 { try store.commit(state(number)) }
                    // One sector for the first state, and one because its next page does not take anything.
                    #expect(store.usage.sectorsBegun == 2)
                }
                let last = try state(6)
                try open(path) { #expect($0.state == last) }
            }
        }

        @Test func aReadOnlyDeviceIsRead() throws {
            try SimulatedDevice.nor(eraseSize: 4).use { path in
                try open(path) { try $0.commit(state(1)) }
                try open(path + "ro") { store in
                    let stored = try state(1)
                    #expect(store.state == stored)
                    #expect(throws: KeyFileError.system(.write, path: path + "ro", errno: EROFS)) {
                        try store.commit(state(2))
                    }
                }
            }
        }

        @Test func whatIsNoStoreIsNotOverwritten() throws {
            try SimulatedDevice.disk().use { path in
                try SimulatedDevice.run("mkswap", [path])
                let before = try Self.content(of: path)
                try open(path) { store in
                    #expect(store.report == [.unreadable(keptAs: nil)])
                    #expect(throws: KeyFileError.foreignContent(path: path)) { try store.commit(state(1)) }
                }
                #expect(try Self.content(of: path) == before)
            }
        }
    }
}
