import AgentModel
import Glibc

/// Source of the device's root key: 32 bytes outside the store, from which all other keys are derived. There is no
/// default key. Without its root key, a store is unreadable.
package protocol RootKeySource {
    var source: String { get }
    /// - Returns: nil if there is no key yet.
    /// - Throws: an error if the key is invalid or unreadable.
    func load() throws(KeyFileError) -> RootKeys?
    /// Creates a random first key and stores it durably.
    /// - Throws: `noRootKey` if another program creates the key.
    func makeFirst() throws(KeyFileError) -> Secret
    /// Stores the next key durably beside the current one. Called before a change.
    func prepare(_ next: Secret) throws(KeyFileError)
    /// Replaces the current key by the prepared one, durably. Called after a change.
    func adoptPrepared() throws(KeyFileError)
    /// Removes a prepared key that the store does not use.
    func discardPrepared() throws(KeyFileError)
}

/// Keys that may open the store.
package struct RootKeys: Equatable {
    package let current: Secret
    /// Key prepared for an unfinished change; nil if there is none.
    package let prepared: Secret?
    package let findings: [StoreFinding]

    package init(current: Secret, prepared: Secret? = nil, findings: [StoreFinding] = []) {
        self.current = current
        self.prepared = prepared
        self.findings = findings
    }

    /// All keys, the current one first.
    var all: [Secret] { [current] + [prepared].compactMap(\.self) }

    static func makeRandom(_ random: inout any RandomNumberGenerator) -> Secret {
        var bytes = WipedBuffer(capacity: size)
        for _ in 0..<size { bytes.append(random.next()) }
        return bytes.withBytes { Secret($0) }
    }

    /// Length of a root key in bytes.
    package static let size = 32
}

/// A root key that was read earlier, while the process could read its file. Opening the store with it needs no access
/// to the file.
package struct HeldRootKey {
    private let keys: RootKeys
    package let source: String

    package init(_ keys: RootKeys, source: String) {
        self.keys = keys
        self.source = source
    }
}

extension HeldRootKey: RootKeySource {
    package func load() -> RootKeys? { keys }

    package func makeFirst() -> Secret { keys.current }

    package func prepare(_ next: Secret) throws(KeyFileError) { throw .rootKeyReadOnly(source: source) }

    package func adoptPrepared() throws(KeyFileError) { throw .rootKeyReadOnly(source: source) }

    package func discardPrepared() throws(KeyFileError) { throw .rootKeyReadOnly(source: source) }
}

/// A root key from a systemd credential: LoadCredential= or LoadCredentialEncrypted= (systemd.exec(5)).
/// systemd-creds(1) can seal an encrypted credential to the board's TPM. altnet cannot create or change it. The file's
/// mode is not checked, because systemd's access control list may appear as group bits.
public struct CredentialRootKey {
    private let name: String
    private let directory: String
    private let files: (any FileOperations)?

    package var source: String { "the credential \(directory)/\(name)" }

    /// - Parameter directory: value of `$CREDENTIALS_DIRECTORY`. A missing directory is not created.
    /// - Throws: `invalidPath` if the name is not a file name, and errors of the directory.
    public init(name: String, directory: String) throws(KeyFileError) {
        guard !name.utf8.contains(UInt8(ascii: "/")), KeyFile.split(name) != nil else { throw .invalidPath(name) }
        let isThere = !directory.utf8.contains(0) && access(directory, F_OK) == 0
        self.init(name: name, directory: directory, files: isThere ? try StoreDirectory(path: directory) : nil)
    }

    private init(name: String, directory: String, files: (any FileOperations)?) {
        self.name = name
        self.directory = directory
        self.files = files
    }
}

extension CredentialRootKey: RootKeySource {
    package func load() throws(KeyFileError) -> RootKeys? {
        try files?.readRootKey(name).map { RootKeys(current: $0) }
    }

    package func makeFirst() throws(KeyFileError) -> Secret { throw .noRootKey(source: source) }

    package func prepare(_ next: Secret) throws(KeyFileError) { throw .rootKeyReadOnly(source: source) }

    package func adoptPrepared() throws(KeyFileError) { throw .rootKeyReadOnly(source: source) }

    /// Does nothing: a credential has no prepared key.
    package func discardPrepared() {}
}
