/// Error correction: the remainder of the data, as a polynomial, divided by the generator polynomial of some degree over
/// GF(256) with the modulus x^8 + x^4 + x^3 + x^2 + 1 (clause 7.5.2 and annex A).
struct ReedSolomon {
    /// Without the leading coefficient, which is 1; the highest power first.
    private let generator: [UInt8]

    init(degree: Int) {
        // The product of (x - 2^i) for each i below the degree.
        var generator = [UInt8](repeating: 0, count: degree - 1) + [1]
        var root: UInt8 = 1
        for _ in 0..<degree {
            for index in generator.indices {
                generator[index] = Self.product(generator[index], root)
                if index + 1 < degree { generator[index] ^= generator[index + 1] }
            }
            root = Self.product(root, 2)
        }
        self.generator = generator
    }

    func remainder(of data: some Sequence<UInt8>) -> [UInt8] {
        var remainder = [UInt8](repeating: 0, count: generator.count)
        for byte in data {
            let factor = byte ^ remainder[0]
            for index in generator.indices {
                let next = index + 1 < remainder.count ? remainder[index + 1] : 0
                remainder[index] = next ^ Self.product(generator[index], factor)
            }
        }
        return remainder
    }

    static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
        var product: UInt8 = 0
        for bit in (0..<8).reversed() {
            product = product << 1 ^ (product >> 7) &* 0x1d
            if right >> bit & 1 == 1 { product ^= left }
        }
        return product
    }
}
