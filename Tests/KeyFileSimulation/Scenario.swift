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

    package var description: String { rawValue }

    private var geometry: Geometry? {
        switch self {
        case .file, .anchoredFile: .file
        case .smallestFlash: Geometry(sectorSize: 4096, sectorCount: 2, writeUnit: 16)
        case .smallFlash, .wornFlash: Geometry(sectorSize: 4096, sectorCount: 4, writeUnit: 16)
        case .wideFlash: Geometry(sectorSize: 8192, sectorCount: 3, writeUnit: 16)
        case .pagedFlash: Geometry(sectorSize: 16384, sectorCount: 4, writeUnit: 2048)
        }
    }

    package func storage(seed: UInt64) -> any SimulatedStorage {
        guard self != .file, self != .anchoredFile, let geometry else { return SimulatedDisk(seed: seed) }
        let flash = SimulatedFlash(geometry, seed: seed)
        if self == .wornFlash { flash.badSectors = [1] }
        return flash
    }

    package func board(seed: UInt64) -> SimulatedBoard {
        let isAnchored = self == .anchoredFile || self == .smallFlash
        return SimulatedBoard(storage(seed: seed), isAnchored: isAnchored, seed: seed)
    }
}
