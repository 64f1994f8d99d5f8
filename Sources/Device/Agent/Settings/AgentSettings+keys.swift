import Glibc
import KeyFile

extension AgentSettings {
    /// Name of the systemd credential that contains the root key.
    static let rootKeyCredential = "altnet.root-key"

    /// Path of the root key on a packaged device. Only root can read the file; systemd passes it to the agent.
    package static let packagedRootKey = packagedKeys + "/root-key"
    private static let packagedKeys = "/etc/altnet/keys"

    /// Place of the store and of the root key. The root key is in the first of these places: the file in the settings,
    /// systemd's credential, the packaged device's file if the agent can read it, the state directory.
    package var storePlace: StorePlace {
        StorePlace(path: keyFilePath, rootKey: rootKeyPlace, anchorPath: keyFileAnchorPath)
    }

    private var rootKeyPlace: StorePlace.RootKeyPlace {
        if let rootKeyPath { return .file(path: rootKeyPath) }
        if let directory = credentialsDirectory, access("\(directory)/\(Self.rootKeyCredential)", F_OK) == 0 {
            return .credential(name: Self.rootKeyCredential, directory: directory)
        }
        let own = stateDirectory + "/root-key"
        // After a factory reset neither file exists. Create the new root key where systemd finds it.
        let isPackaged =
            access(Self.packagedRootKey, R_OK) == 0
            || access(own, F_OK) != 0 && access(Self.packagedKeys, R_OK | X_OK) == 0
        return .file(path: isPackaged ? Self.packagedRootKey : own)
    }
}
