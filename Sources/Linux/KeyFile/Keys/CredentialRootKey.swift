import AgentModel
import Glibc

/// A root key that systemd hands to the agent as a credential: LoadCredential= or LoadCredentialEncrypted= in
/// systemd.exec(5), the latter also sealed to the board's TPM by systemd-creds(1).
///
/// Read-only: it is made and changed where the credential comes from. Its mode is systemd's own affair, which may show an
/// access control list for the unit's user as bits of the group.
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
