import AgentModel
import Glibc

/// The source of the device's root key: 32 bytes from which all keys of the store are derived, kept outside the store.
/// There is no default: a store without its root key cannot be read.
package protocol RootKeySource {
    /// Its name in messages.
    var source: String { get }
    /// The keys that are there now.
    /// - Returns: nil if there is no key yet.
    /// - Throws: where there is something that is not a root key, or that cannot be read.
    func load() throws(KeyFileError) -> RootKeys?
    /// Makes the first key, at random and durably.
    /// - Throws: `noRootKey` where another program makes the key.
    func makeFirst() throws(KeyFileError) -> Secret
    /// Keeps the key that a change of keys is about to use beside the current one, durably.
    func prepare(_ next: Secret) throws(KeyFileError)
    /// Replaces the current key by the prepared one, durably: the store is under it now.
    func adoptPrepared() throws(KeyFileError)
    /// Forgets a prepared key: the store is not under it.
    func discardPrepared() throws(KeyFileError)
}

/// The keys that may open the store.
package struct RootKeys: Equatable {
    package let current: Secret
    /// The key that an unfinished change of keys has prepared.
    package let prepared: Secret?
    /// Problems with their source.
    package let findings: [Finding]

    package init(current: Secret, prepared: Secret? = nil, findings: [Finding] = []) {
        self.current = current
        self.prepared = prepared
        self.findings = findings
    }

    /// The current one first.
    var all: [Secret] { [current] + [prepared].compactMap(\.self) }

    /// A new key.
    static func makeRandom(_ random: inout any RandomNumberGenerator) -> Secret {
        var bytes = WipedBuffer(capacity: size)
        for _ in 0..<size { bytes.append(random.next()) }
        return bytes.withBytes { Secret($0) }
    }

    /// The bytes of a root key.
    package static let size = 32
}

/// A root key that was read before, by a process that may read it: opening the store with it needs no such right.
package struct HeldRootKey {
    private let keys: RootKeys
    package let source: String

    /// - Parameter source: where the keys are from, for messages.
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

/// A root key that systemd hands to the agent as a credential: LoadCredential= or LoadCredentialEncrypted= in
/// systemd.exec(5), the latter also sealed to the board's TPM by systemd-creds(1).
///
/// Read-only: it is made and changed where the credential comes from. Its mode is systemd's own affair, which may show
/// an access control list for the unit's user as bits of the group.
public struct CredentialRootKey {
    private let name: String
    private let directory: String
    private let files: (any FileOperations)?

    package var source: String { "the credential \(directory)/\(name)" }

    /// Names the credential.
    /// - Parameter directory: what `$CREDENTIALS_DIRECTORY` says. It is not made if it is missing.
    /// - Throws: `invalidPath` if the name is none of a file, and errors of the directory.
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

    /// There never is one.
    package func discardPrepared() {}
}
