import AgentModel
import Glibc

/// How a root key is written down: 64 hexadecimal digits and a line feed, so that it can be typed and printed. Its 32 bytes
/// as they are do as well, because that is what most tools that make keys make. Nothing else has either length.
enum RootKeyForm {
    /// The bytes of the longest form.
    static let longest = 2 * RootKeys.size + 1

    /// - Parameter bytes: all that is there, or at least one byte more than `longest`.
    /// - Throws: `invalidRootKey`, which says nothing of the content.
    static func decode(_ bytes: UnsafeRawBufferPointer, source: String) throws(KeyFileError) -> Secret {
        let line = bytes.last == lineFeed ? bytes.dropLast() : bytes[...]
        let key: Secret
        switch (bytes.count, line.count) {
        case (RootKeys.size, _):
            // A password, or half a key in hexadecimal: far easier to guess than 32 random bytes, which look like this once
            // in 10^13 times.
            guard !line.allSatisfy(printable.contains) else { throw invalid(source, "it is text, not random bytes") }
            key = Secret(bytes)
        case (_, 2 * RootKeys.size):
            guard let decoded = digits(line) else { throw invalid(source, "not all of it is hexadecimal digits") }
            key = decoded
        default:
            throw invalid(source, "it is neither \(2 * RootKeys.size) hexadecimal digits nor \(RootKeys.size) bytes")
        }
        guard key.withBytes({ $0.contains { $0 != 0 } }) else { throw invalid(source, "it is all zeros") }
        return key
    }

    static func encode(_ key: Secret) -> WipedBuffer {
        var text = WipedBuffer(capacity: longest)
        key.withBytes { bytes in
            for byte in bytes {
                text.append(digit(byte >> 4))
                text.append(digit(byte & 0xf))
            }
        }
        text.append(lineFeed)
        return text
    }

    // Not by `Hex`, whose strings and arrays nobody wipes.

    private static func digits(_ text: Slice<UnsafeRawBufferPointer>) -> Secret? {
        var key = WipedBuffer(capacity: RootKeys.size)
        var high: UInt8?
        for character in text {
            guard let value = value(character) else { return nil }
            if let first = high {
                key.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return key.withBytes { Secret($0) }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func invalid(_ source: String, _ problem: String) -> KeyFileError {
        .invalidRootKey(source: source, problem: problem)
    }

    private static let lineFeed = UInt8(ascii: "\n")
    private static let printable: ClosedRange<UInt8> = 0x20...0x7e
}

extension FileOperations {
    /// Reads the root key in a file.
    /// - Parameter check: is lent the file before it is read.
    /// - Returns: nil if there is no file with this name.
    /// - Throws: `invalidRootKey` if it is there and is no root key, a system error if it cannot be read.
    func readRootKey(
        _ name: String, check: (_ descriptor: Int32) throws(KeyFileError) -> Void = { _ in }
    ) throws(KeyFileError) -> Secret? {
        let source = "\(path)/\(name)"
        let found: Int32?
        do {
            found = try open(name, forWriting: false)
        } catch .notRegularFile {
            throw .invalidRootKey(source: source, problem: "it is not a regular file")
        } catch .system(_, _, ELOOP) {
            throw .invalidRootKey(source: source, problem: "it is a symbolic link")
        }
        guard let descriptor = found else { return nil }
        defer { close(descriptor) }
        try check(descriptor)
        var content = WipedBuffer(size: RootKeyForm.longest + 1)
        let count = try content.withMutableBytes { buffer throws(KeyFileError) in
            try readAll(descriptor, at: 0, into: buffer)
        }
        content.resize(to: count)
        return try content.withBytes { bytes throws(KeyFileError) in try RootKeyForm.decode(bytes, source: source) }
    }
}
