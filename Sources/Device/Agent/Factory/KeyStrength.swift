import AgentModel

/// Estimates how hard a local key is to guess.
///
/// Keys must be random: an attacker with a recorded proof or handshake can try keys offline. The estimate accepts keys
/// of a good generator and detects sequences, repetitions and short keys.
enum KeyStrength {
    /// Minimum strength in bits: 16 random letters and digits, 20 hexadecimal digits or 10 random bytes.
    static let leastBits = 80

    /// Returns an upper bound for the entropy, in bits. Estimates hexadecimal digits both as text and as bytes, and
    /// returns the lower result.
    static func bits(of key: Secret) -> Int {
        key.withBytes { bytes in
            let asText = fresh(bytes.count) { Int(bytes[$0]) } * bitsPerCharacter(bytes)
            guard bytes.count.isMultiple(of: 2), bytes.allSatisfy({ Hex.value(of: $0) != nil }) else { return asText }
            func digit(_ index: Int) -> Int { Hex.value(of: bytes[index]).map(Int.init) ?? 0 }
            let asBytes = fresh(bytes.count / 2) { digit(2 * $0) * 16 + digit(2 * $0 + 1) } * 8
            return min(asText, asBytes)
        }
    }

    private static func fresh(_ count: Int, at value: (Int) -> Int) -> Int {
        guard count > 2 else { return count }
        // Sequences such as `abc`, `987` and `aaa`.
        let counted = (2..<count).count { value($0) - value($0 - 1) == value($0 - 1) - value($0 - 2) }
        let repeated =
            (1...count / 2).map { period in (period..<count).count { value($0) == value($0 - period) } }.max() ?? 0
        let predictable = max(counted, repeated)
        // Random keys also contain some predictable characters: ignore up to a quarter.
        return predictable * 4 > count ? count - predictable : count
    }

    /// Returns the bits per character, rounded down, of the smallest usual alphabet that has all these bytes.
    private static func bitsPerCharacter(_ bytes: UnsafeRawBufferPointer) -> Int {
        func isOf(_ ranges: [ClosedRange<Unicode.Scalar>]) -> Bool {
            bytes.allSatisfy { byte in ranges.contains { $0.contains(Unicode.Scalar(byte)) } }
        }
        if isOf(["0"..."9"]) { return 3 }
        if isOf(["0"..."9", "a"..."f"]) || isOf(["0"..."9", "A"..."F"]) { return 4 }
        if isOf(["a"..."z"]) || isOf(["A"..."Z"]) { return 4 }
        if isOf(["0"..."9", "a"..."z", "A"..."Z"]) { return 5 }
        return isOf([" "..."~"]) ? 6 : 8
    }
}
