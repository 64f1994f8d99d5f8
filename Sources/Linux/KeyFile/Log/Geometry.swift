/// Division of a store into sectors (erase blocks on raw flash) and write units, which are written only once.
public struct Geometry: Sendable, Equatable {
    /// Size of a sector in bytes, a power of two.
    public let sectorSize: Int
    public let sectorCount: Int
    /// Alignment of records in bytes, a power of two. The pages of NAND flash have 512 bytes or more.
    public let writeUnit: Int

    /// Geometry of a new file of 32 KiB.
    public static let file = Geometry(unchecked: 4096, count: 8, writeUnit: 16)

    package static let smallestSector = 4096
    static let sectorSizes = smallestSector...(1 << 20)
    package static let sectorCounts = 2...64
    static let smallestWriteUnit = 16

    /// - Returns: nil if a value is out of range, or a sector cannot hold the largest record.
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

    /// Size of a sector's header in bytes, rounded up to write units.
    var headerSize: Int { aligned(SectorHeader.size) }

    func start(of sector: Int) -> Int { sector * sectorSize }

    func aligned(_ size: Int) -> Int { (size + writeUnit - 1) & ~(writeUnit - 1) }
}

/// Division of a snapshot into records and sectors.
struct SnapshotPlan: Equatable {
    /// Body sizes of the records in bytes, grouped by sector.
    private(set) var sectors: [[Int]] = [[]]

    init(bodySize: Int, _ geometry: Geometry) {
        var end = geometry.headerSize
        var rest = bodySize
        while rest > Record.maximumBody {
            add(Record.maximumBody, &end, geometry)
            rest -= Record.maximumBody
        }
        let closing = geometry.aligned(Record.closingSize)
        var atEnd = (plan: self, end: end)
        atEnd.plan.add(rest, &atEnd.end, geometry, reserving: closing)
        let room = geometry.sectorSize - closing - atEnd.end
        if atEnd.plan.sectors.count > 1, room < (geometry.sectorSize - geometry.headerSize) / 2 {
            // The last sector would have too little room for changes, so the next snapshot would soon follow. Start
            // another sector with an empty record instead.
            add(rest, &end, geometry)
            sectors.append([0])
        } else {
            self = atEnd.plan
        }
    }

    private mutating func add(_ size: Int, _ end: inout Int, _ geometry: Geometry, reserving reserve: Int = 0) {
        let recordSize = geometry.aligned(Record.overhead + size)
        if end + recordSize + reserve > geometry.sectorSize {
            sectors.append([])
            end = geometry.headerSize
        }
        sectors[sectors.count - 1].append(size)
        end += recordSize
    }

    /// Returns the maximum size of all cells in bytes: their snapshot must fit in half of the sectors.
    static func largestState(sectors: Int, of geometry: Geometry, version: UInt16) -> Int {
        let smallest = Record.maximumBody - Record.tagSize
        guard version > 2 else { return smallest }
        var (fits, tooMany) = (smallest, CellChanges.maximumSize + 1)
        while tooMany - fits > 1 {
            let middle = (fits + tooMany) / 2
            let count = SnapshotPlan(bodySize: Record.tagSize + middle, geometry).sectors.count
            if 2 * count <= sectors { fits = middle } else { tooMany = middle }
        }
        return fits
    }
}
