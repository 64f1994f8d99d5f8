import AppServer
import Logging

extension AppServer.Notice {
    /// Log level, higher for events that need the owner's attention.
    var level: Logger.Level {
        switch self {
        case .opened: .debug
        case .dropped: .info
        case .refused: .notice
        case .rejected(let attempt): attempt.failure == .wrongKey ? .warning : .info
        }
    }
}

extension AppServer.Notice: CustomStringConvertible {
    public var description: String {
        switch self {
        case .opened(let peer): "connected: \(peer)"
        case .refused(let peer, .tooManyConnections): "connection refused, limit reached: \(peer)"
        case .refused(let peer, .notPermitted): "connection refused, user not permitted: \(peer)"
        case .dropped(let peer, .idle): "connection closed, idle for too long: \(peer)"
        case .dropped(let peer, .notReading): "connection closed, answers not read: \(peer)"
        case .dropped(let peer, .keyEnded): "connection closed, key revoked or expired: \(peer)"
        case .dropped(let peer, .addressGone): "connection closed, the device no longer has its address: \(peer)"
        case .rejected(let attempt): "\(attempt)"
        }
    }
}

extension AppServer.RejectedConnection: CustomStringConvertible {
    public var description: String {
        let others = unreported == 0 ? "" : " (and \(unreported) more)"
        return "handshake with \(address) failed: \(reason)\(others)"
    }

    private var reason: String {
        switch failure {
        case .wrongKey: "wrong key, delaying its next attempt by \(delay) (wrong keys so far: \(wrongKeys))"
        case .unknownDevice: "wrong device id"
        case .endedKey: "key revoked or expired"
        case .notUnderstood: "no supported TLS version, or the first line is not session.open"
        case .tookTooLong: "it took too long"
        case .crowdedOut: "too many handshakes at once"
        case .gone: "connection closed by the client"
        }
    }
}
