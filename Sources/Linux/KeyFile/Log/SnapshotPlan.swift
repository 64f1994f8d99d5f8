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
            // So little room for changes would soon cost as many sectors again: the last one begins with an empty record.
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
