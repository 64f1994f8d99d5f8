import Agent
import AppServer
import Connectivity
import Glibc
import KeyFile
import Linux

extension ExitStatus {
    /// Why the agent did not start: whether a person has to mend something, or trying again may help.
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
            // Another agent, which may be about to end.
            case .inUse: .tryLater
            case .system(_, _, let errno): ExitStatus(errno: errno)
            default: .badSettings
            }
    }

    private init(_ error: IdentityError) {
        self =
            switch error.reason {
            case .missing, .alreadyThere, .invalid, .notPermitted: .badSettings
            case .system(let errno): ExitStatus(errno: errno)
            }
    }

    private init(_ error: AppServerError) {
        self =
            switch error {
            case .alreadyServed: .tryLater
            case .pathTooLong, .notASocket: .badSettings
            case .system(_, _, let errno): ExitStatus(errno: errno)
            }
    }

    private init(errno: Int32) { self = errno == EACCES || errno == EPERM ? .badSettings : .deviceFailure }
}
