import AppClient
import AppProtocol

extension ClientError {
    /// The device's own error code, if it was the device that refused.
    var code: ErrorCode? { if case .refused(let error) = self { error.code } else { nil } }
}
