import AgentModel
import FoundationEssentials
import Glibc
import KeyFile
import Testing

extension Radios {
    /// The key file's devices as the kernel has them: flash with erase blocks and bad ones, partitions, read-only ones.
    @Suite(.onSimulatedDevices) struct KeyFileDeviceTests {
        private func open(_ path: String, _ body: (any Medium) throws -> Void) throws {
            try body(#require(try DeviceMedium.open(path: path)))
        }

        // covers: seed/no-plain-password
        @Test(arguments: [
            (SimulatedDevice.nor(eraseSize: 1), Geometry(sectorSize: 4096, sectorCount: 64, writeUnit: 16)),
            (.nor(size: 64, eraseSize: 4), Geometry(sectorSize: 4096, sectorCount: 16, writeUnit: 16)),
            (.nor(eraseSize: 64), Geometry(sectorSize: 65536, sectorCount: 8, writeUnit: 16)),
            (.nand(), Geometry(sectorSize: 131_072, sectorCount: 8, writeUnit: 2048)),
            (.smallPageNAND(eraseBlocks: 70), Geometry(sectorSize: 16384, sectorCount: 64, writeUnit: 512)),
            (.disk(size: 66), Geometry(sectorSize: 4096, sectorCount: 16, writeUnit: 16)),
            (.disk(), Geometry(sectorSize: 4096, sectorCount: 64, writeUnit: 16)),
        ])
        func keepsWhatIsWritten(to device: SimulatedDevice, _ geometry: Geometry?) throws {
            let geometry = try #require(geometry)
            let sector = geometry.sectorCount - 1
            let start = sector * geometry.sectorSize
            let first = noise(1000, seed: 1)
            let second = noise(geometry.writeUnit + 1, seed: 2)
            // The beginning of the next write unit.
            let offset = (first.count + geometry.writeUnit - 1) / geometry.writeUnit * geometry.writeUnit
            var expected = [UInt8](repeating: 0xff, count: geometry.sectorSize)
            expected.replaceSubrange(..<first.count, with: first)
            expected.replaceSubrange(offset..<(offset + second.count), with: second)

            try device.use { path in
                try open(path) { medium in
                    #expect(medium.geometry == geometry)
                    #expect(medium.isPresent)
                    try medium.requireWritable()
                    if medium.isRewritable { try medium.erase(sector: sector) }
                    try medium.begin(sector: sector, with: first)
                    try medium.append(second, at: start + offset)
                    try medium.synchronise()
                    #expect(try medium.bytes(in: sector) == expected)
                }
                try open(path) { medium in
                    #expect(try medium.bytes(in: sector) == expected)
                    let untouched: UInt8 = medium.isRewritable ? 0 : 0xff
                    #expect(try medium.bytes(in: sector - 1).allSatisfy { $0 == untouched })
                    #expect(try medium.bytes(start - 3, 5) == [untouched, untouched, untouched] + first[..<2])

                    try medium.begin(sector: sector, with: second)
                    let units = 2 * geometry.writeUnit
                    let padding = [UInt8](repeating: 0xff, count: units - second.count)
                    let blank = [UInt8](repeating: 0xff, count: geometry.sectorSize - units)
                    let rest = medium.isRewritable ? Array(expected[units...]) : blank
                    #expect(try medium.bytes(in: sector) == second + padding + rest)
                    try medium.erase(sector: sector)
                    #expect(try medium.bytes(in: sector).allSatisfy { $0 == 0xff })
                    #expect(throws: KeyFileError.foreignContent(path: path)) { try medium.setAside() }
                }
            }
        }

        @Test(arguments: [SimulatedDevice.nor(eraseSize: 4), .nand(), .disk()])
        func belongsToOneProcess(_ device: SimulatedDevice) throws {
            try device.use { path in
                try open(path) { _ in
                    #expect(throws: KeyFileError.inUse(path: path)) { try DeviceMedium.open(path: path) }
                }
                try open(path) { _ in }
            }
        }

        @Test func whatTheSystemUsesIsNotTaken() throws {
            try SimulatedDevice.disk().use { path in
                try SimulatedDevice.run("mkswap", [path])
                try SimulatedDevice.run("swapon", [path])
                defer { #expect(throws: Never.self) { try SimulatedDevice.run("swapoff", [path]) } }
                #expect(throws: KeyFileError.inUse(path: path)) { try DeviceMedium.open(path: path) }
            }
        }

        @Test(arguments: [
            (SimulatedDevice.nor(size: 128, eraseSize: 128), 131_072, 262_144),
            (.nor(size: 4, eraseSize: 1), 4096, 8192),
            (.nand(eraseBlocks: 1), 131_072, 262_144), (.nand(eraseBlocks: 3, "badblocks=0,2"), 131_072, 262_144),
            (.disk(size: 4), 4096, 8192),
        ])
        func tooSmall(_ device: SimulatedDevice, bytes: Int, needed: Int) throws {
            try device.use { path in
                #expect(throws: KeyFileError.tooSmall(path: path, bytes: bytes, needed: needed)) {
                    try DeviceMedium.open(path: path)
                }
            }
        }

        @Test(arguments: [SimulatedDevice.nor(size: 48, eraseSize: 3), .nor(size: 8192, eraseSize: 2048)])
        func unsuitable(_ device: SimulatedDevice) throws {
            try device.use { path in
                #expect {
                    try DeviceMedium.open(path: path)
                } throws: { error in
                    guard case KeyFileError.unsuitableDevice(path, _) = error else { return false }
                    return true
                }
            }
        }

        @Test func theBlockDeviceOfFlashIsRefused() throws {
            try SimulatedDevice.nor(eraseSize: 64).use { path in
                try SimulatedDevice.run("modprobe", ["mtdblock"])
                defer { #expect(throws: Never.self) { try SimulatedDevice.run("modprobe", ["-r", "mtdblock"]) } }
                let block = path.replacing("mtd", with: "mtdblock")
                let error = #expect(throws: KeyFileError.self) { try DeviceMedium.open(path: block) }
                guard case .unsuitableDevice(block, let problem)? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(problem.hasSuffix(" \(path)"), "it names the device to use")
            }
        }

        @Test func readOnlyFlashIsRead() throws {
            try SimulatedDevice.nor(eraseSize: 4).use { path in
                try open(path) { try $0.begin(sector: 1, with: noise(100, seed: 1)) }
                try expectReadOnly(path + "ro")
            }
        }

        @Test func aReadOnlyDiskIsRead() throws {
            try SimulatedDevice.disk().use { path in
                try open(path) { try $0.begin(sector: 1, with: noise(100, seed: 1)) }
                try SimulatedDevice.run("blockdev", ["--setro", path])
                try expectReadOnly(path)
            }
        }

        private func expectReadOnly(_ path: String) throws {
            try open(path) { medium in
                #expect(throws: KeyFileError.system(.write, path: path, errno: EROFS)) { try medium.requireWritable() }
                let stored = try medium.bytes(in: 1)
                #expect(stored.starts(with: noise(100, seed: 1)))
            }
        }

        @Test func badBlocksReadAsBlankAndAreNotTouched() throws {
            try SimulatedDevice.nand("badblocks=2").use { path in
                try open(path) { medium in
                    #expect(medium.geometry.sectorCount == 8)
                    #expect(try medium.bytes(in: 2).allSatisfy { $0 == 0xff })
                    let bad = KeyFileError.badSector(path: path, number: 2)
                    #expect(throws: bad) { try medium.begin(sector: 2, with: noise(100, seed: 1)) }
                    #expect(throws: bad) { try medium.erase(sector: 2) }
                    try medium.begin(sector: 3, with: noise(100, seed: 1))
                    #expect(try medium.bytes(in: 3).starts(with: noise(100, seed: 1)))
                }
            }
        }

        /// Erase block 2 can be erased once; page 0 of block 3 and page 1 of block 4 can be written once.
        @Test func aFailingBlockIsSaidToBeBad() throws {
            try SimulatedDevice.nand("weakblocks=2:1", "weakpages=192:1,257:1").use { path in
                try open(path) { medium in
                    for sector in 2...3 {
                        try medium.begin(sector: sector, with: noise(100, seed: 1))
                        #expect(throws: KeyFileError.badSector(path: path, number: sector)) {
                            try medium.begin(sector: sector, with: noise(100, seed: 2))
                        }
                    }
                    let start = medium.geometry.sectorSize * 4
                    try medium.begin(sector: 4, with: noise(100, seed: 1))
                    try medium.append(noise(100, seed: 2), at: start + 2048)
                    try medium.begin(sector: 4, with: noise(100, seed: 3))
                    #expect(throws: KeyFileError.system(.write, path: path, errno: EIO)) {
                        try medium.append(noise(100, seed: 4), at: start + 2048)
                    }
                    #expect(try medium.bytes(start, 100) == noise(100, seed: 3))
                }
            }
        }

        @Test func whatTheChipDoesNotTakeIsNoticed() throws {
            try SimulatedDevice.nand().use { path in
                try open(path) { medium in
                    try medium.begin(sector: 1, with: [UInt8](repeating: 0x0f, count: 2048))
                    // Only an erasure sets bits.
                    #expect(throws: KeyFileError.system(.write, path: path, errno: EIO)) {
                        try medium.append([UInt8](repeating: 0xf0, count: 2048), at: medium.geometry.sectorSize)
                    }
                }
            }
        }

        @Test func flippedBitsAreCorrectedByTheKernel() throws {
            try SimulatedDevice.nand("bitflips=1").use { path in
                try open(path) { medium in
                    let content = noise(10_000, seed: 1)
                    try medium.begin(sector: 1, with: content)
                    for _ in 1...20 { #expect(try medium.bytes(medium.geometry.sectorSize, 10_000) == content) }
                }
            }
        }
    }
}

/// Bytes that look random and are the same for the same seed.
private func noise(_ count: Int, seed: UInt32) -> [UInt8] {
    var state = seed
    return (0..<count).map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return UInt8(truncatingIfNeeded: state >> 24)
    }
}

extension Medium {
    fileprivate func bytes(in sector: Int) throws -> [UInt8] {
        try bytes(sector * geometry.sectorSize, geometry.sectorSize)
    }

    func bytes(_ offset: Int, _ count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0xaa, count: count)
        try bytes.withUnsafeMutableBytes { try read(at: offset, into: $0) }
        return bytes
    }

    fileprivate func begin(sector: Int, with bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { try begin(sector: sector, with: $0) }
    }

    fileprivate func append(_ bytes: [UInt8], at offset: Int) throws {
        try bytes.withUnsafeBytes { try append($0, at: offset) }
    }
}

extension Radios {
    /// The whole key file on flash and on disks.
    @Suite(.extended, .onSimulatedDevices) struct StoreOnDevicesTests {
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

        // covers: seed/credentials-in-flash
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
