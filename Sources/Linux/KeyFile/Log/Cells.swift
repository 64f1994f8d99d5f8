import AgentModel

package struct CellID: Hashable, Comparable, Sendable {
    package let kind: UInt8
    package let index: UInt8

    package init(kind: UInt8, index: UInt8 = 0) {
        self.kind = kind
        self.index = index
    }

    package static func < (left: Self, right: Self) -> Bool { (left.kind, left.index) < (right.kind, right.index) }
}

/// Content of the log: the value of each cell. A commit replaces a changed value as a whole.
package typealias Cells = [CellID: Secret]

/// Changes of cells in a record's body: name, size and bytes of each cell. The value nil removes a cell.
enum CellChanges {
    /// Size that marks a removed cell.
    private static let removed = UInt16.max
    /// Bytes of a cell's name and size.
    private static let headSize = 4
    /// Maximum size of all cells in bytes, on any medium. The largest file (64 sectors) has room for two snapshots of
    /// this size, and a commit needs less than 256 KiB of memory.
    static let maximumSize = 1 << 16

    /// Returns the size of all cells in bytes.
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

    /// Applies a record's body to the cells.
    /// - Returns: false for an invalid body; the cells are then undefined.
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

/// A value that is stored in its own cell.
protocol CellContent {
    init?(_ bytes: UnsafeRawBufferPointer)
}

extension CellContent {
    /// - Returns: nil for an invalid cell.
    init?(cell: Secret) {
        guard let content = cell.withBytes({ Self($0) }) else { return nil }
        self = content
    }
}
