/// Asks for the head of `/`. Any status proves that the server lives (RFC 9112), but where nobody has proved who it is: what
/// captive portals say in its place does not.
struct HTTPConversation: Conversation {
    /// At most so much of one answer is kept.
    static let longestHead = 8192

    let hello: [UInt8]
    private let isProven: Bool
    var ping: [UInt8] { hello }
    private var head: [UInt8] = []

    /// - Parameter isProven: whether the other side has proved who it is, by TLS.
    init(host: String, port: Int, isProven: Bool) {
        self.isProven = isProven
        let authority = (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
        hello = Array("HEAD / HTTP/1.1\r\nHost: \(authority)\r\nUser-Agent: altnet\r\nAccept: */*\r\n\r\n".utf8)
    }

    mutating func hear(_ bytes: some Sequence<UInt8>) throws(UnexpectedAnswer) -> Bool {
        for byte in bytes {
            head.append(byte)
            guard head.count <= Self.longestHead else { throw UnexpectedAnswer() }
            // The beginning tells HTTP from anything else, before more of it is read.
            if head.count <= Self.version.count, byte != Self.version[head.count - 1] { throw UnexpectedAnswer() }
            guard byte == UInt8(ascii: "\n"), head.ends(with: "\r\n\r\n".utf8) || head.ends(with: "\n\n".utf8) else {
                continue
            }
            let status = try Self.status(of: head)
            head.removeAll(keepingCapacity: true)
            // What is only on the way (RFC 9110, 15.2) is followed by the answer itself.
            guard status >= 200 else { continue }
            guard isProven || !Self.isPortals(status) else { throw UnexpectedAnswer() }
            return true
        }
        return false
    }

    /// A redirection, or 511 (RFC 6585, 6).
    private static func isPortals(_ status: Int) -> Bool { (300...399).contains(status) || status == 511 }

    private static let version = Array("HTTP/1.".utf8)

    /// `HTTP/1.1 204 No Content`
    private static func status(of head: [UInt8]) throws(UnexpectedAnswer) -> Int {
        let line = head.prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }.dropFirst(version.count)
        guard line.count >= 5, let minor = line.first, minor.isDigit, line.dropFirst().first == UInt8(ascii: " ") else {
            throw UnexpectedAnswer()
        }
        let code = line.dropFirst(2).prefix { $0 != UInt8(ascii: " ") }
        guard code.count == 3, code.allSatisfy(\.isDigit), let status = Int(String(decoding: code, as: UTF8.self)),
            (100...999).contains(status)
        else { throw UnexpectedAnswer() }
        return status
    }
}

extension BidirectionalCollection<UInt8> {
    fileprivate func ends(with end: some BidirectionalCollection<UInt8>) -> Bool {
        reversed().starts(with: end.reversed())
    }
}
