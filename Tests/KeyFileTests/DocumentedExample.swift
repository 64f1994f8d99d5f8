import AgentModel
import Glibc
import Testing

/// The bytes of the worked example: the rows of Docs/key-file.md that look like `0010  00 01 ...  | meaning`.
func documentedExample() throws -> [UInt8] {
    var bytes: [UInt8] = []
    for fields in try documentedFields() {
        guard fields[0].count == 4 else { continue }
        guard let start = Int(fields[0], radix: 16), let values = Hex.bytes(fields.dropFirst().joined()) else { continue }
        #expect(start == bytes.count, "the row \(fields[0]) follows \(bytes.count) bytes")
        bytes += values
    }
    return bytes
}

/// The rows of the example of a state that takes two sectors, which look like `1:0010  00 01 ...  | meaning`: where in a
/// file each is, and its bytes.
func documentedLargeExample() throws -> [(offset: Int, bytes: [UInt8])] {
    try documentedFields().compactMap { fields in
        let place = fields[0].split(separator: ":")
        guard place.count == 2, place[1].count == 4, let sector = Int(place[0]), let start = Int(place[1], radix: 16),
            let values = Hex.bytes(fields.dropFirst().joined())
        else { return nil }
        return (sector * 4096 + start, values)
    }
}

/// Of each line of Docs/key-file.md, what stands before a bar, in words; at least two of them.
private func documentedFields(in file: String = #filePath) throws -> [[Substring]] {
    let root = file.split(separator: "/").dropLast(3).joined(separator: "/")
    let stream = try #require(fopen("/\(root)/Docs/key-file.md", "r"))
    defer { fclose(stream) }
    var text: [UInt8] = []
    while case let byte = getc(stream), byte != EOF { text.append(UInt8(truncatingIfNeeded: byte)) }
    return String(decoding: text, as: UTF8.self).split(separator: "\n")
        .map { line in line.prefix { $0 != "|" }.split(separator: " ") }
        .filter { $0.count > 1 }
}
