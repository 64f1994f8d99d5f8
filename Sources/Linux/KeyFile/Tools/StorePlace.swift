/// Where a device's store is, and what opens it.
package struct StorePlace: Sendable, Equatable {
    /// A file, or a flash chip's or block device's path.
    package var path: String
    package var rootKey: RootKeyPlace
    /// The anchor's file, if there is one.
    package var anchorPath: String?

    package enum RootKeyPlace: Sendable, Equatable {
        case file(path: String)
        /// One that systemd hands over: a file of this name in `$CREDENTIALS_DIRECTORY`.
        case credential(name: String, directory: String)

        /// The source as the agent uses it: reading it tightens the file's mode, and makes its directory.
        package func source() throws(KeyFileError) -> any RootKeySource {
            switch self {
            case .file(let path): try RootKeyFile(path: path)
            case .credential(let name, let directory): try CredentialRootKey(name: name, directory: directory)
            }
        }

        /// The same to be read only: nothing on the disk changes.
        package func readOnlySource() throws(KeyFileError) -> any RootKeySource {
            guard case .file(let path) = self else { return try source() }
            guard let (directory, name) = KeyFile.split(path) else { throw .invalidPath(path) }
            return RootKeyFile(
                name: name, files: try ReadOnlyDirectory(path: directory), random: SystemRandomNumberGenerator())
        }
    }

    package init(path: String, rootKey: RootKeyPlace, anchorPath: String? = nil) {
        self.path = path
        self.rootKey = rootKey
        self.anchorPath = anchorPath
    }

    /// Opens the store for changing it, with the lock that the agent holds while it runs.
    package func open(maximumBackups: Int) throws(KeyFileError) -> KeyFile {
        try KeyFile.open(
            path: path, maximumBackups: maximumBackups, rootKey: try rootKey.source(),
            anchor: try anchorPath.map { path throws(KeyFileError) in try FileAnchor(path: path) })
    }
}
