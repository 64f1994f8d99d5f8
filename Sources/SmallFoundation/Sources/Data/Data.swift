/// Bytes. A slice shares its memory and keeps its indices; a copy is made by who changes what others have too.
///
/// As in the toolchain's Foundation, but for two things: all memory is overwritten with zeros before it is given back,
/// and it is contiguous always.
public struct Data: Sendable {
    private var storage: ByteStorage
    /// Where `startIndex` is in the storage.
    private var offset: Int
    public private(set) var startIndex: Int
    public private(set) var endIndex: Int

    private init(_ storage: ByteStorage, count: Int) {
        self.storage = storage
        offset = 0
        startIndex = 0
        endIndex = count
    }

    public init() { self.init(ByteStorage(capacity: 0), count: 0) }

    public init(capacity: Int) { self.init(ByteStorage(capacity: capacity), count: 0) }

    /// That many zeros.
    public init(count: Int) { self.init(ByteStorage(capacity: count), count: count) }

    public init(repeating byte: UInt8, count: Int) {
        self.init(count: count)
        withUnsafeMutableBytes { _ = $0.initializeMemory(as: UInt8.self, repeating: byte) }
    }

    public init(bytes: UnsafeRawPointer, count: Int) {
        self.init(count: count)
        storage.start.copyMemory(from: bytes, byteCount: count)
    }

    public init(_ bytes: some Sequence<UInt8>) {
        let copied: Data? = bytes.withContiguousStorageIfAvailable { buffer in
            buffer.baseAddress.map { Data(bytes: $0, count: buffer.count) } ?? Data()
        }
        if let copied {
            self = copied
        } else {
            self.init(capacity: bytes.underestimatedCount)
            for byte in bytes { append(byte) }
        }
    }

    public enum Deallocator {
        /// The memory is of `malloc`.
        case free
        /// Somebody else's memory, which is not changed.
        case custom((UnsafeMutableRawPointer, Int) -> Void)
    }

    /// Takes memory over without copying it.
    public init(bytesNoCopy bytes: UnsafeMutableRawPointer, count: Int, deallocator: Deallocator) {
        let storage =
            switch deallocator {
            case .free: ByteStorage(adopting: bytes, count: count)
            case .custom(let release): ByteStorage(of: bytes, count: count, release: release)
            }
        self.init(storage, count: count)
    }

    /// A copy of some of the bytes, whose indices begin with 0.
    public func subdata(in range: Range<Int>) -> Data { Data(self[range]) }

    // MARK: Changing

    /// Makes the memory this value's own, and large enough.
    private mutating func reserve(_ count: Int) {
        let isEnough = storage.capacity - offset >= count
        if isEnough, storage.isChangeable, isKnownUniquelyReferenced(&storage) { return }
        let copy = ByteStorage(capacity: isEnough ? count : Swift.max(count, 2 * self.count))
        copy.start.copyMemory(from: storage.start + offset, byteCount: Swift.min(count, self.count))
        storage = copy
        offset = 0
    }

    public mutating func reserveCapacity(_ capacity: Int) { reserve(Swift.max(capacity, count)) }

    public mutating func withUnsafeMutableBytes<Result>(
        _ body: (UnsafeMutableRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        reserve(count)
        return try body(UnsafeMutableRawBufferPointer(start: storage.start + offset, count: count))
    }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withExtendedLifetime(storage) {
            try body(UnsafeRawBufferPointer(start: storage.start + offset, count: count))
        }
    }

    public mutating func append(_ other: Data) { append(contentsOf: other) }

    public mutating func replaceSubrange(_ range: Range<Int>, with bytes: some Collection<UInt8>) {
        precondition(startIndex <= range.lowerBound && range.upperBound <= endIndex, "the range is outside of the data")
        let (before, added, after) = (range.lowerBound - startIndex, bytes.count, endIndex - range.upperBound)
        reserve(Swift.max(count, before + added + after))
        let place = storage.start + offset + before
        if added != range.count { (place + added).copyMemory(from: place + range.count, byteCount: after) }
        UnsafeMutableRawBufferPointer(start: place, count: added).copyBytes(from: bytes)
        endIndex = startIndex + before + added + after
    }
}

extension Data: RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
    public subscript(index: Int) -> UInt8 {
        get {
            precondition(startIndex <= index && index < endIndex, "the index is outside of the data")
            return withUnsafeBytes { $0[index - startIndex] }
        }
        set {
            precondition(startIndex <= index && index < endIndex, "the index is outside of the data")
            let place = index - startIndex
            withUnsafeMutableBytes { $0[place] = newValue }
        }
    }

    public subscript(range: Range<Int>) -> Data {
        get {
            precondition(
                startIndex <= range.lowerBound && range.upperBound <= endIndex, "the range is outside of the data")
            var slice = self
            slice.offset += range.lowerBound - startIndex
            slice.startIndex = range.lowerBound
            slice.endIndex = range.upperBound
            return slice
        }
        set { replaceSubrange(range, with: newValue) }
    }

    public func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        try withUnsafeBytes { try $0.withMemoryRebound(to: UInt8.self, body) }
    }
}

extension Data: Hashable {
    public static func == (left: Self, right: Self) -> Bool { left.elementsEqual(right) }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

extension Data: CustomStringConvertible {
    /// Never the bytes: they may be secret.
    public var description: String { "\(count) bytes" }
}
