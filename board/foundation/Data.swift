/// Bytes, in one piece. A slice is a `Data` too and keeps the indices of what it is a slice of.
public struct Data: Sendable {
    /// nil where there are none.
    private var storage: DataStorage?
    private var range: Range<Int>

    public init() {
        storage = nil
        range = 0..<0
    }

    public init(capacity: Int) {
        self.init()
        reserveCapacity(capacity)
    }

    public init(count: Int) { self.init(repeating: 0, count: count) }

    public init(repeating byte: UInt8, count: Int) {
        self.init(uninitialized: count) { $0.initializeMemory(as: UInt8.self, repeating: byte) }
    }

    public init(bytes: UnsafeRawPointer, count: Int) {
        self.init(uninitialized: count) { $0.copyMemory(from: UnsafeRawBufferPointer(start: bytes, count: count)) }
    }

    public init<Element>(buffer: UnsafeBufferPointer<Element>) {
        let bytes = UnsafeRawBufferPointer(buffer)
        self.init(uninitialized: bytes.count) { $0.copyMemory(from: bytes) }
    }

    /// Uses the memory as it is, for as long as it is not written to.
    public init(bytesNoCopy bytes: UnsafeMutableRawPointer, count: Int, deallocator: Deallocator) {
        storage = DataStorage(foreign: UnsafeMutableRawBufferPointer(start: bytes, count: count), deallocator)
        range = 0..<count
    }

    public init<Bytes: Sequence>(_ bytes: Bytes) where Bytes.Element == UInt8 {
        self.init()
        append(contentsOf: bytes)
    }

    private init(uninitialized count: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Void) {
        self.init()
        guard count > 0 else { return }
        let new = DataStorage(capacity: count, firstIndex: 0)
        fill(UnsafeMutableRawBufferPointer(rebasing: new.bytes[..<count]))
        storage = new
        range = 0..<count
    }

    /// What becomes of memory that is used as it is.
    public enum Deallocator: Sendable {
        case free
        case none
        case custom(@Sendable (UnsafeMutableRawPointer, Int) -> Void)
    }

    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let storage else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        return try withExtendedLifetime(storage) { () throws(Failure) in
            try body(UnsafeRawBufferPointer(rebasing: storage.bytes(at: range)))
        }
    }

    public mutating func withUnsafeMutableBytes<Result, Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        makeWritable(room: count)
        guard let storage else { return try body(UnsafeMutableRawBufferPointer(start: nil, count: 0)) }
        return try withExtendedLifetime(storage) { () throws(Failure) in
            try body(UnsafeMutableRawBufferPointer(rebasing: storage.bytes(at: range)))
        }
    }

    /// Has `storage` be this value's own, with room for so many bytes from the first one on.
    private mutating func makeWritable(room: Int) {
        guard room > 0 else { return }
        if isKnownUniquelyReferenced(&storage), let storage, storage.isOwn, storage.room(from: range.lowerBound) >= room {
            return
        }
        let grown = room > count ? Swift.max(room, 2 * count, 32) : room
        let new = DataStorage(capacity: grown, firstIndex: range.lowerBound)
        withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: new.bytes[..<count]).copyMemory(from: $0) }
        storage = new
    }

    public mutating func reserveCapacity(_ minimum: Int) { makeWritable(room: Swift.max(minimum, count)) }

    public mutating func append(_ byte: UInt8) { withUnsafeBytesOf(byte) { append($0) } }

    public mutating func append(_ other: Data) { append(contentsOf: other) }

    public mutating func append(_ bytes: UnsafePointer<UInt8>, count: Int) {
        append(UnsafeRawBufferPointer(start: bytes, count: count))
    }

    public mutating func append<Bytes: Sequence>(contentsOf bytes: Bytes) where Bytes.Element == UInt8 {
        let isContiguous: Void? = bytes.withContiguousStorageIfAvailable { append(UnsafeRawBufferPointer($0)) }
        if isContiguous != nil { return }
        ContiguousArray(bytes).withUnsafeBytes { append($0) }
    }

    private mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        makeWritable(room: count + bytes.count)
        let end = range.upperBound
        range = range.lowerBound..<end + bytes.count
        storage?.bytes(at: end..<range.upperBound).copyBytes(from: bytes)
    }

    private func withUnsafeBytesOf(_ byte: UInt8, _ body: (UnsafeRawBufferPointer) -> Void) {
        withUnsafePointer(to: byte) { body(UnsafeRawBufferPointer(start: $0, count: 1)) }
    }

    public func subdata(in range: Range<Int>) -> Data { Data(self[range]) }

    public mutating func resetBytes(in range: Range<Int>) {
        replaceSubrange(range, with: repeatElement(0, count: range.count))
    }

    @discardableResult
    public func copyBytes(to pointer: UnsafeMutablePointer<UInt8>, count: Int) -> Int {
        let count = Swift.min(count, self.count)
        withUnsafeBytes { UnsafeMutableRawBufferPointer(start: pointer, count: count).copyMemory(from: .init(rebasing: $0[..<count])) }
        return count
    }
}

extension Data: RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
    public var startIndex: Int { range.lowerBound }
    public var endIndex: Int { range.upperBound }
    public func index(after index: Int) -> Int { index + 1 }
    public func index(before index: Int) -> Int { index - 1 }

    public subscript(index: Int) -> UInt8 {
        get {
            precondition(range.contains(index), "no byte has this index")
            return withUnsafeBytes { $0[index - range.lowerBound] }
        }
        set {
            precondition(range.contains(index), "no byte has this index")
            let offset = index - range.lowerBound
            withUnsafeMutableBytes { $0[offset] = newValue }
        }
    }

    public subscript(bounds: Range<Int>) -> Data {
        get {
            precondition(range.lowerBound <= bounds.lowerBound && bounds.upperBound <= range.upperBound, "out of range")
            var slice = self
            slice.range = bounds
            return slice
        }
        set { replaceSubrange(bounds, with: newValue) }
    }

    public mutating func replaceSubrange<Bytes: Collection>(_ bounds: Range<Int>, with bytes: Bytes)
    where Bytes.Element == UInt8 {
        precondition(range.lowerBound <= bounds.lowerBound && bounds.upperBound <= range.upperBound, "out of range")
        if bounds.lowerBound == range.upperBound { return append(contentsOf: bytes) }
        let new = ContiguousArray(bytes)
        let tail = Data(self[bounds.upperBound...])
        makeWritable(room: count)
        range = range.lowerBound..<bounds.lowerBound
        append(contentsOf: new)
        append(contentsOf: tail)
    }

    public func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        try withUnsafeBytes { try $0.withMemoryRebound(to: UInt8.self, body) }
    }

    public mutating func withContiguousMutableStorageIfAvailable<Result>(
        _ body: (inout UnsafeMutableBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        try withUnsafeMutableBytes { bytes in
            try bytes.withMemoryRebound(to: UInt8.self) { bytes in
                var bytes = bytes
                return try body(&bytes)
            }
        }
    }
}

extension Data: Hashable {
    public static func == (left: Data, right: Data) -> Bool { left.elementsEqual(right) }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension Data: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String { "\(count) bytes" }
    public var debugDescription: String { description }
}

extension Data: ExpressibleByArrayLiteral {
    public init(arrayLiteral bytes: UInt8...) { self.init(bytes) }
}

/// The memory of one `Data` or of several that are equal so far. It is written to by whoever is its only owner.
private final class DataStorage: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
    /// The index of the first byte.
    private let firstIndex: Int
    private let deallocator: Data.Deallocator?

    /// Whether it may be written to.
    var isOwn: Bool { deallocator == nil }

    init(capacity: Int, firstIndex: Int) {
        bytes = .allocate(byteCount: capacity, alignment: 16)
        self.firstIndex = firstIndex
        deallocator = nil
    }

    init(foreign bytes: UnsafeMutableRawBufferPointer, _ deallocator: Data.Deallocator) {
        self.bytes = bytes
        firstIndex = 0
        self.deallocator = deallocator
    }

    func room(from index: Int) -> Int { bytes.count - (index - firstIndex) }

    func bytes(at range: Range<Int>) -> Slice<UnsafeMutableRawBufferPointer> {
        bytes[range.lowerBound - firstIndex..<range.upperBound - firstIndex]
    }

    deinit {
        switch deallocator {
        case nil: bytes.deallocate()
        case .free: bytes.baseAddress.map { $0.deallocate() }
        case .some(.none): break
        case .custom(let body): bytes.baseAddress.map { body($0, bytes.count) }
        }
    }
}
