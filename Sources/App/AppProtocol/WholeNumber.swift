/// A whole number of a request, which `1.0` and `1e2` are too.
///
/// A number that no `Int` can be is to a decoder an error of the whole line at times. Here it is one of its member.
package struct WholeNumber: Decodable {
    package let value: Int

    package init(from decoder: any Decoder) throws {
        do {
            value = try decoder.singleValueContainer().decode(Int.self)
        } catch {
            throw decoder.malformed("is not a whole number of at most 64 bits")
        }
    }
}

extension KeyedDecodingContainer {
    /// - Throws: `malformed`, with the member as its field.
    package func wholeNumber(forKey key: Key) throws -> Int { try decode(WholeNumber.self, forKey: key).value }

    package func wholeNumberIfPresent(forKey key: Key) throws -> Int? {
        try decodeIfPresent(WholeNumber.self, forKey: key)?.value
    }
}
