import AgentModel
import AppProtocol
import JSONValues

/// One answer as it came.
struct Answer: Sendable {
    let line: [UInt8]
    let json: JSONValue

    /// - Throws: where it is not of the form that every answer has.
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

    /// The error's code as it is on the line; nil where the request succeeded.
    var codeName: String? { json["error"]?["code"]?.text }
    var code: ErrorCode? { codeName.flatMap(ErrorCode.init) }

    /// The answer in a word, for a report.
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

    /// The body of an answer that succeeded, in the protocol's own type, after every member of it was checked.
    func body<Value: Decodable>(of type: MessageType, as _: Value.Type = Value.self) throws(Deviation) -> Value {
        guard let body = json["body"] else { throw Deviation("\(type.rawValue) succeeds", got: summary) }
        try Shape.body(of: type).check(body, "the answer to \(type.rawValue)")
        do {
            return try ServerLine.body(Value.self, of: line)
        } catch {
            throw Deviation("an answer to \(type.rawValue) that can be read", got: "\(error)")
        }
    }

    /// - Parameters:
    ///   - field: what `details.field` has to be, nil for whatever it is.
    ///   - details: other values that the details must have.
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

    /// How long a device may have a request wait.
    static let longestWait = Duration.seconds(60)

    /// Waits until the device, which said that requests come too fast, welcomes the next one.
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
