import AgentModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reading and writing the JSON of single lines.
package enum Line {
    /// One line without its line feed. Keys are sorted, so that equal messages are equal bytes.
    package static func encode(_ value: some Encodable) throws(ProtocolError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Array(try encoder.encode(value))
        } catch {
            throw ProtocolError(.internalError, "a message could not be encoded")
        }
    }

    /// - Throws: `malformed`, or what the type found wrong. No part of the input other than names of fields is repeated,
    ///   for a mangled line can hold a password anywhere.
    package static func decode<Value: Decodable>(_ type: Value.Type, from line: some Collection<UInt8>)
        throws(ProtocolError)
        -> Value
    {
        guard line.count <= ProtocolLimits.lineLength else { throw .lineTooLong }
        // The decoder would guess at UTF-16 and UTF-32 where it sees zero bytes.
        guard !line.contains(0), String(validating: line, as: UTF8.self) != nil else {
            throw ProtocolError(.malformed, "the line is not UTF-8 text")
        }
        guard line.nestsJSON(within: ProtocolLimits.nesting) else {
            throw ProtocolError(.malformed, "the line nests deeper than \(ProtocolLimits.nesting) levels")
        }
        do {
            return try JSONDecoder().decode(type, from: Data(line))
        } catch let error as ProtocolError {
            throw error
        } catch let error as DecodingError {
            throw ProtocolError(error)
        } catch {
            throw ProtocolError(.malformed, "the line is not a JSON object")
        }
    }
}

extension ProtocolError {
    /// A line that exceeds `ProtocolLimits.lineLength`.
    public static let lineTooLong = ProtocolError(
        .lineTooLong, "the line is longer than \(ProtocolLimits.lineLength) bytes",
        details: ["max": .number(ProtocolLimits.lineLength)])

    package init(_ error: DecodingError) {
        self =
            switch error {
            case .keyNotFound(let key, let context): .malformed(at: context.codingPath + [key], "is missing")
            case .valueNotFound(_, let context): .malformed(at: context.codingPath, "is null")
            case .typeMismatch(_, let context): .malformed(at: context.codingPath, "has the wrong type")
            case .dataCorrupted(let context) where context.codingPath.isEmpty:
                ProtocolError(.malformed, "the line is not a JSON object")
            case .dataCorrupted(let context): .malformed(at: context.codingPath, "has a value that is not allowed")
            @unknown default: ProtocolError(.malformed, "the line is not a JSON object")
            }
    }
}
