extension Collection<UInt8> {
    /// Whether JSON text nests no deeper than this. Decoders call themselves for every level, and would go through the
    /// small stack of a thread.
    public func nestsJSON(within limit: Int) -> Bool {
        var (depth, isText, isEscaped) = (0, false, false)
        for byte in self {
            if isText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
            if depth > limit { return false }
        }
        return true
    }
}
