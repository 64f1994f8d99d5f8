import Glibc
import KeyFile

extension AgentSettings {
    /// The name of the root key among systemd's credentials.
    static let rootKeyCredential = "altnet.root-key"

    /// Where the store's root key comes from: the file that is set, else the credential that systemd hands over, else a
    /// file of its own in the state directory.
    package func rootKeySource() throws(KeyFileError) -> any RootKeySource {
        if let rootKeyPath { return try RootKeyFile(path: rootKeyPath) }
        if let directory = credentialsDirectory, access("\(directory)/\(Self.rootKeyCredential)", F_OK) == 0 {
            return try CredentialRootKey(name: Self.rootKeyCredential, directory: directory)
        }
        return try RootKeyFile(path: stateDirectory + "/root-key")
    }

    /// What notices that an older image of the store was put back; nil unless one is set.
    package func keyFileAnchor() throws(KeyFileError) -> (any RollbackAnchor)? {
        guard let keyFileAnchorPath else { return nil }
        return try FileAnchor(path: keyFileAnchorPath)
    }
}
