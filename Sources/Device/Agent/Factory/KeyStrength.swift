import AgentModel

/// An estimate of how hard a local key is to guess, from its characters alone.
///
/// Whoever records a proof by a key, or the handshake of the device's access point, can try keys at home. So a key has to
/// be random. The estimate takes every key that a good generator makes, and knows counted, repeated and short ones.
enum KeyStrength {
    /// In bits: 16 random letters and digits have it, 20 hexadecimal digits, 10 random bytes of any value.
    static let leastBits = 80

    /// Bits of entropy, at most.
    static func bits(of key: Secret) -> Int {
        key.withBytes { bytes in
            let period = period(of: bytes)
            let fresh = bytes.prefix(period)
            let expected = predictable(fresh)
            // Chance makes some in a random key, too.
            let count = expected * 4 > fresh.count ? fresh.count - expected : fresh.count
            return count * bitsPerCharacter(bytes)
        }
    }

    /// The length of what the key repeats; its own length where it repeats nothing.
    private static func period(of bytes: UnsafeRawBufferPointer) -> Int {
        let halves = 1..<max(1, bytes.count / 2 + 1)
        return halves.first { period in (period..<bytes.count).allSatisfy { bytes[$0] == bytes[$0 - period] } }
            ?? bytes.count
    }

    /// How many characters continue `abc`, `987` or `aaa`.
    private static func predictable(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int {
        let values = bytes.map { Int($0) }
        return values.indices.dropFirst(2).count { index in
            values[index] - values[index - 1] == values[index - 1] - values[index - 2]
        }
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
