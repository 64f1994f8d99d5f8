import AgentModel
import Glibc

/// A root key in a file of its own, outside the store and readable by its owner alone: NAME, and beside it NAME.next
/// while the key is being changed. NAME.new, which a cut write may leave behind, is no part of it.
public struct RootKeyFile {
    private let name: String
    private let files: any FileOperations
    private let random: any RandomNumberGenerator

    /// Appended to the name: the key, the next one, and what a cut write leaves of either.
    package static let suffixes = ["", ".next", ".new", ".next.new"]

    private var nextName: String { name + ".next" }
    package var source: String { "\(files.path)/\(name)" }

    /// Names the file; its directory is made with mode 0700 if it is missing.
    /// - Throws: `invalidPath` and errors of the directory.
    public init(path: String) throws(KeyFileError) {
        guard let (directory, name) = KeyFile.split(path) else { throw .invalidPath(path) }
        self.init(name: name, files: try StoreDirectory(path: directory), random: SystemRandomNumberGenerator())
    }

    package init(name: String, files: any FileOperations, random: any RandomNumberGenerator) {
        self.name = name
        self.files = files
        self.random = random
    }
}

extension RootKeyFile: RootKeySource {
    /// The key that it returns is durable, also if the process that wrote it was killed: a store is about to be under
    /// it.
    ///
    /// A prepared key that is damaged was never used, for it was durable before it was; so it counts as none. If only
    /// the prepared one is there, on a file system like FAT whose renames a power cut can tear, it is the current one.
    package func load() throws(KeyFileError) -> RootKeys? {
        var findings: [Finding] = []
        let current = try read(name, &findings)
        var prepared: Secret?
        do { prepared = try read(nextName, &findings) } catch .invalidRootKey {}
        guard let found = current ?? prepared else { return nil }
        do { try files.synchroniseDirectory() } catch { findings.append(.postponed(error)) }
        return RootKeys(current: found, prepared: current == nil ? nil : prepared, findings: findings)
    }

    private func read(_ name: String, _ findings: inout [Finding]) throws(KeyFileError) -> Secret? {
        try files.readRootKey(name) { descriptor in
            let path = "\(files.path)/\(name)"
            do {
                if try files.restrict(descriptor) { findings.append(.readableByOthers(path: path, corrected: true)) }
            } catch {
                findings.append(.readableByOthers(path: path, corrected: false))
            }
            do throws(KeyFileError) { try files.synchronise(descriptor) } catch { findings.append(.postponed(error)) }
        }
    }

    /// A key that is there already stays, and is the first one.
    package func makeFirst() throws(KeyFileError) -> Secret {
        if let keys = try load() {
            try files.synchroniseDirectory()
            return keys.current
        }
        var random = random
        let key = RootKeys.makeRandom(&random)
        try write(key, to: name)
        return key
    }

    package func prepare(_ next: Secret) throws(KeyFileError) {
        try completeAdoption()
        try write(next, to: nextName)
    }

    /// A key that was adopted already is made durable: that may be the step that failed.
    package func adoptPrepared() throws(KeyFileError) {
        if try files.holds(nextName) { try files.rename(nextName, to: name) }
        try files.synchroniseDirectory()
    }

    package func discardPrepared() throws(KeyFileError) {
        try completeAdoption()
        try files.remove(nextName)
        try files.synchroniseDirectory()
    }

    private func write(_ key: Secret, to name: String) throws(KeyFileError) {
        try RootKeyForm.encode(key).withBytes { text throws(KeyFileError) in try files.replace(name, with: text) }
    }

    /// The only key that there is must neither be overwritten nor removed, whatever its name.
    private func completeAdoption() throws(KeyFileError) {
        if try !files.holds(name) { try adoptPrepared() }
    }

    /// Destroys the key, also one that is being made or changed, durably: what is under it is lost. Its content is
    /// not checked, so a key that systemd has encrypted can be destroyed as well.
    package func destroy() throws(KeyFileError) {
        for suffix in Self.suffixes { try files.destroy(name + suffix) }
        try files.synchroniseDirectory()
    }

    /// Whether there is anything to be destroyed.
    package func isThere() throws(KeyFileError) -> Bool {
        for name in [name, nextName] where try files.holds(name) { return true }
        return false
    }
}

/// How a root key is written down: 64 hexadecimal digits and a line feed, so that it can be typed and printed. Its 32
/// bytes as they are do as well, because that is what most tools that make keys make. Nothing else has either length.
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
            // A password, or half a key in hexadecimal: far easier to guess than 32 random bytes, which look like this
            // once in 10^13 times.
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

    // Not by `Hex`, whose strings and arrays are not wiped.

    private static func digits(_ text: Slice<UnsafeRawBufferPointer>) -> Secret? {
        var key = WipedBuffer(capacity: RootKeys.size)
        var high: UInt8?
        for character in text {
            guard let value = Hex.value(of: character) else { return nil }
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
