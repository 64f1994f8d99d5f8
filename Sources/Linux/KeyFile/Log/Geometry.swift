/// How a store is divided: into sectors of one size, which are the erase blocks where the store is raw flash, and into
/// the units that are written at once and only once.
public struct Geometry: Sendable, Equatable {
    /// Bytes of a sector: a power of two.
    public let sectorSize: Int
    public let sectorCount: Int
    /// Every record begins at a multiple of this many bytes: a power of two. NAND flash has pages of 512 bytes and
    /// more.
    public let writeUnit: Int

    /// The form of a new file: 32 KiB.
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

    /// The bytes that a sector's header takes up.
    var headerSize: Int { aligned(SectorHeader.size) }

    func start(of sector: Int) -> Int { sector * sectorSize }

    /// The next multiple of the write unit.
    func aligned(_ size: Int) -> Int { (size + writeUnit - 1) & ~(writeUnit - 1) }
}

/// How a snapshot is divided among records and sectors.
struct SnapshotPlan: Equatable {
    /// The bytes of each record's body, by sector.
    private(set) var sectors: [[Int]] = [[]]

    /// - Parameter bodySize: the bytes of the snapshot's body.
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
            // So little room for changes would soon cost as many sectors again: the last one begins with an empty
            // record.
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

    /// The most bytes of cells that half of the sectors can take.
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
