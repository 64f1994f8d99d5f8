/// Exit status of a command. The numbers from 64 on are those of sysexits(3).
package enum ExitStatus: Int32, CaseIterable, Sendable {
    case success = 0
    case failed = 1
    case badData = 65
    /// A part of the input was left out.
    case incomplete = 66
    case unreachable = 69
    case defect = 70
    case deviceFailure = 74
    case tryLater = 75
    case protocolMismatch = 76
    case notPermitted = 77
    case badSettings = 78

    package init(_ kind: ErrorCode.Kind) {
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
}
