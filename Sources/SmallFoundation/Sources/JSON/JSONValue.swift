/// JSON text, understood (RFC 8259).
enum JSONValue {
    case null
    case bool(Bool)
    /// As it is written: only who asks for it says how exact it is to be.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// What it is, in words.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a bool"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
