import AgentModel
import Glibc

/// Why the store could not be opened, or why a commit was refused. After a refused commit the old state stands, in memory
/// and on disk.
public enum KeyFileError: Error, Equatable {
    /// Another process has the store's directory open.
    case inUse(directory: String)
    /// Written by a newer altnet. The file was left as it is.
    case newerVersion(path: String, version: UInt16)
    /// Names no file.
    case invalidPath(String)
    /// A directory, a pipe or a device is where the file belongs.
    case notRegularFile(path: String)
    /// The setting is outside `KeyFile.allowedMaximum`.
    case maximumOutOfRange(Int)
    case tooManyBackups(count: Int, maximum: Int)
    case duplicateBackup(SSID)
    case invalidPassphrase(SSID, InvalidPassphrase)
    /// A derived key that is not 256 bits long.
    case invalidKey(SSID, bytes: Int)
    case switchIdentifierTooLong(bytes: Int)
    /// The system refused an operation.
    case system(Attempt, path: String, errno: Int32)

    /// What was attempted when the system refused.
    public enum Attempt: String, Sendable {
        case makeDirectory = "make the directory"
        case open = "open"
        case lock = "lock"
        case read = "read"
        case create = "create"
        case write = "write"
        case synchronise = "sync"
        case rename = "rename"
        case remove = "remove"
    }
}

extension KeyFileError: CustomStringConvertible {
    /// One sentence that says what is wrong and what to do. It never holds a secret.
    public var description: String {
        switch self {
        case .inUse(let directory):
            "another process uses the key file in \(directory): stop the other altnet agent first, or give each its own "
                + "directory"
        case .newerVersion(let path, let version):
            "\(path) has version \(version), this altnet reads version \(Image.version): install the newer altnet again; "
                + "the file was not touched"
        case .invalidPath(let path): "\"\(path)\" is no path of a file: set one such as /var/lib/altnet/keyfile"
        case .notRegularFile(let path): "\(path) is not a regular file: move it away or set another path"
        case .maximumOutOfRange(let maximum):
            "a maximum of \(maximum) backup networks is impossible: set one from \(KeyFile.allowedMaximum.lowerBound) to "
                + "\(KeyFile.allowedMaximum.upperBound)"
        case .tooManyBackups(let count, let maximum):
            "\(count) backup networks are more than the maximum of \(maximum): send a shorter list"
        case .duplicateBackup(let ssid): "the backup network \(ssid) is there twice: send it once"
        case .invalidPassphrase(let ssid, let reason): "the password of \(ssid) is impossible: \(reason)"
        case .invalidKey(let ssid, let count):
            "the derived key of \(ssid) has \(count) bytes, not \(StoredState.pskLength): derive it again"
        case .switchIdentifierTooLong(let count):
            "a switch's identifier has at most \(StoredState.identifierLength.upperBound) bytes, this one has \(count)"
        case .system(let attempt, let path, let errno):
            "cannot \(attempt.rawValue) \(path): \(String(cString: strerror(errno)))\(Self.remedy(for: errno))"
        }
    }

    private static func remedy(for errno: Int32) -> String {
        switch errno {
        case ENOSPC, EDQUOT: ": free some space on its file system"
        case EROFS: ": remount its file system for writing, or keep the store on one that is writable"
        case EACCES, EPERM: ": run as the user that owns it, or correct owner and mode"
        case EIO: ": the disk is failing, look into the kernel's log and replace it"
        case ENOENT, ENOTDIR: ": its directory is gone, put it back and restart the agent"
        case ELOOP: ": it is a symbolic link, set the path that it leads to"
        default: ""
        }
    }
}
