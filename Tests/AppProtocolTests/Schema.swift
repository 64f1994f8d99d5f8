import Foundation
import JSONValues

/// As much of JSON Schema 2020-12 as Docs/protocol.schema.json is written in. A keyword that it does not know fails.
struct Schema {
    /// A violation of the schema.
    struct Finding {
        /// Empty for a value that is valid.
        var problems: [String] = []
        /// Paths of the members that the schema says something about.
        var described: Set<String> = []
    }

    let root: JSONValue

    static let document: Schema? =
        (try? String(
            contentsOf: ProtocolDocument.folder.appendingPathComponent("protocol.schema.json"), encoding: .utf8))
        .flatMap { try? JSONValue($0) }.map(Schema.init)

    /// - Parameter definition: which of `$defs`, or nil for the whole.
    /// - Returns: the violations of the value, and every member that the schema does not mention.
    func problems(of value: JSONValue, as definition: String? = nil) -> [String] {
        let schema = definition.map { JSONValue.object(["$ref": .text("#/$defs/\($0)")]) } ?? root
        let finding = check(value, schema, at: "")
        return finding.problems.isEmpty ? undescribed(value, finding.described, at: "") : finding.problems
    }

    /// As any validator has it: members that the schema does not mention are welcome.
    func accepts(_ value: JSONValue) -> Bool { check(value, root, at: "").problems.isEmpty }

    /// The definition with this name.
    subscript(definition: String) -> JSONValue? { root["$defs"]?[definition] }

    private func undescribed(_ value: JSONValue, _ described: Set<String>, at path: String) -> [String] {
        switch value {
        case .object(let members):
            members.flatMap { name, value in
                let path = "\(path)/\(name)"
                return described.contains(path)
                    ? undescribed(value, described, at: path) : ["\(path) is not in the schema"]
            }
        case .array(let values):
            values.enumerated().flatMap { undescribed($1, described, at: "\(path)/\($0)") }
        default: []
        }
    }

    private func check(_ value: JSONValue, _ schema: JSONValue, at path: String) -> Finding {
        guard case .object(let keywords) = schema else {
            return Finding(problems: schema == .bool(true) ? [] : ["\(path) is not allowed"])
        }
        return keywords.reduce(into: Finding()) { finding, keyword in
            let (name, argument) = keyword
            let found = check(value, name, argument, at: path)
            finding.problems += found.problems
            finding.described.formUnion(found.described)
        }
    }

    private func check(_ value: JSONValue, _ keyword: String, _ argument: JSONValue, at path: String) -> Finding {
        func require(_ holds: Bool) -> Finding { Finding(problems: holds ? [] : ["\(path): \(keyword) does not hold"]) }
        switch (keyword, argument) {
        // `make docs` writes the meanings of codes into Docs/reference/protocol.md.
        case ("$schema", _), ("$defs", _), ("title", _), ("description", _), ("meanings", _): return Finding()
        case ("$ref", .text(let reference)):
            guard let target = self[String(reference.dropFirst("#/$defs/".count))] else { return require(false) }
            return check(value, target, at: path)
        case ("allOf", .array(let schemas)):
            let findings = schemas.map { check(value, $0, at: path) }
            return Finding(
                problems: findings.flatMap(\.problems),
                described: findings.reduce(into: []) { $0.formUnion($1.described) })
        case ("anyOf", .array(let schemas)), ("oneOf", .array(let schemas)):
            let findings = schemas.map { check(value, $0, at: path) }
            let fitting = findings.filter(\.problems.isEmpty)
            guard keyword == "anyOf" ? !fitting.isEmpty : fitting.count == 1 else {
                return Finding(problems: ["\(path) fits \(fitting.count) of \(keyword)"] + findings.flatMap(\.problems))
            }
            return Finding(described: fitting.reduce(into: []) { $0.formUnion($1.described) })
        case ("not", _): return require(!check(value, argument, at: path).problems.isEmpty)
        case ("const", _): return require(value == argument)
        case ("enum", .array(let values)): return require(values.contains(value))
        case ("type", .text(let type)): return require(value.has(type: type))
        case ("required", .array(let names)):
            guard case .object(let members) = value else { return Finding() }
            return require(names.allSatisfy { members[$0.text ?? ""] != nil })
        case ("properties", .object(let schemas)):
            guard case .object(let members) = value else { return Finding() }
            return members.reduce(into: Finding()) { finding, member in
                guard let schema = schemas[member.key] else { return }
                let found = check(member.value, schema, at: "\(path)/\(member.key)")
                finding.problems += found.problems
                finding.described.formUnion(found.described.union(["\(path)/\(member.key)"]))
                if schema == .bool(true) {
                    finding.described.formUnion(member.value.paths(at: "\(path)/\(member.key)"))
                }
            }
        case ("additionalProperties", _):
            // In this schema nothing stands beside it.
            guard case .object(let members) = value else { return Finding() }
            return members.reduce(into: Finding()) { finding, member in
                finding.problems += check(member.value, argument, at: "\(path)/\(member.key)").problems
                finding.described.insert("\(path)/\(member.key)")
            }
        case ("propertyNames", _):
            guard case .object(let members) = value else { return Finding() }
            return Finding(
                problems: members.keys.flatMap { check(.text($0), argument, at: "\(path)/\($0)").problems })
        case ("maxProperties", .integer(let most)):
            guard case .object(let members) = value else { return Finding() }
            return require(members.count <= most)
        case ("items", _):
            guard case .array(let values) = value else { return Finding() }
            return values.enumerated().reduce(into: Finding()) { finding, item in
                let found = check(item.element, argument, at: "\(path)/\(item.offset)")
                finding.problems += found.problems
                finding.described.formUnion(found.described)
            }
        case ("maxItems", .integer(let most)):
            guard case .array(let values) = value else { return Finding() }
            return require(values.count <= most)
        case ("minItems", .integer(let least)):
            guard case .array(let values) = value else { return Finding() }
            return require(values.count >= least)
        case ("minimum", .integer(let least)): return require(value.number.map { $0 >= Double(least) } ?? true)
        case ("maximum", .integer(let most)): return require(value.number.map { $0 <= Double(most) } ?? true)
        case ("minLength", .integer(let least)):
            return require(value.text.map { $0.unicodeScalars.count >= least } ?? true)
        case ("maxLength", .integer(let most)):
            return require(value.text.map { $0.unicodeScalars.count <= most } ?? true)
        case ("pattern", .text(let pattern)):
            return require(value.text.map { $0.range(of: pattern, options: .regularExpression) != nil } ?? true)
        default: return Finding(problems: ["the keyword \(keyword) is not known"])
        }
    }
}

extension JSONValue {
    init(_ text: some StringProtocol) throws {
        self = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
    }

    var first: JSONValue? { array?.first }
    var last: JSONValue? { array?.last }
    var strings: [String]? { array?.compactMap(\.text) }

    fileprivate var number: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .number(let number): number
        default: nil
        }
    }

    fileprivate func has(type: String) -> Bool {
        switch self {
        case .null: type == "null"
        case .bool: type == "boolean"
        case .integer: type == "number" || type == "integer"
        case .number(let number): type == "number" || type == "integer" && number == number.rounded()
        case .text: type == "string"
        case .array: type == "array"
        case .object: type == "object"
        }
    }

    fileprivate func paths(at path: String) -> [String] {
        switch self {
        case .object(let members): members.flatMap { ["\(path)/\($0)"] + $1.paths(at: "\(path)/\($0)") }
        case .array(let values): values.enumerated().flatMap { $1.paths(at: "\(path)/\($0)") }
        default: []
        }
    }
}
