import AgentModel
import Glibc

/// A root key in its own file, outside the store and readable only by its owner. NAME.next holds the new key during a
/// change. An interrupted write may leave NAME.new, which is ignored.
public struct RootKeyFile {
    private let name: String
    private let files: any FileOperations
    private let random: any RandomNumberGenerator

    /// File name suffixes of the key, of the next key, and of interrupted writes of both.
    package static let suffixes = ["", ".next", ".new", ".next.new"]

    private var nextName: String { name + ".next" }
    package var source: String { "\(files.path)/\(name)" }

    /// Sets the path of the key's file. Creates a missing directory with mode 0700.
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
    /// Loads the keys and makes them durable, because their writer may have been killed. A damaged prepared key was
    /// never durable and so never used: it counts as missing. If only the prepared key exists, it is the current one:
    /// on FAT, a power loss during a rename can remove the old name first.
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

    /// Renames the prepared key if it still exists, and synchronises the directory.
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

    /// Destroys the key and the remains of interrupted writes durably. The store becomes unreadable. Does not check the
    /// content, so it also destroys a key that systemd has encrypted.
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
/// write. The length distinguishes the two forms.
enum RootKeyForm {
    /// Maximum length of the text form in bytes.
    static let longest = 2 * RootKeys.size + 1

    /// - Parameter bytes: the whole content, or at least `longest` + 1 bytes of it.
    /// - Throws: `invalidRootKey`. The error never repeats the content.
    static func decode(_ bytes: UnsafeRawBufferPointer, source: String) throws(KeyFileError) -> Secret {
        let line = bytes.last == lineFeed ? bytes.dropLast() : bytes[...]
        let key: Secret
        switch (bytes.count, line.count) {
        case (RootKeys.size, _):
            // Reject printable text: a password or half of a hexadecimal key is easy to guess. Only one in 10^13 random
            // keys is printable.
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

    // `Hex` is unsuitable here, because it does not wipe its strings.
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
