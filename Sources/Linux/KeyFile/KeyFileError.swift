import AgentModel
import Glibc

/// An error of opening the store, or of a commit. After a refused commit, the old state stays in memory and on the
/// medium.
public enum KeyFileError: Error, Equatable {
    // Errors of opening. The store stays unchanged.

    case inUse(path: String)
    /// The format version is not supported.
    case otherVersion(path: String, version: UInt16)
    /// The store was written under another root key.
    case wrongRootKey(path: String)
    /// A root key is required but missing.
    case noRootKey(source: String)
    /// The root key's file has invalid content.
    case invalidRootKey(source: String, problem: String)
    /// Only another program, such as systemd, can change this root key.
    case rootKeyReadOnly(source: String)
    case invalidPath(String)
    /// A directory, pipe or other special file is at the store's path.
    case notRegularFile(path: String)
    case tooSmall(path: String, bytes: Int, needed: Int)
    /// The device is not a flash chip, or the format does not support its size, pages or erase blocks.
    case unsuitableDevice(path: String, problem: String)
    case maximumOutOfRange(Int)

    // Errors of commits.

    case tooManyBackups(count: Int, maximum: Int)
    case duplicateBackup(SSID)
    case invalidPassphrase(SSID, InvalidPassphrase)
    /// The derived key does not have 256 bits.
    case invalidKey(SSID, bytes: Int)
    case switchIdentifierTooLong(bytes: Int)
    /// The new state would decrease a replay counter.
    case counterWouldGoBack(name: String)
    case invalidCounterName
    case tooManyCounters(count: Int, maximum: Int)
    /// The state does not fit in half of the store.
    case stateTooLarge(bytes: Int, maximum: Int)
    /// The device holds other data, which the first commit would overwrite.
    case foreignContent(path: String)
    /// The flash chip cannot use this sector any more.
    case badSector(path: String, number: Int)
    /// The anchor's file was not written with the device's root key.
    case anchorDamaged(path: String)
    /// The cryptographic library failed. Input from altnet never causes this.
    case encryptionFailed
    case system(Attempt, path: String, errno: Int32)

    public enum Attempt: String, Sendable {
        case makeDirectory = "make the directory"
        case open = "open"
        case lock = "lock"
        case read = "read"
        case create = "create"
        case write = "write"
        case erase = "erase"
        case synchronise = "sync"
        case rename = "rename"
        case remove = "remove"
    }
}

extension KeyFileError: CustomStringConvertible {
    /// Description in one sentence with the problem and its remedy, without secrets.
    public var description: String {
        switch self {
        case .inUse(let path):
            "\(path) is in use: stop the other altnet agent first, or give each its own directory; do not mount a "
                + "device or use it for swap"
        case .otherVersion(let path, let version):
            "\(path) has version \(version), this altnet reads versions up to \(SectorHeader.version): "
                + (version > SectorHeader.version
                    ? "install the newer altnet again" : "move it away and provision the device again")
                + "; the file was not touched"
        case .wrongRootKey(let path):
            "\(path) was written with another root key: restore the right one; the file was not touched"
        case .noRootKey(let source):
            "there is no root key in \(source): restore it, or move the key file away and provision the device again; "
                + "the file was not touched"
        case .invalidRootKey(let source, let problem): "\(source) is not a root key: \(problem)"
        case .rootKeyReadOnly(let source):
            "\(source) cannot be changed from here: change to a key in a file (--to-root-key), and make that the new "
                + "credential"
        case .invalidPath(let path): "\"\(path)\" is not a file's path: set one such as /var/lib/altnet/keyfile"
        case .notRegularFile(let path):
            "\(path) is neither a regular file nor a flash or block device: move it away or set another path"
        case .tooSmall(let path, let bytes, let needed):
            "\(path) has \(bytes) bytes, a store needs at least \(needed): use a larger partition"
        case .unsuitableDevice(let path, let problem): "\(path) cannot hold a store: \(problem)"
        case .maximumOutOfRange(let maximum):
            "the maximum number of backup networks is out of range: set \(KeyFile.allowedMaximum.lowerBound) to "
                + "\(KeyFile.allowedMaximum.upperBound), not \(maximum)"
        case .tooManyBackups(let count, let maximum):
            "\(count) backup networks are more than the maximum of \(maximum): send a shorter list"
        case .duplicateBackup(let ssid): "the backup network \(ssid) appears twice with the same password: send it once"
        case .invalidPassphrase(let ssid, let reason): "the password of \(ssid) is invalid: \(reason)"
        case .invalidKey(let ssid, let count):
            "the derived key of \(ssid) has \(count) bytes, not \(StoredState.pskLength): derive it again"
        case .switchIdentifierTooLong(let count):
            "a switch's identifier has at most \(StoredState.identifierLength.upperBound) bytes, this one has \(count)"
        case .counterWouldGoBack(let name): "the counter \(name) cannot go back: a message could be accepted twice"
        case .invalidCounterName:
            "a counter's name has \(StoredState.counterNameLength.lowerBound) to "
                + "\(StoredState.counterNameLength.upperBound) bytes"
        case .tooManyCounters(let count, let maximum): "too many counters: \(count), at most \(maximum) are allowed"
        case .stateTooLarge(let count, let maximum):
            "the state has \(count) bytes, the key file has room for \(maximum): remove networks, or use a larger "
                + "partition or flash chip"
        case .foreignContent(let path):
            "\(path) contains other data: erase it first if it is meant to be the key file"
        case .badSector(let path, let number): "sector \(number) of \(path) is bad: replace the flash chip"
        case .anchorDamaged(let path):
            "the anchor \(path) was not written with this device's root key: a rollback cannot be ruled out; "
                + "remove the anchor to start a new one"
        case .encryptionFailed: "encryption failed: report this as a bug"
        case .system(let attempt, let path, let errno):
            "cannot \(attempt.rawValue) \(path): \(String(cString: strerror(errno)))\(Self.remedy(for: errno))"
        }
    }

    /// Returns the remedy for a system error, as the end of a sentence; empty if unknown.
    package static func remedy(for errno: Int32) -> String {
        switch errno {
        case ENOSPC, EDQUOT: ": free some space on its file system"
        case EROFS: ": make its file system or device writable, or keep the store on another one"
        case EACCES, EPERM: ": run as the user that owns it, or correct owner and mode"
        case EIO: ": the disk is failing, check the kernel's log and replace it"
        case ENOENT, ENOTDIR: ": its directory is gone, restore it and restart the agent"
        case ELOOP: ": it is a symbolic link, set its target's path"
        default: ""
        }
    }
}
