import Agent
import AgentModel
import AppClient
import AppProtocol
import AppServer
import Connectivity
import Glibc
import KeyFile

extension ExitStatus {
    init(_ error: ClientError) {
        self =
            switch error {
            case .unreachable, .connectFailed, .unresolvable, .notFound, .disconnected: .unreachable
            case .notPermitted, .keyRefused, .certificateChanged, .notTheDevice: .notPermitted
            case .timedOut, .turnedAway, .outcomeUnknown: .tryLater
            case .refused(let error): ExitStatus(error.code.kind)
            case .notUnderstood, .notADevice: .protocolMismatch
            case .notSwitched, .accessPointNotJoined, .cancelled: .failed
            }
    }
}

extension ExitStatus {
    /// Status of a failed start. After `tryLater` and `deviceFailure`, a later start may succeed; after `badSettings`,
    /// the user must act.
    init(startFailure error: any Error) {
        self =
            switch error {
            case let error as KeyFileError: ExitStatus(error)
            case let error as IdentityError: ExitStatus(error)
            case let error as AppServerError: ExitStatus(error)
            case let error as SystemError: ExitStatus(errno: error.errno)
            case is TrustError, is UnfinishedReset: .badSettings
            default: .failed
            }
    }

    private init(_ error: KeyFileError) {
        self =
            switch error {
            // Another agent has the file open and may end soon.
            case .inUse: .tryLater
            case .system(_, _, let errno): ExitStatus(errno: errno)
            default: .badSettings
            }
    }

    private init(_ error: IdentityError) {
        self =
            switch error.reason {
            case .missing, .alreadyThere, .invalid, .notPermitted: .badSettings
            case .system(let error): ExitStatus(errno: error.errno)
            }
    }

    private init(_ error: AppServerError) {
        self =
            switch error {
            case .alreadyServed: .tryLater
            case .pathTooLong, .notASocket: .badSettings
            case .system(let error): ExitStatus(errno: error.errno)
            }
    }

    private init(errno: Int32) { self = errno == EACCES || errno == EPERM ? .badSettings : .deviceFailure }
}

/// An error of the device's files, with its exit status and advice.
protocol KeyFileFailure: Error {
    var exitStatus: ExitStatus { get }
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
            "the agent or another process has the key file open: stop it ('systemctl stop altnet'): \(path)"
        case .tooManyBackups(let count, let maximum):
            "\(count) backup networks are too many: store at most \(maximum), or raise ALTNET_MAX_BACKUPS"
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
    fileprivate init(errorNumber: Int32) {
        self = [EACCES, EPERM].contains(errorNumber) ? .notPermitted : .deviceFailure
    }
}
