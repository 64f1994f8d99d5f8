import AgentModel
import Glibc

/// A root key in its own file, outside the store and readable only by its owner. NAME.next holds the new key during a
/// change. NAME.new may be left by an interrupted write and is ignored.
public struct RootKeyFile {
    private let name: String
    private let files: any FileOperations
    private let random: any RandomNumberGenerator

    /// File name suffixes of the key, the next key, and their interrupted writes.
    package static let suffixes = ["", ".next", ".new", ".next.new"]

    private var nextName: String { name + ".next" }
    package var source: String { "\(files.path)/\(name)" }

    /// Names the file. Creates a missing directory with mode 0700.
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
    /// Makes the loaded keys durable, even if their writer was killed. A damaged prepared key counts as missing: a key
    /// is used only once durable. If only the prepared key exists (FAT may tear a rename at a power loss), it is the
    /// current one.
    package func load() throws(KeyFileError) -> RootKeys? {
        var findings: [StoreFinding] = []
        let current = try read(name, &findings)
        var prepared: Secret?
        do { prepared = try read(nextName, &findings) } catch .invalidRootKey {}
        guard let found = current ?? prepared else { return nil }
        do { try files.synchroniseDirectory() } catch { findings.append(.postponed(error)) }
        return RootKeys(current: found, prepared: current == nil ? nil : prepared, findings: findings)
    }

    private func read(_ name: String, _ findings: inout [StoreFinding]) throws(KeyFileError) -> Secret? {
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

    /// Creates the first key, or returns an existing one.
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

    /// Synchronises a key that was already adopted: that step may have failed.
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

    /// Renames the prepared key if it is the only one, so that it is neither overwritten nor removed.
    private func completeAdoption() throws(KeyFileError) {
        if try !files.holds(name) { try adoptPrepared() }
    }

    /// Destroys the key and all its interrupted copies durably. The store under it becomes unreadable. The content is
    /// not checked, so a key encrypted by systemd can be destroyed too.
    package func destroy() throws(KeyFileError) {
        for suffix in Self.suffixes { try files.destroy(name + suffix) }
        try files.synchroniseDirectory()
    }

    package func isThere() throws(KeyFileError) -> Bool {
        for name in [name, nextName] where try files.holds(name) { return true }
        return false
    }
}

/// Text form of a root key: 64 hexadecimal digits and a line feed. Also accepts 32 raw bytes, which most key tools
/// write. The two lengths differ.
enum RootKeyForm {
    /// Maximum length in bytes.
    static let longest = 2 * RootKeys.size + 1

    /// - Parameter bytes: the whole content, or at least `longest` + 1 bytes of it.
    /// - Throws: `invalidRootKey`, without any content.
    static func decode(_ bytes: UnsafeRawBufferPointer, source: String) throws(KeyFileError) -> Secret {
        let line = bytes.last == lineFeed ? bytes.dropLast() : bytes[...]
        let key: Secret
        switch (bytes.count, line.count) {
        case (RootKeys.size, _):
            // Rejects a password or half a key in hexadecimal, which are easy to guess. 32 random bytes are all
            // printable once in 10^13 keys.
            guard !line.allSatisfy(printable.contains) else { throw invalid(source, "it is text, not random bytes") }
            key = Secret(bytes)
        case (_, 2 * RootKeys.size):
            guard let decoded = Secret(hexDigits: line) else {
                throw invalid(source, "it has characters that are not hexadecimal digits")
            }
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

    // `Hex` does not wipe its strings.
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
    /// - Parameter check: called with the open file before it is read.
    /// - Returns: nil if the file does not exist.
    /// - Throws: `invalidRootKey` for other content, a system error if the file is unreadable.
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
