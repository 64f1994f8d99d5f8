import AgentModel
import Glibc
import Testing

/// The bytes of the worked example: the rows of Docs/key-file.md that look like `0010  00 01 ...  | meaning`.
func documentedExample(in file: String = #filePath) throws -> [UInt8] {
    let root = file.split(separator: "/").dropLast(3).joined(separator: "/")
    let stream = try #require(fopen("/\(root)/Docs/key-file.md", "r"))
    defer { fclose(stream) }
    var text: [UInt8] = []
    while case let byte = getc(stream), byte != EOF { text.append(UInt8(truncatingIfNeeded: byte)) }
    var bytes: [UInt8] = []
    for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
        let fields = line.prefix { $0 != "|" }.split(separator: " ")
        guard let offset = fields.first, offset.count == 4, fields.count > 1 else { continue }
        guard let start = Int(offset, radix: 16), let values = Hex.bytes(fields.dropFirst().joined()) else { continue }
        #expect(start == bytes.count, "the row \(offset) follows \(bytes.count) bytes")
        bytes += values
    }
    return bytes
}
