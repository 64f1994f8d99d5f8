import AppProtocol

/// Commands that apps have proved with their keys. They are stored until they expire, because a relay may replay them.
struct ProvedCommands: Sendable {
    struct Use: Sendable, Hashable {
        let key: KeyName
        let id: String
    }

    private var expiries: [Use: Timestamp] = [:]

    /// Checks that a request is valid. Stores a command, so that it is accepted only once.
    /// - Throws: `malformed` for an expired, too distant or repeated request; `busy` if too many commands are stored.
    mutating func check(
        _ use: Use, until expires: Timestamp, isCommand: Bool, at time: Timestamp
    ) throws(ProtocolError) {
        func refusal(_ problem: String) -> ProtocolError {
            ProtocolError(.malformed, problem, details: ["field": "body.line"])
        }
        guard time < expires else { throw refusal("the request has expired: it is not carried out") }
        let (left, isTooLong) = expires.millisecondsSince1970.subtractingReportingOverflow(time.millisecondsSince1970)
        guard !isTooLong, left <= Int64(ProtocolLimits.provedRequestLife) * 1000 else {
            throw refusal("expires is more than \(ProtocolLimits.provedRequestLife) seconds away")
        }
        guard isCommand else { return }
        expiries = expiries.filter { time < $0.value }
        guard expiries[use] == nil else { throw refusal("the id was used by an earlier command: read the state") }
        let ofKey = expiries.keys.count { $0.key == use.key }
        guard expiries.count < ProtocolLimits.provedCommands, ofKey < ProtocolLimits.provedCommandsOfKey else {
            throw ProtocolError(
                .busy, "too many unexpired commands: wait until some expire (\(expiries.count), \(ofKey) of this key)")
        }
        expiries[use] = expires
    }
}
