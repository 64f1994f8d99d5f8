/// JSON text of values, in UTF-8.
public final class JSONEncoder {
    public var outputFormatting: OutputFormatting = []

    /// The names of an object are in their order always, as `sortedKeys` demands.
    public struct OutputFormatting: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }

        public static let prettyPrinted = OutputFormatting(rawValue: 1 << 0)
        public static let sortedKeys = OutputFormatting(rawValue: 1 << 1)
        public static let withoutEscapingSlashes = OutputFormatting(rawValue: 1 << 3)
    }

    public init() {}

    public func encode(_ value: some Encodable) throws -> Data {
        let place = JSONPlace()
        try value.encode(to: JSONPlaceEncoder(place: place, codingPath: []))
        guard !place.isEmpty else {
            throw EncodingError.invalidValue(
                value,
                EncodingError.Context(
                    codingPath: [], debugDescription: "Top-level \(type(of: value)) did not encode any values."))
        }
        return JSONWriter.write(place.value, outputFormatting)
    }
}
