import AgentModel
import Randomness

/// Bytes spelled out in hexadecimal with one comment a field, for messages that are compared byte for byte. Multi-byte
/// numbers are little-endian, as on every machine that altnet is tested on.
func bytes(_ annotated: String) -> [UInt8] {
    let fields = annotated.split(separator: "\n").map { $0.prefix { $0 != "#" } }
    return Hex.bytes(fields.joined().filter { !$0.isWhitespace })!
}

extension SeededRandom {
    mutating func bytes(count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &self) }
    }

    /// The bytes with a few of them changed, or cut off somewhere, or with a piece of themselves repeated.
    mutating func damage(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        guard !bytes.isEmpty else { return bytes }
        switch Int.random(in: 0..<4, using: &self) {
        case 0: bytes.removeLast(Int.random(in: 0...bytes.count, using: &self))
        case 1:
            let piece = bytes[Int.random(in: 0..<bytes.count, using: &self)...]
            bytes.insert(contentsOf: piece, at: Int.random(in: 0..<bytes.count, using: &self))
        default:
            for _ in 0..<Int.random(in: 1...8, using: &self) {
                let interesting: [UInt8] = [
                    0, 1, 3, 4, 0x7f, 0x80, 0xff, UInt8.random(in: .min ... .max, using: &self),
                ]
                bytes[Int.random(in: 0..<bytes.count, using: &self)] = interesting.randomElement(using: &self)!
            }
        }
        return bytes
    }
}
