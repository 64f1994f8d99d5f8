import AgentModel
import Glibc
import KeyFile

/// The file system that something is to be stored on.
struct StoragePlace {
    let folder: String

    /// - Parameter path: of a file, whose folder need not be there; of a device, which is its own place.
    init(of path: String) {
        var folder = path
        repeat {
            folder = KeyFile.split(folder)?.directory ?? "/"
        } while folder != "/" && folder != "." && access(folder, F_OK) != 0
        self.folder = folder
    }

    /// Why nothing new will be kept there, and what to do; nil where nothing is known to be wrong.
    var problem: String? {
        var system = statvfs()
        guard folder != "/dev", !folder.hasPrefix("/dev/"), statvfs(folder, &system) == 0 else { return nil }
        let remedy =
            if system.f_flag & UInt(ST_RDONLY) != 0 {
                "is read-only: mount it for writing, or set ALTNET_KEYFILE to a partition that is"
            } else if system.f_bavail == 0 {
                "is full: free some space"
            } else if faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0 {
                "cannot be written to by the agent's user: correct its owner and mode"
            } else {
                ""
            }
        guard !remedy.isEmpty else { return nil }
        return
            "what is stored stays as it is, and nothing new is kept: the file system of \(folder.printable) \(remedy)"
    }
}
