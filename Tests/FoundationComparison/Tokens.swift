/// What can be told of a text that is nearly JSON.
extension [UInt8] {
    /// Where a string or one character of the structure is; white space is left out.
    private var tokens: [Range<Int>] {
        var tokens: [Range<Int>] = []
        var start: Int?
        var isEscaped = false
        for (index, byte) in enumerated() {
            if let first = start {
                guard byte == UInt8(ascii: "\""), !isEscaped else {
                    isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                    continue
                }
                tokens.append(first..<index + 1)
                start = nil
            } else if byte == UInt8(ascii: "\"") {
                start = index
                isEscaped = false
            } else if ![0x20, 0x0a, 0x0d, 0x09].contains(byte) {
                tokens.append(index..<index + 1)
            }
        }
        return tokens
    }

    /// The names in all objects; nil for one that is no string.
    var names: [String?] {
        zip(tokens, tokens.dropFirst()).compactMap { name, colon -> String?? in
            guard self[colon].elementsEqual([UInt8(ascii: ":")]), name.count > 1 else { return nil }
            guard case .value(let name) = Outcome.small(String.self, Array(self[name])) else { return .some(nil) }
            return name
        }
    }

    /// Without commas that nothing but white space separates from the end of their array or object.
    var withoutTrailingCommas: [UInt8] {
        var kept = self
        for (comma, end) in zip(tokens, tokens.dropFirst()).reversed()
        where self[comma].elementsEqual([UInt8(ascii: ",")]) {
            if [UInt8(ascii: "]"), UInt8(ascii: "}")].contains(self[end.lowerBound]) { kept.removeSubrange(comma) }
        }
        return kept
    }
}
