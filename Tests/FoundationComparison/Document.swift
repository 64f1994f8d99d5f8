/// Whatever JSON says, numbers as each of several types would have them.
public enum Document: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(Numbers)
    case string(String)
    case array([Document])
    case object([String: Document])

    public struct Numbers: Equatable, Sendable {
        public var int8: Int8?
        public var int64: Int64?
        public var uint64: UInt64?
        public var float: Float?
        public var double: Double?

        public init(
            int8: Int8? = nil, int64: Int64? = nil, uint64: UInt64? = nil, float: Float? = nil, double: Double?
        ) {
            self.int8 = int8
            self.int64 = int64
            self.uint64 = uint64
            self.float = float
            self.double = double
        }
    }
}

extension Document: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let bool = try? container.decode(Bool.self) {
            self = .bool(bool)
        } else if let array = try Self.ifRight([Document].self, in: container) {
            self = .array(array)
        } else if let object = try Self.ifRight([String: Document].self, in: container) {
            self = .object(object)
        } else if let string = try Self.ifRight(String.self, in: container) {
            self = .string(string)
        } else {
            self = .number(
                Numbers(
                    int8: try? container.decode(Int8.self), int64: try? container.decode(Int64.self),
                    uint64: try? container.decode(UInt64.self), float: try? container.decode(Float.self),
                    double: try container.decode(Double.self)))
        }
    }

    /// - Returns: nil if the value itself, not something in it, is of another type.
    private static func ifRight<Value: Decodable>(
        _ type: Value.Type, in container: any SingleValueDecodingContainer
    ) throws -> Value? {
        do {
            return try container.decode(type)
        } catch DecodingError.typeMismatch(_, let context)
            where context.codingPath.count == container.codingPath.count
        {
            return nil
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let bool): try container.encode(bool)
        case .string(let string): try container.encode(string)
        case .array(let array): try container.encode(array)
        case .object(let object): try container.encode(object)
        case .number(let numbers):
            if let int64 = numbers.int64 {
                try container.encode(int64)
            } else if let uint64 = numbers.uint64 {
                try container.encode(uint64)
            } else {
                try container.encode(numbers.double)
            }
        }
    }
}

extension Document {
    /// Whether the small Foundation may have read this where the toolchain's read the other.
    ///
    /// The toolchain's takes a number for an integer that it is only near (1.0000000000000001), and for none some that it
    /// is (18446744073709551615.0); the small one is exact.
    func isFaithful(to other: Document) -> Bool {
        switch (self, other) {
        case (.array(let own), .array(let other)):
            own.count == other.count && zip(own, other).allSatisfy { $0.isFaithful(to: $1) }
        case (.object(let own), .object(let other)):
            own.count == other.count
                && own.allSatisfy { name, value in other[name].map { value.isFaithful(to: $0) } ?? false }
        case (.number(let own), .number(let other)):
            own.double?.bitPattern == other.double?.bitPattern && own.float?.bitPattern == other.float?.bitPattern
                && Self.isFaithful(own.int8, to: other.int8, near: own.double)
                && Self.isFaithful(own.int64, to: other.int64, near: own.double)
                && Self.isFaithful(own.uint64, to: other.uint64, near: own.double)
        default: self == other
        }
    }

    private static func isFaithful<Integer: FixedWidthInteger>(
        _ own: Integer?, to other: Integer?, near double: Double?
    ) -> Bool {
        if own == other { return true }
        guard let double, let found = own ?? other, own == nil || other == nil else { return false }
        return abs(Double(found) - double) <= max(1, double.ulp)
    }
}
