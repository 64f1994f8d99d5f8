import AppProtocol
import JSONValues

struct Answer: Sendable {
    let line: [UInt8]
    let json: JSONValue

    /// - Throws: `Deviation` if the line does not have the common form of answers.
    init(_ line: [UInt8]) throws(Deviation) {
        guard let json = JSONValue(line: line), json.object != nil else {
            throw Deviation("one JSON object a line", got: Redaction.printable(line.prefix(80)))
        }
        self.line = line
        self.json = json
        guard json["v"] == .integer(ProtocolLimits.version) else {
            throw Deviation("an answer in version \(ProtocolLimits.version)", got: "another one")
        }
        switch (json["ok"], json["body"]?.object, json["error"]) {
        case (true, _?, nil): break
        case (false, nil, let error?): try Shape.error.check(error, "an error")
        default: throw Deviation("an answer with ok and, after it, either body or error", got: "neither or both")
        }
    }

    var codeName: String? { json["error"]?["code"]?.text }
    var code: ErrorCode? { codeName.flatMap(ErrorCode.init) }

    var summary: String {
        guard let codeName else { return "success" }
        return "\(codeName) (\(Redaction.printable((json["error"]?["message"]?.text ?? "").utf8)))"
    }

    func expectID(_ id: JSONValue?) throws(Deviation) {
        guard json["id"] == id else {
            throw Deviation(
                "the answer to \(id?.text ?? "a line without an id")", got: "one to \(json["id"]?.text ?? "none")")
        }
    }

    /// Checks each member of a successful answer and returns the body.
    func body<Value: Decodable>(of type: MessageType, as _: Value.Type = Value.self) throws(Deviation) -> Value {
        guard let body = json["body"] else { throw Deviation("\(type.rawValue) succeeds", got: summary) }
        try Shape.body(of: type).check(body, "the answer to \(type.rawValue)")
        do {
            return try ServerLine.body(Value.self, of: line)
        } catch {
            throw Deviation("an answer to \(type.rawValue) that can be read", got: "\(error)")
        }
    }

    /// Checks that the answer is this refusal.
    /// - Parameters:
    ///   - field: required value of `details.field`; nil for any value.
    ///   - details: other required details and their values.
    func expectRefusal(
        _ code: ErrorCode, field: String? = nil, details: [String: JSONValue] = [:]
    ) throws(Deviation) {
        guard self.code == code else { throw Deviation("the error \(code.rawValue)", got: summary) }
        let given = json["error"]?["details"]
        for (name, value) in details.merging(field.map { ["field": .text($0)] } ?? [:], uniquingKeysWith: { $1 })
        where given?[name] != value {
            throw Deviation(
                "\(code.rawValue) with \(name) \(Redaction.printable(value.line))",
                got: given?[name].map { Redaction.printable($0.line) } ?? "no such detail")
        }
    }

    /// Longest time for which a device may delay a client.
    static let longestWait = Duration.seconds(60)

    /// Waits for the time that a refusal for too many requests demands.
    func waitAsTold() async throws(Deviation) {
        guard let milliseconds = json["error"]?["details"]?["retryAfterMs"]?.integer,
            milliseconds >= 0, .milliseconds(milliseconds) <= Self.longestWait
        else { throw Deviation("tooManyRequests with retryAfterMs, at most a minute", got: "none") }
        await pause(.milliseconds(milliseconds + 1))
    }
}

extension Shape {
    func check(_ value: JSONValue, _ what: String) throws(Deviation) {
        let complaints = complaints(about: value)
        guard complaints.isEmpty else {
            throw Deviation("\(what) as documented", got: complaints.joined(separator: "; "))
        }
    }
}

extension JSONValue {
    static func request(_ type: MessageType, _ body: JSONValue? = nil, id: String) -> JSONValue {
        let line: JSONValue = [
            "v": .integer(ProtocolLimits.version), "id": .text(id), "type": .text(type.rawValue),
        ]
        return body.map { line.with(["body": $0]) } ?? line
    }
}
