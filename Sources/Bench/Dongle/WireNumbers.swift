import Glibc

/// Numbers as the dongle's commands (little-endian) and its events and URBs (big-endian) have them.
extension Array where Element == UInt8 {
    mutating func append(little number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    mutating func append(big number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    /// Puts a number over what is there. Nothing changes where it does not fit.
    mutating func put<Number: FixedWidthInteger>(little number: Number, at offset: Int) {
        Swift.withUnsafeBytes(of: number.littleEndian) { put($0, at: offset) }
    }

    /// Puts bytes over what is there. Nothing changes where they do not fit.
    mutating func put(_ bytes: some Collection<UInt8>, at offset: Int) {
        guard offset >= 0, bytes.count <= count - offset else { return }
        replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }

    /// Zeros up to so many bytes, and none beyond.
    func resized(to size: Int) -> [UInt8] {
        count >= size ? Array(prefix(size)) : self + repeatElement(0, count: size - count)
    }
}

extension ArraySlice where Element == UInt8 {
    /// The number at an offset from the slice's beginning; nil where there are too few bytes.
    func little<Number: FixedWidthInteger>(_ offset: Int, as _: Number.Type = Number.self) -> Number? {
        number(offset).map(Number.init(littleEndian:))
    }

    func big<Number: FixedWidthInteger>(_ offset: Int, as _: Number.Type = Number.self) -> Number? {
        number(offset).map(Number.init(bigEndian:))
    }

    private func number<Number: FixedWidthInteger>(_ offset: Int) -> Number? {
        guard let bytes = bytes(offset, MemoryLayout<Number>.size) else { return nil }
        return bytes.withUnsafeBytes { $0.loadUnaligned(as: Number.self) }
    }

    /// So many bytes at an offset from the slice's beginning; nil where there are too few.
    func bytes(_ offset: Int, _ size: Int) -> ArraySlice<UInt8>? {
        guard offset >= 0, size >= 0, offset <= count, size <= count - offset else { return nil }
        return self[startIndex + offset..<startIndex + offset + size]
    }
}

/// Why the driver's message is not understood, or the dongle cannot be plugged in.
public enum DongleError: Error, Hashable {
    /// Of a message: its part that is too short, too long or out of range.
    case malformed(String)
    /// The kernel refuses something that the dongle needs: what was attempted, and errno(3).
    case refused(String, errno: Int32)
    /// Something that the dongle needs is not there.
    case missing(String)
}

extension DongleError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed(let part): "the driver's message is not understood: \(part)"
        case .refused(let attempt, let errno): "cannot \(attempt): \(String(cString: strerror(errno)))"
        case .missing(let what): "there is no \(what)"
        }
    }
}
