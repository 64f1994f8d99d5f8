import Glibc

/// Encodes numbers of the dongle's commands (little-endian), and of its events and URBs (big-endian).
extension Array where Element == UInt8 {
    mutating func append(little number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    mutating func append(big number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }

    /// Overwrites bytes from an offset on. Does nothing if the number does not fit.
    mutating func put<Number: FixedWidthInteger>(little number: Number, at offset: Int) {
        Swift.withUnsafeBytes(of: number.littleEndian) { put($0, at: offset) }
    }

    /// Overwrites bytes from an offset on. Does nothing if they do not fit.
    mutating func put(_ bytes: some Collection<UInt8>, at offset: Int) {
        guard offset >= 0, bytes.count <= count - offset else { return }
        replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }

    /// Returns this number of bytes: truncated, or padded with zeros.
    func resized(to size: Int) -> [UInt8] {
        count >= size ? Array(prefix(size)) : self + repeatElement(0, count: size - count)
    }
}

extension ArraySlice where Element == UInt8 {
    /// - Returns: nil if the array has too few bytes.
    func little<Number: FixedWidthInteger>(_ offset: Int, as _: Number.Type = Number.self) -> Number? {
        number(offset).map(Number.init(littleEndian:))
    }

    func big<Number: FixedWidthInteger>(_ offset: Int, as _: Number.Type) -> Number? {
        number(offset).map(Number.init(bigEndian:))
    }

    private func number<Number: FixedWidthInteger>(_ offset: Int) -> Number? {
        guard let bytes = bytes(offset, MemoryLayout<Number>.size) else { return nil }
        return bytes.withUnsafeBytes { $0.loadUnaligned(as: Number.self) }
    }

    /// - Returns: nil if the array has too few bytes.
    func bytes(_ offset: Int, _ size: Int) -> ArraySlice<UInt8>? {
        guard offset >= 0, size >= 0, offset <= count, size <= count - offset else { return nil }
        return self[startIndex + offset..<startIndex + offset + size]
    }
}

public enum DongleError: Error, Hashable {
    case malformed(String)
    /// The kernel refused this action with this error number (errno(3)).
    case refused(String, errno: Int32)
    case missing(String)
}

extension DongleError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed(let part): "malformed message of the driver: \(part)"
        case .refused(let attempt, let errno): "cannot \(attempt): \(String(cString: strerror(errno)))"
        case .missing(let what): "missing: \(what)"
        }
    }
}
