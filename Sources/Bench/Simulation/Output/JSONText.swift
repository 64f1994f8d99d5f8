import FoundationEssentials

/// Documents as JSON text: keys sorted, so that equal documents are equal text.
public enum JSONText {
    /// - Throws: `EncodingError` for a number that is not finite.
    public static func of(_ document: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        return String(decoding: try encoder.encode(document), as: UTF8.self)
    }
}
