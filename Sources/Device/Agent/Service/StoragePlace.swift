import AgentModel
import Glibc
import KeyFile

/// Checks the file system of a path.
struct StoragePlace {
    let folder: String

    /// - Parameter path: path of a file in a folder that may not exist yet, or of a device.
    init(of path: String) {
        var folder = path
        repeat {
            folder = KeyFile.split(folder)?.directory ?? "/"
        } while folder != "/" && folder != "." && access(folder, F_OK) != 0
        self.folder = folder
    }

    /// Reason why the agent cannot store its state, with a remedy; nil if it can, or if the reason is unknown.
    var problem: String? {
        var system = statvfs()
        guard folder != "/dev", !folder.hasPrefix("/dev/"), statvfs(folder, &system) == 0 else { return nil }
        let remedy =
            if system.f_flag & UInt(ST_RDONLY) != 0 {
                "is read-only: mount it for writing, or set ALTNET_KEYFILE to a path on a writable one"
            } else if system.f_bavail == 0 {
                "is full: free some space"
            } else if faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0 {
                "cannot be written to by the agent's user: correct its owner and mode"
            } else {
                ""
            }
        guard !remedy.isEmpty else { return nil }
        return
            "cannot store changes: the file system of \(folder.printable) \(remedy)"
    }
}
