/// The data codewords of a text, which fill a symbol to its capacity.
struct Codewords {
    private let capacity: Capacity
    private let data: [UInt8]

    /// - Parameter bytes: no more than the capacity has room for.
    init(_ bytes: some Collection<UInt8>, _ capacity: Capacity) {
        precondition(bytes.count <= capacity.bytes)
        self.capacity = capacity
        // Byte mode, the length, the bytes, and up to four zero bits at the end (clauses 7.4.5 and 7.4.9).
        var bits = BitSequence()
        bits.append(0b0100, count: 4)
        bits.append(bytes.count, count: capacity.countBits)
        for byte in bytes { bits.append(Int(byte), count: 8) }
        bits.append(0, count: 4)
        var data = Array(bits.bytes.prefix(capacity.dataCodewords))
        // Then these two in turn (clause 7.4.10).
        let padding: [UInt8] = [0xec, 0x11]
        for index in 0..<(capacity.dataCodewords - data.count) { data.append(padding[index % 2]) }
        self.data = data
    }

    /// In the order in which they go into the symbol: the first of each block, the second of each, and so on, and after
    /// the data the error correction in the same way (clause 7.6).
    var interleaved: [UInt8] {
        let blocks = blocks
        let divisor = ReedSolomon(degree: capacity.correctionCodewordsOfBlock)
        return Self.interleave(blocks) + Self.interleave(blocks.map { Array(divisor.remainder(of: $0))[...] })
    }

    /// The later ones are longer by one where they cannot all be of one length.
    private var blocks: [ArraySlice<UInt8>] {
        let length = data.count / capacity.blocks
        let shortOnes = capacity.blocks - data.count % capacity.blocks
        var rest = data[...]
        return (0..<capacity.blocks).map { index in
            let block = rest.prefix(index < shortOnes ? length : length + 1)
            rest = rest.dropFirst(block.count)
            return block
        }
    }

    private static func interleave(_ blocks: [ArraySlice<UInt8>]) -> [UInt8] {
        (0..<(blocks.map(\.count).max() ?? 0)).flatMap { index in
            blocks.compactMap { $0.dropFirst(index).first }
        }
    }
}

/// Bits, the most significant first.
private struct BitSequence {
    private(set) var bytes: [UInt8] = []
    private var count = 0

    mutating func append(_ value: Int, count: Int) {
        for bit in (0..<count).reversed() {
            if self.count.isMultiple(of: 8) { bytes.append(0) }
            if value >> bit & 1 == 1 { bytes[bytes.count - 1] |= 0x80 >> (self.count % 8) }
            self.count += 1
        }
    }
}
