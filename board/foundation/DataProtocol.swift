/// What can lend its bytes in one piece.
public protocol ContiguousBytes {
    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result
}

/// A collection of bytes that consists of one piece or of several.
public protocol DataProtocol: RandomAccessCollection
where Element == UInt8, SubSequence: DataProtocol {
    associatedtype Regions: BidirectionalCollection
    where Regions.Element: DataProtocol & ContiguousBytes, Regions.Element.SubSequence: ContiguousBytes

    /// The pieces.
    var regions: Regions { get }
}

/// Such a collection that can be written to.
public protocol MutableDataProtocol: DataProtocol, MutableCollection, RangeReplaceableCollection {
    mutating func resetBytes<Bounds: RangeExpression>(in range: Bounds) where Bounds.Bound == Index
}

extension MutableDataProtocol {
    public mutating func resetBytes<Bounds: RangeExpression>(in range: Bounds) where Bounds.Bound == Index {
        let range = range.relative(to: self)
        replaceSubrange(range, with: repeatElement(0, count: distance(from: range.lowerBound, to: range.upperBound)))
    }
}

extension DataProtocol {
    /// Copies as many bytes as there are, or as there is room for.
    /// - Returns: how many.
    @discardableResult
    public func copyBytes(to target: UnsafeMutableRawBufferPointer) -> Int {
        let count = Swift.min(count, target.count)
        target.copyBytes(from: prefix(count))
        return count
    }

    @discardableResult
    public func copyBytes(to target: UnsafeMutableRawBufferPointer, count: Int) -> Int {
        copyBytes(to: UnsafeMutableRawBufferPointer(rebasing: target.prefix(count)))
    }

    @discardableResult
    public func copyBytes<Target>(to target: UnsafeMutableBufferPointer<Target>) -> Int {
        copyBytes(to: UnsafeMutableRawBufferPointer(target))
    }
}

extension Data: MutableDataProtocol, ContiguousBytes {
    public var regions: CollectionOfOne<Data> { CollectionOfOne(self) }

    public mutating func resetBytes<Bounds: RangeExpression>(in range: Bounds) where Bounds.Bound == Int {
        resetBytes(in: range.relative(to: self) as Range<Int>)
    }
}

extension Array: ContiguousBytes where Element == UInt8 {}
extension Array: DataProtocol where Element == UInt8 {
    public var regions: CollectionOfOne<[UInt8]> { CollectionOfOne(self) }
}
extension Array: MutableDataProtocol where Element == UInt8 {}

extension ArraySlice: ContiguousBytes where Element == UInt8 {}
extension ArraySlice: DataProtocol where Element == UInt8 {
    public var regions: CollectionOfOne<ArraySlice<UInt8>> { CollectionOfOne(self) }
}
extension ArraySlice: MutableDataProtocol where Element == UInt8 {}

extension ContiguousArray: ContiguousBytes where Element == UInt8 {}
extension ContiguousArray: DataProtocol where Element == UInt8 {
    public var regions: CollectionOfOne<ContiguousArray<UInt8>> { CollectionOfOne(self) }
}
extension ContiguousArray: MutableDataProtocol where Element == UInt8 {}

extension UnsafeRawBufferPointer: ContiguousBytes, DataProtocol {
    public var regions: CollectionOfOne<UnsafeRawBufferPointer> { CollectionOfOne(self) }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(self)
    }
}

extension UnsafeMutableRawBufferPointer: ContiguousBytes, DataProtocol {
    public var regions: CollectionOfOne<UnsafeMutableRawBufferPointer> { CollectionOfOne(self) }

    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(self))
    }
}

extension UnsafeBufferPointer: ContiguousBytes where Element == UInt8 {
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(self))
    }
}
extension UnsafeBufferPointer: DataProtocol where Element == UInt8 {
    public var regions: CollectionOfOne<UnsafeBufferPointer<UInt8>> { CollectionOfOne(self) }
}

extension UnsafeMutableBufferPointer: ContiguousBytes where Element == UInt8 {
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(self))
    }
}
extension UnsafeMutableBufferPointer: DataProtocol where Element == UInt8 {
    public var regions: CollectionOfOne<UnsafeMutableBufferPointer<UInt8>> { CollectionOfOne(self) }
}

extension Slice: ContiguousBytes where Base: ContiguousBytes & RandomAccessCollection, Base.Element == UInt8 {
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let start = base.distance(from: base.startIndex, to: startIndex)
        let count = base.distance(from: startIndex, to: endIndex)
        return try base.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
    }
}
extension Slice: DataProtocol where Base: DataProtocol & ContiguousBytes {
    public var regions: CollectionOfOne<Slice<Base>> { CollectionOfOne(self) }
}

extension CollectionOfOne: ContiguousBytes where Element == UInt8 {
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Array(self).withUnsafeBytes(body)
    }
}
extension CollectionOfOne: DataProtocol where Element == UInt8 {
    public var regions: CollectionOfOne<Data> { CollectionOfOne<Data>(Data(self)) }
}

extension EmptyCollection: ContiguousBytes where Element == UInt8 {
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
}
extension EmptyCollection: DataProtocol where Element == UInt8 {
    public var regions: EmptyCollection<Data> { EmptyCollection<Data>() }
}

extension Repeated: ContiguousBytes where Element == UInt8 {
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try Array(self).withUnsafeBytes(body)
    }
}
extension Repeated: DataProtocol where Element == UInt8 {
    public var regions: CollectionOfOne<Data> { CollectionOfOne(Data(self)) }
}
