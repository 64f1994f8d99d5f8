import AgentModel

/// Names one cell of the log.
package struct CellID: Hashable, Comparable, Sendable {
    package let kind: UInt8
    package let index: UInt8

    package init(kind: UInt8, index: UInt8 = 0) {
        self.kind = kind
        self.index = index
    }

    package static func < (left: Self, right: Self) -> Bool { (left.kind, left.index) < (right.kind, right.index) }
}

/// The content of the log: values by name. A value is replaced as a whole.
package typealias Cells = [CellID: Secret]

/// The cells that a record sets or removes (nil), as its body has them: each its name, its size, its bytes.
enum CellChanges {
    /// Says in place of a size that the cell is removed.
    private static let removed = UInt16.max
    /// Name and size of a cell.
    private static let headSize = 4
    /// The most that all cells together take, whatever the medium: 64 KiB. The largest file, of 64 sectors, holds that
    /// twice with room for sectors that fail, and a commit's copies of it stay under 256 KiB of memory.
    static let maximumSize = 1 << 16

    /// How many bytes all of the cells take.
    static func size(of cells: Cells) -> Int { cells.values.reduce(0) { $0 + headSize + $1.count } }

    static func between(_ old: Cells, _ new: Cells) -> [CellID: Secret?] {
        var changes: [CellID: Secret?] = [:]
        for (id, value) in new where old[id] != value { changes[id] = .some(value) }
        for id in old.keys where new[id] == nil { changes[id] = .some(nil) }
        return changes
    }

    static func encode(_ changes: [CellID: Secret?], into buffer: inout WipedBuffer) throws(KeyFileError) {
        for (id, value) in changes.sorted(by: { $0.key < $1.key }) {
            let size = headSize + (value?.count ?? 0)
            guard buffer.remaining >= size, size <= maximumSize else {
                throw .stateTooLarge(bytes: buffer.count + size, maximum: buffer.count + buffer.remaining)
            }
            buffer.append(id.kind)
            buffer.append(id.index)
            buffer.append(bigEndian: value.map { UInt16($0.count) } ?? removed)
            value?.withBytes { buffer.append($0) }
        }
    }

    /// Applies a body to the cells.
    /// - Returns: false if it is none; then the cells are in no order.
    static func apply(_ body: UnsafeRawBufferPointer, to cells: inout Cells) -> Bool {
        var reader = ByteReader(body)
        while !reader.isAtEnd {
            guard let kind = reader.integer(UInt8.self), let index = reader.integer(UInt8.self),
                let size = reader.integer(UInt16.self)
            else { return false }
            let id = CellID(kind: kind, index: index)
            if size == removed {
                cells[id] = nil
            } else {
                guard let value = reader.bytes(Int(size)) else { return false }
                cells[id] = Secret(value)
            }
        }
        return true
    }
}
