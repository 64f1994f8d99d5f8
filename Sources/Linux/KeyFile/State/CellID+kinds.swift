import AgentModel

extension CellID {
    /// What a cell is about. The numbers are on disk, so they stay.
    enum Kind: UInt8 {
        /// Which network is which, and the list's revision. There is at most one.
        case roles = 1
        case network = 2
        /// What was seen of a network, under the slot of the first that has its name.
        case statistics = 3
        /// There is at most one.
        case pendingSwitch = 4
        case counter = 5
    }

    /// The kinds that an altnet that does not know them keeps as they are. An unknown one below is impossible content.
    package static let keptKinds: ClosedRange<UInt8> = 128...255

    init(_ kind: Kind, slot: UInt8 = 0) { self.init(kind: kind.rawValue, index: slot) }
}

extension Cells {
    /// The cells of one kind that can be read, by slot.
    func values<Content>(of kind: CellID.Kind, _ read: (Secret) -> Content?) -> [UInt8: Content] {
        reduce(into: [:]) { values, cell in
            if cell.key.kind == kind.rawValue { values[cell.key.index] = read(cell.value) }
        }
    }
}

extension Secret {
    /// A cell's content of at most so many bytes.
    init(upTo capacity: Int, _ write: (inout WipedBuffer) -> Void) {
        var buffer = WipedBuffer(capacity: capacity)
        write(&buffer)
        self = buffer.withBytes { Secret($0) }
    }
}

extension WipedBuffer {
    /// Appends at most 255 bytes behind their number.
    mutating func append(counted bytes: some Collection<UInt8>) {
        append(UInt8(bytes.count))
        append(bytes)
    }
}

extension ByteReader {
    /// Reads bytes behind their number.
    mutating func counted() -> UnsafeRawBufferPointer? {
        guard let count = integer(UInt8.self) else { return nil }
        return bytes(Int(count))
    }
}
