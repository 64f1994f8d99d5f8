import AppServer
import Logging

extension AppServer.Notice {
    /// Log level: higher for events that need the owner's attention than for everyday ones.
    var level: Logger.Level {
        switch self {
        case .opened: .debug
        case .dropped: .info
        case .refused: .notice
        case .turnedAway(let attempt): attempt.failure == .wrongKey ? .warning : .info
        }
    }
}

extension AppServer.Notice: CustomStringConvertible {
    public var description: String {
        switch self {
        case .opened(let peer): "connected: \(peer)"
        case .refused(let peer, .tooManyConnections): "refused, for there are too many connections: \(peer)"
        case .refused(let peer, .notPermitted): "refused, for its user may not ask: \(peer)"
        case .dropped(let peer, .idle): "closed, for it asked nothing for long: \(peer)"
        case .dropped(let peer, .notReading): "closed, for it did not read its answers: \(peer)"
        case .dropped(let peer, .keyEnded): "closed, for its key was revoked or has expired: \(peer)"
        case .dropped(let peer, .addressGone): "closed, for the device has left that address: \(peer)"
        case .turnedAway(let attempt): "\(attempt)"
        }
    }
}

extension AppServer.TurnedAway: CustomStringConvertible {
    public var description: String {
        let others = untold == 0 ? "" : " (and \(untold) like it)"
        return "\(address) got no connection: \(reason)\(others)"
    }

    private var reason: String {
        switch failure {
        case .wrongKey: "its key is wrong (\(wrongKeys) wrong ones by now); its next attempt waits \(delay)"
        case .unknownDevice: "it asked for another device"
        case .endedKey: "its key was revoked, or has expired"
        case .notUnderstood: "it speaks no TLS that this device speaks, or did not begin with session.open"
        case .tookTooLong: "its handshake took too long"
        case .crowdedOut: "too many others shook hands"
        case .gone: "it left"
        }
    }
}
