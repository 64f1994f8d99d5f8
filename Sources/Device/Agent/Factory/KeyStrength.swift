import AgentModel

/// An estimate of how hard a local key is to guess, from its characters alone.
///
/// Whoever records a proof by a key, or the handshake of the device's access point, can try keys at home. So a key has to
/// be random. The estimate takes every key that a good generator makes, and knows counted, repeated and short ones.
enum KeyStrength {
    /// In bits: 16 random letters and digits have it, 20 hexadecimal digits, 10 random bytes of any value.
    static let leastBits = 80

    /// Bits of entropy, at most. A key of hexadecimal digits is judged by its digits and by the bytes that they stand for.
    static func bits(of key: Secret) -> Int {
        key.withBytes { bytes in
            let asText = fresh(bytes.count) { Int(bytes[$0]) } * bitsPerCharacter(bytes)
            guard bytes.count.isMultiple(of: 2), bytes.allSatisfy({ Hex.value(of: $0) != nil }) else { return asText }
            func digit(_ index: Int) -> Int { Hex.value(of: bytes[index]).map(Int.init) ?? 0 }
            let asBytes = fresh(bytes.count / 2) { digit(2 * $0) * 16 + digit(2 * $0 + 1) } * 8
            return min(asText, asBytes)
        }
    }

    /// How many of the values do not follow from those before them.
    private static func fresh(_ count: Int, at value: (Int) -> Int) -> Int {
        guard count > 2 else { return count }
        // As in `abc`, `987` and `aaa`.
        let counted = (2..<count).count { value($0) - value($0 - 1) == value($0 - 1) - value($0 - 2) }
        let repeated =
            (1...count / 2).map { period in (period..<count).count { value($0) == value($0 - period) } }.max() ?? 0
        let predictable = max(counted, repeated)
        // Chance makes some in a random key, too.
        return predictable * 4 > count ? count - predictable : count
    }

    /// Rounded down, by the smallest usual alphabet that the key is of.
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
