import Glibc
import KeyFile

extension AgentSettings {
    /// Name of the root key's credential in systemd.
    static let rootKeyCredential = "altnet.root-key"

    /// Root key of a packaged device, readable by root only; systemd passes it to the agent.
    package static let packagedRootKey = packagedKeys + "/root-key"
    private static let packagedKeys = "/etc/altnet/keys"

    /// Place of store and root key. The root key is the first of: file in the settings, systemd's credential, readable
    /// file of a packaged device, file in the state directory.
    package var storePlace: StorePlace {
        StorePlace(path: keyFilePath, rootKey: rootKeyPlace, anchorPath: keyFileAnchorPath)
    }

    private var rootKeyPlace: StorePlace.RootKeyPlace {
        if let rootKeyPath { return .file(path: rootKeyPath) }
        if let directory = credentialsDirectory, access("\(directory)/\(Self.rootKeyCredential)", F_OK) == 0 {
            return .credential(name: Self.rootKeyCredential, directory: directory)
        }
        let own = stateDirectory + "/root-key"
        // After a factory reset there is neither. Create the new one where systemd finds it.
        let isPackaged =
            access(Self.packagedRootKey, R_OK) == 0
            || access(own, F_OK) != 0 && access(Self.packagedKeys, R_OK | X_OK) == 0
        return .file(path: isPackaged ? Self.packagedRootKey : own)
    }
}
