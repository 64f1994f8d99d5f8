import Glibc

@testable import Lab

/// HTTP client for the device's page, with a connection per request and the token of the last form.
struct PhoneBrowser: Sendable {
    let namespace: NetworkNamespace
    let address: IPv4Address

    struct Answer: Sendable {
        let status: Int
        let location: String?
        let body: String

        /// - Returns: nil unless the text is an HTTP/1.1 response.
        init?(_ text: String) {
            guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
            let lines = text[..<end.lowerBound].split(separator: "\r\n")
            guard let first = lines.first, first.hasPrefix("HTTP/1.1 "), let status = Int(first.dropFirst(9).prefix(3))
            else { return nil }
            self.status = status
            location = lines.first { $0.hasPrefix("Location: ") }.map { String($0.dropFirst(10)) }
            body = String(text[end.upperBound...])
        }
    }

    struct Result: Sendable {
        let page: String
        /// Times when the form was sent and when the result was shown.
        let submitted: ContinuousClock.Instant
        let shown: ContinuousClock.Instant
    }

    func get(
        _ path: String, host: String? = nil, within limit: Duration = .seconds(4)
    ) async throws -> Answer {
        try await send("GET \(path) HTTP/1.1\r\nHost: \(host ?? "\(address)")\r\n\r\n", within: limit)
    }

    func post(_ path: String, _ fields: String) async throws -> Answer {
        var token = ""
        // There is no form during the first scan.
        try await eventually(within: .seconds(20), every: .milliseconds(500), "the page to have a form") {
            let page = try await get("/networks").body
            token = page.firstMatch(of: /name="token" value="([0-9a-f]+)"/).map { String($0.1) } ?? ""
            return !token.isEmpty
        }
        let form = "token=\(token)&\(fields)"
        return try await send(
            "POST \(path) HTTP/1.1\r\nHost: \(address)\r\nOrigin: http://\(address)\r\n"
                + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: \(form.utf8.count)\r\n\r\n\(form)",
            within: .seconds(4))
    }

    /// Submits a network, and polls the result like the page's script. Meanwhile the device may be unreachable.
    func join(_ fields: String, within limit: Duration) async throws -> Result {
        let submitted = ContinuousClock.now
        var answer = try await post("/join", fields)
        try await eventually(within: limit, every: .milliseconds(700), "the page to tell the result") {
            if let now = try? await get("/result") { answer = now }
            return answer.status == 200 && !answer.body.contains(#"id="phase""#)
        }
        return Result(page: answer.body, submitted: submitted, shown: .now)
    }

    /// Sends a request and returns the answer up to the end of the connection.
    func send(_ request: String, within limit: Duration) async throws -> Answer {
        let text = try await exchange(Array(request.utf8), within: limit)
        guard let answer = Answer(text) else { throw LabError.unexpected("no answer of HTTP: \(text.prefix(200))") }
        return answer
    }

    private func exchange(_ request: [UInt8], within limit: Duration) async throws -> String {
        let socket = try namespace.enter { () throws(LabError) in try FileDescriptor.socket(AF_INET, SOCK_STREAM) }
        _ = address.withSocketAddress(port: 80) { connect(socket.number, $0, $1) }
        var rest = request[...]
        var (answer, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 16384))
        try await eventually(within: limit, "the page to answer") {
            while !rest.isEmpty {
                let sent = rest.withUnsafeBytes {
                    Glibc.send(socket.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard sent > 0 else { break }
                rest = rest.dropFirst(sent)
            }
            while true {
                let count = recv(socket.number, &buffer, buffer.count, 0)
                if count > 0 {
                    answer += buffer.prefix(count)
                } else if count == 0 {
                    return true
                } else if errno == EAGAIN {
                    return false
                } else {
                    // An answer counts even if the connection is cut off afterwards.
                    guard answer.isEmpty else { return true }
                    throw LabError.lastCall("ask the page")
                }
            }
        }
        return String(decoding: answer, as: UTF8.self)
    }

    /// Asks the device's name server for an IPv4 address; nil if it knows none.
    func lookUp(_ name: String, within limit: Duration = .seconds(4)) async throws -> IPv4Address? {
        let socket = try namespace.enter { () throws(LabError) in try FileDescriptor.socket(AF_INET, SOCK_DGRAM) }
        guard address.withSocketAddress(port: 53, { connect(socket.number, $0, $1) }) == 0 else {
            throw LabError.lastCall("reach the name server at \(address)")
        }
        // RFC 1035, 4.1: a recursive question for type A, class IN.
        var question: [UInt8] = [0xa1, 0x7e, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
        for label in name.split(separator: ".") { question += [UInt8(label.utf8.count)] + label.utf8 }
        question += [0, 0, 1, 0, 1]
        var answer = [UInt8](repeating: 0, count: 512)
        var count = 0
        var asked: ContinuousClock.Instant?
        try await eventually(within: limit, "the address of \(name)") {
            // Repeat like a resolver, as a datagram may get lost.
            if asked.map({ .now - $0 >= .seconds(1) }) ?? true {
                _ = Glibc.send(socket.number, question, question.count, Int32(MSG_NOSIGNAL))
                asked = .now
            }
            count = recv(socket.number, &answer, answer.count, 0)
            return count >= question.count
        }
        // One record. Its data are the last four bytes.
        guard answer[7] == 1, count >= question.count + 16 else { return nil }
        let bytes = answer[(count - 4)..<count].map(\.self)
        return IPv4Address(bytes[0], bytes[1], bytes[2], bytes[3])
    }
}

extension WirelessPhone {
    nonisolated func browser(at address: IPv4Address) -> PhoneBrowser {
        PhoneBrowser(namespace: namespace, address: address)
    }
}
