import Glibc
import KeyFile

extension AgentSettings {
    /// The name of the root key among systemd's credentials.
    static let rootKeyCredential = "altnet.root-key"

    /// The root key of a packaged device, readable by root alone: systemd hands it over to the agent.
    package static let packagedRootKey = packagedKeys + "/root-key"
    private static let packagedKeys = "/etc/altnet/keys"

    /// The place of the store and of its root key: the file that is set, else the credential that systemd hands over,
    /// else the packaged device's if it can be read, else a file of its own in the state directory.
    package var storePlace: StorePlace {
        StorePlace(path: keyFilePath, rootKey: rootKeyPlace, anchorPath: keyFileAnchorPath)
    }

    private var rootKeyPlace: StorePlace.RootKeyPlace {
        if let rootKeyPath { return .file(path: rootKeyPath) }
        if let directory = credentialsDirectory, access("\(directory)/\(Self.rootKeyCredential)", F_OK) == 0 {
            return .credential(name: Self.rootKeyCredential, directory: directory)
        }
        let own = stateDirectory + "/root-key"
        // After a factory reset there is neither, and the next is to be made where systemd looks for it.
        let isPackaged =
            access(Self.packagedRootKey, R_OK) == 0
            || access(own, F_OK) != 0 && access(Self.packagedKeys, R_OK | X_OK) == 0
        return .file(path: isPackaged ? Self.packagedRootKey : own)
    }
}
