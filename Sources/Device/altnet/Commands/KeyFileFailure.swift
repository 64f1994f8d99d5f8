import Glibc
import KeyFile

/// An error of the store, with what it tells the shell and the person.
protocol KeyFileFailure: Error {
    var exitStatus: ExitStatus { get }
    /// What is wrong and what to do.
    var advice: String { get }
}

extension CommandFailure {
    init(_ failure: any KeyFileFailure) { self.init(failure.exitStatus, failure.advice) }
}

extension KeyFileError: KeyFileFailure {
    var exitStatus: ExitStatus {
        switch self {
        case .inUse: .tryLater
        case .otherVersion, .wrongRootKey, .noRootKey, .invalidRootKey, .invalidPath, .notRegularFile, .tooSmall,
            .unsuitableDevice, .maximumOutOfRange, .tooManyBackups, .duplicateBackup, .invalidPassphrase, .invalidKey,
            .switchIdentifierTooLong, .counterWouldGoBack, .invalidCounterName, .tooManyCounters, .stateTooLarge,
            .foreignContent, .anchorDamaged:
            .badData
        case .rootKeyReadOnly: .failed
        case .badSector: .deviceFailure
        case .encryptionFailed: .defect
        case .system(_, _, let number): ExitStatus(errorNumber: number)
        }
    }

    var advice: String {
        switch self {
        case .inUse(let path):
            "the agent, or another process, has \(path) open: stop it first, as with 'systemctl stop altnet'"
        case .tooManyBackups(let count, let maximum):
            "\(count) backup networks are more than the \(maximum) that this device stores: set ALTNET_MAX_BACKUPS"
        default: "\(self)"
        }
    }
}

extension ExportError: KeyFileFailure {
    var exitStatus: ExitStatus {
        switch self {
        case .encryptionFailed: .defect
        case .outOfMemory: .tryLater
        default: .badData
        }
    }
    var advice: String { "\(self)" }
}

extension ImportError: KeyFileFailure {
    var exitStatus: ExitStatus {
        switch self {
        case .notEmpty: .failed
        case .store(let error): error.exitStatus
        }
    }

    var advice: String {
        switch self {
        case .notEmpty: "\(self)"
        case .store(let error): error.advice
        }
    }
}

extension ExitStatus {
    /// For what the system refused.
    fileprivate init(errorNumber: Int32) {
        self = [EACCES, EPERM].contains(errorNumber) ? .notPermitted : .deviceFailure
    }
}
