import AgentModel
import AppProtocol
import AppServer
import Crypto

/// Tokens which prove that the device has recently given a form to this client. They prevent cross-site forms. The
/// device stores no tokens.
struct FormTokens: Sendable {
    private let key = SymmetricKey(size: .bits256)

    /// Longest time between page and form.
    static let lifetime = Duration.seconds(3600)

    func token(for subject: String, at now: Instant) -> String {
        let time = UInt64(bitPattern: now.milliseconds)
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: time >> (56 - 8 * $0)) }
        return Hex.string(bytes + proof(of: bytes, subject))
    }

    func isValid(_ token: String, for subject: String, at now: Instant) -> Bool {
        guard token.utf8.count == 48, let bytes = Hex.bytes(token) else { return false }
        let time = Int64(bitPattern: bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        let age = now - Instant(milliseconds: time)
        guard age >= .zero, age <= Self.lifetime else { return false }
        let proof = proof(of: Array(bytes.prefix(8)), subject)
        return zip(proof, bytes.dropFirst(8)).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private func proof(of time: [UInt8], _ subject: String) -> [UInt8] {
        var mac = HMAC<SHA256>(key: key)
        mac.update(data: time)
        mac.update(data: Array(subject.utf8))
        return Array(mac.finalize().prefix(16))
    }
}

struct WebSessions: Sendable {
    private struct Session {
        let key: KeyName
        let secret: Secret
        let began: Instant
        var lastUse: Instant
    }

    /// Time without a page request until a session ends.
    static let idleTime = Duration.seconds(1800)
    static let lifetime = Duration.seconds(43_200)
    /// Maximum number of sessions. Beyond it, the key with the most sessions loses its least recently used one.
    static let maximum = 32

    private var sessions: [String: Session] = [:]

    /// - Returns: the session's secret name, for the cookie.
    mutating func open(with key: KeyName, _ secret: Secret, at now: Instant) -> String {
        sessions = sessions.filter { Self.isGood($0.value, at: now) }
        if sessions.count >= Self.maximum {
            let byKey = Dictionary(grouping: sessions.keys) { sessions[$0]?.key }
            let most = byKey.values.max { $0.count < $1.count } ?? []
            let oldest = most.min { (sessions[$0]?.lastUse ?? now) < (sessions[$1]?.lastUse ?? now) }
            if let oldest { sessions[oldest] = nil }
        }
        let name = Hex.string((0..<32).map { _ in UInt8.random(in: 0...255) })
        sessions[name] = Session(key: key, secret: secret, began: now, lastUse: now)
        return name
    }

    /// - Parameter isUse: whether the request counts as a use of the session.
    /// - Returns: the session's key; nil if the session is unknown or has ended, or the key has changed.
    mutating func key(
        of name: String, in keys: any AppKeyDirectory, at now: Instant, isUse: Bool = true
    ) -> AppKey? {
        guard var session = sessions[name] else { return nil }
        let key = keys.key(named: session.key)
        guard Self.isGood(session, at: now), let key, key.state == .valid, key.secret == session.secret else {
            sessions[name] = nil
            return nil
        }
        if isUse { session.lastUse = now }
        sessions[name] = session
        return key
    }

    mutating func close(_ name: String) { sessions[name] = nil }

    private static func isGood(_ session: Session, at now: Instant) -> Bool {
        now - session.lastUse < idleTime && now - session.began < lifetime
    }
}
