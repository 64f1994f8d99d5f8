import AppClient
import AppProtocol

/// What a command tells the shell; the numbers from 64 on are those of sysexits(3).
enum ExitStatus: Int32, CaseIterable {
    case success = 0
    case failed = 1
    case badData = 65
    case unreachable = 69
    case defect = 70
    case deviceFailure = 74
    case tryLater = 75
    case protocolMismatch = 76
    case notPermitted = 77
    case badSettings = 78

    init(_ kind: ErrorCode.Kind) {
        self =
            switch kind {
            case .badData: .badData
            case .unsupported: .protocolMismatch
            case .tryLater: .tryLater
            case .alreadySo: .success
            case .refused: .failed
            case .deviceFailure: .deviceFailure
            case .notPermitted: .notPermitted
            case .defect: .defect
            }
    }

    init(_ error: ClientError) {
        self =
            switch error {
            case .unreachable, .connectFailed, .unresolvable, .notFound, .disconnected: .unreachable
            case .notPermitted, .keyRefused: .notPermitted
            case .timedOut, .turnedAway, .outcomeUnknown: .tryLater
            case .refused(let error): ExitStatus(error.code.kind)
            case .notUnderstood, .notADevice: .protocolMismatch
            case .notSwitched, .cancelled: .failed
            }
    }
}
