import KeyFile

/// What a store is on in a run.
package enum Scenario: String, CaseIterable, Sendable, CustomStringConvertible {
    /// A file, and a file with an anchor beside it.
    case file
    case anchoredFile
    /// NOR flash of the smallest size, and larger.
    case smallestFlash
    case smallFlash
    case wideFlash
    /// NAND flash, whose pages can be written once.
    case pagedFlash
    /// NOR flash in which the second of four sectors is bad.
    case wornFlash
    /// A file, NOR flash with bad sectors, and NAND flash whose states take several sectors.
    case largeFile
    case largeFlash
    case largePagedFlash
    /// A file and flash that an altnet with version 2 of the format has written.
    case formerFile
    case formerFlash

    package var description: String { rawValue }

    private var geometry: Geometry? {
        switch self {
        case .file, .anchoredFile, .largeFile, .formerFile: .file
        case .smallestFlash: Geometry(sectorSize: 4096, sectorCount: 2, writeUnit: 16)
        case .smallFlash, .wornFlash, .formerFlash: Geometry(sectorSize: 4096, sectorCount: 4, writeUnit: 16)
        case .largeFlash: Geometry(sectorSize: 4096, sectorCount: 14, writeUnit: 16)
        case .largePagedFlash: Geometry(sectorSize: 16384, sectorCount: 6, writeUnit: 2048)
        case .wideFlash: Geometry(sectorSize: 8192, sectorCount: 3, writeUnit: 16)
        case .pagedFlash: Geometry(sectorSize: 16384, sectorCount: 4, writeUnit: 2048)
        }
    }

    private var isFile: Bool { [.file, .anchoredFile, .largeFile, .formerFile].contains(self) }

    /// How many bytes a state can have beside networks and counters.
    package var ballast: Int {
        switch self {
        case .largeFile: 30_000
        case .largeFlash: 18_000
        case .largePagedFlash: 34_000
        default: 0
        }
    }

    /// Whether the store begins in the former version of the format.
    package var isFormer: Bool { self == .formerFile || self == .formerFlash }

    package func storage(seed: UInt64) -> any SimulatedStorage {
        guard !isFile, let geometry else { return SimulatedDisk(seed: seed) }
        let flash = SimulatedFlash(geometry, seed: seed)
        if self == .wornFlash { flash.badSectors = [1] }
        if self == .largeFlash { flash.badSectors = [3, 7] }
        return flash
    }

    package func board(seed: UInt64) -> SimulatedBoard {
        let isAnchored = [.anchoredFile, .smallFlash, .largeFlash, .formerFile].contains(self)
        return SimulatedBoard(storage(seed: seed), isAnchored: isAnchored, seed: seed)
    }
}
