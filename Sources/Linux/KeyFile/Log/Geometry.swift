/// How a store is divided: into sectors of one size, which are the erase blocks where the store is raw flash, and into the
/// units that are written at once and only once.
public struct Geometry: Sendable, Equatable {
    /// Bytes of a sector: a power of two.
    public let sectorSize: Int
    public let sectorCount: Int
    /// Every record begins at a multiple of this many bytes: a power of two. NAND flash has pages of 512 bytes and more.
    public let writeUnit: Int

    /// What a new file gets: 32 KiB.
    public static let file = Geometry(unchecked: 4096, count: 8, writeUnit: 16)

    package static let smallestSector = 4096
    static let sectorSizes = smallestSector...(1 << 20)
    package static let sectorCounts = 2...64
    static let smallestWriteUnit = 16

    /// - Returns: nil where sectors of this form cannot hold the largest state.
    public init?(sectorSize: Int, sectorCount: Int, writeUnit: Int) {
        guard Self.sectorSizes.contains(sectorSize), sectorSize.nonzeroBitCount == 1,
            Self.sectorCounts.contains(sectorCount),
            writeUnit >= Self.smallestWriteUnit, writeUnit.nonzeroBitCount == 1, writeUnit <= sectorSize
        else { return nil }
        self.init(unchecked: sectorSize, count: sectorCount, writeUnit: writeUnit)
        guard headerSize + aligned(Record.maximumSize) + aligned(Record.closingSize) <= sectorSize else { return nil }
    }

    private init(unchecked sectorSize: Int, count: Int, writeUnit: Int) {
        self.sectorSize = sectorSize
        sectorCount = count
        self.writeUnit = writeUnit
    }

    public var size: Int { sectorSize * sectorCount }

    /// What a sector's header takes up.
    var headerSize: Int { aligned(SectorHeader.size) }

    func start(of sector: Int) -> Int { sector * sectorSize }

    /// The next multiple of the write unit.
    func aligned(_ size: Int) -> Int { (size + writeUnit - 1) & ~(writeUnit - 1) }
}
