/// Why a request was refused or failed.
public struct ProtocolError: Error, Sendable, Equatable {
    public let code: ErrorCode
    /// One sentence for a person: what happened, never with a password in it.
    public let message: String
    /// Values that a program can use: `max`, `revision`, `field`, `switchId`.
    public let details: [String: Detail]

    public init(_ code: ErrorCode, _ message: String, details: [String: Detail] = [:]) {
        self.code = code
        self.message = message
        self.details = details
    }

    public enum Detail: Sendable, Equatable {
        case number(Int)
        case text(String)
    }
}

extension ProtocolError: CustomStringConvertible {
    public var description: String { "\(message) [\(code.rawValue)]" }
}

extension ProtocolError.Detail: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    public init(stringLiteral value: String) { self = .text(value) }
    public init(integerLiteral value: Int) { self = .number(value) }
}

extension ProtocolError.Detail: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int.self) {
            self = .number(number)
        } else {
            self = .text(try container.decode(String.self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        }
    }
}

extension ProtocolError: Codable {
    private enum CodingKeys: String, CodingKey {
        case code, message, details
    }

    /// A code that a newer device has and this one does not know reads as `internalError`, its name kept in the message.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let name = try container.decode(String.self, forKey: .code)
        let message = try container.decodeIfPresent(String.self, forKey: .message) ?? ""
        let known = ErrorCode(rawValue: name)
        self.init(
            known ?? .internalError, known == nil ? "\(name): \(message)" : message,
            details: (try? container.decodeIfPresent([String: Detail].self, forKey: .details)) ?? [:])
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code.rawValue, forKey: .code)
        try container.encode(message, forKey: .message)
        if !details.isEmpty { try container.encode(details, forKey: .details) }
    }
}
