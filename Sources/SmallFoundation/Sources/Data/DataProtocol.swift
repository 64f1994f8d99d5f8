/// What has all its bytes in one place.
public protocol ContiguousBytes {
    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result
}

/// Bytes in a row, in one region or in several.
public protocol DataProtocol: RandomAccessCollection where Element == UInt8, SubSequence: DataProtocol {
    associatedtype Regions: BidirectionalCollection
    where
        Regions.Element: DataProtocol & ContiguousBytes, Regions.Element.SubSequence: ContiguousBytes

    var regions: Regions { get }
}

extension DataProtocol where Self: ContiguousBytes, SubSequence: ContiguousBytes {
    public var regions: CollectionOfOne<Self> { CollectionOfOne(self) }
}

extension DataProtocol {
    /// Copies as many bytes as there are, or as fit.
    /// - Returns: how many.
    @discardableResult
    public func copyBytes(to buffer: UnsafeMutableRawBufferPointer) -> Int {
        let copied = Swift.min(count, buffer.count)
        UnsafeMutableRawBufferPointer(rebasing: buffer[..<copied]).copyBytes(from: prefix(copied))
        return copied
    }

    /// Copies as many bytes as there are, or as fit.
    /// - Returns: how many.
    @discardableResult
    public func copyBytes(to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        copyBytes(to: UnsafeMutableRawBufferPointer(buffer))
    }
}

public protocol MutableDataProtocol: DataProtocol, MutableCollection, RangeReplaceableCollection {}

extension Data: ContiguousBytes, MutableDataProtocol {}

extension Array: ContiguousBytes where Element == UInt8 {}
extension Array: DataProtocol where Element == UInt8 {}
extension Array: MutableDataProtocol where Element == UInt8 {}

extension ArraySlice: ContiguousBytes where Element == UInt8 {}
extension ArraySlice: DataProtocol where Element == UInt8 {}
extension ArraySlice: MutableDataProtocol where Element == UInt8 {}

extension UnsafeRawBufferPointer: ContiguousBytes, DataProtocol {
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(self)
    }
}

extension UnsafeMutableRawBufferPointer: ContiguousBytes, DataProtocol {
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(self))
    }
}

extension UnsafeBufferPointer: ContiguousBytes where Element == UInt8 {
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(self))
    }
}
extension UnsafeBufferPointer: DataProtocol where Element == UInt8 {}

extension Slice: ContiguousBytes where Base: ContiguousBytes & DataProtocol {
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let first = base.distance(from: base.startIndex, to: startIndex)
        return try base.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[first..<first + count])) }
    }
}
extension Slice: DataProtocol where Base: ContiguousBytes & DataProtocol {}
