import AgentModel
import Crypto

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Bytes for a key from a passphrase that take memory to guess: scrypt (RFC 7914).
package struct Scrypt {
    /// N: a power of two. The work takes 128 x `rounds` x `blockSize` bytes.
    package let rounds: Int
    /// r
    package let blockSize: Int
    /// p: how often the work is done.
    package let parallelism: Int

    package init(rounds: Int, blockSize: Int, parallelism: Int) {
        self.rounds = rounds
        self.blockSize = blockSize
        self.parallelism = parallelism
    }

    /// Fills `key`.
    /// - Returns: false where the memory is not to be had.
    package func derive(
        _ key: UnsafeMutableRawBufferPointer, from passphrase: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer
    ) -> Bool {
        let words = 32 * blockSize
        let blockBytes = words * MemoryLayout<UInt32>.size
        let byteCount = (rounds + parallelism + 1) * blockBytes
        guard let memory = malloc(byteCount) else { return false }
        let all = UnsafeMutableRawBufferPointer(start: memory, count: byteCount)
        defer {
            wipe(all)
            free(memory)
        }
        let blocks = UnsafeMutableRawBufferPointer(rebasing: all[..<(parallelism * blockBytes)])
        let work = all.bindMemory(to: UInt32.self)
        PBKDF2<SHA256>.derive(blocks, from: passphrase, salt: salt, rounds: 1)
        for block in 0..<parallelism {
            let block = UnsafeMutableBufferPointer(rebasing: work[block * words..<(block + 1) * words])
            let rest = UnsafeMutableBufferPointer(rebasing: work[(parallelism * words)...])
            mix(block, scratch: rest)
        }
        PBKDF2<SHA256>.derive(key, from: passphrase, salt: UnsafeRawBufferPointer(blocks), rounds: 1)
        return true
    }

    /// scryptROMix (clause 5). `scratch` has room for `rounds` blocks and one more.
    private func mix(_ block: UnsafeMutableBufferPointer<UInt32>, scratch: UnsafeMutableBufferPointer<UInt32>) {
        let words = block.count
        guard let block = block.baseAddress, let table = scratch.baseAddress else { return }
        let other = table + rounds * words
        for index in 0..<words { block[index] = UInt32(littleEndian: block[index]) }
        for round in 0..<rounds {
            (table + round * words).update(from: block, count: words)
            mixBlock(block, into: other)
            block.update(from: other, count: words)
        }
        for _ in 0..<rounds {
            let entry = table + Int(block[words - 16] & UInt32(rounds - 1)) * words
            for index in 0..<words { block[index] ^= entry[index] }
            mixBlock(block, into: other)
            block.update(from: other, count: words)
        }
        for index in 0..<words { block[index] = block[index].littleEndian }
    }

    /// scryptBlockMix (clause 4).
    private func mixBlock(_ block: UnsafeMutablePointer<UInt32>, into result: UnsafeMutablePointer<UInt32>) {
        var state = Salsa(block + (2 * blockSize - 1) * 16)
        for part in 0..<2 * blockSize {
            state.mix(with: block + part * 16)
            state.write(to: result + (part / 2 + (part % 2) * blockSize) * 16)
        }
    }
}

/// Salsa20/8 (RFC 7914, clause 3), its 16 words as the four diagonals of its matrix, so that a round's four steps are done
/// in four lanes at once.
private struct Salsa {
    private var a, b, c, d: SIMD4<UInt32>

    init(_ words: UnsafePointer<UInt32>) {
        a = SIMD4(words[0], words[5], words[10], words[15])
        b = SIMD4(words[4], words[9], words[14], words[3])
        c = SIMD4(words[8], words[13], words[2], words[7])
        d = SIMD4(words[12], words[1], words[6], words[11])
    }

    /// What is left of the hash of the sum without carry of these words and `words`.
    mutating func mix(with words: UnsafePointer<UInt32>) {
        let other = Salsa(words)
        a ^= other.a
        b ^= other.b
        c ^= other.c
        d ^= other.d
        let start = self
        for _ in 0..<4 {
            // The columns, then the rows: the same steps with the diagonals turned.
            round()
            turn()
            round()
            turn()
        }
        a &+= start.a
        b &+= start.b
        c &+= start.c
        d &+= start.d
    }

    func write(to words: UnsafeMutablePointer<UInt32>) {
        for lane in 0..<4 {
            words[lane * 5 & 15] = a[lane]
            words[(lane * 5 + 4) & 15] = b[lane]
            words[(lane * 5 + 8) & 15] = c[lane]
            words[(lane * 5 + 12) & 15] = d[lane]
        }
    }

    private mutating func round() {
        b ^= Self.rotate(a &+ d, 7)
        c ^= Self.rotate(b &+ a, 9)
        d ^= Self.rotate(c &+ b, 13)
        a ^= Self.rotate(d &+ c, 18)
    }

    private mutating func turn() {
        (b, d) = (SIMD4(d[1], d[2], d[3], d[0]), SIMD4(b[3], b[0], b[1], b[2]))
        c = SIMD4(c[2], c[3], c[0], c[1])
    }

    private static func rotate(_ words: SIMD4<UInt32>, _ bits: UInt32) -> SIMD4<UInt32> {
        words &<< SIMD4(repeating: bits) | words &>> SIMD4(repeating: 32 - bits)
    }
}
