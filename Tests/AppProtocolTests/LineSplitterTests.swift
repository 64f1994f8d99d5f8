import Randomness
import Testing

@testable import AppProtocol

@Suite struct LineSplitterTests {
    @Test func cutsAtLineFeeds() {
        var splitter = LineSplitter(maximumLength: 8)
        splitter.append("ab\n\ncd".utf8)
        #expect(splitter.next() == .line(Array("ab".utf8)))
        #expect(splitter.next() == nil)
        splitter.append("ef\n".utf8)
        #expect(splitter.next() == .line(Array("cdef".utf8)))
        #expect(splitter.next() == nil)
    }

    @Test func theLongestLineIsStillALine() {
        var splitter = LineSplitter(maximumLength: 4)
        splitter.append("1234\n".utf8)
        #expect(splitter.next() == .line(Array("1234".utf8)))
        splitter.append("12345".utf8)
        #expect(splitter.next() == .lineTooLong)
        splitter.append("\nok\n".utf8)
        #expect(splitter.next() == nil)
    }

    @Test func aCompleteLineCanBeTooLongAsWell() {
        var splitter = LineSplitter(maximumLength: 4)
        splitter.append("1\n12345\n2\n".utf8)
        #expect(splitter.next() == .line([0x31]))
        #expect(splitter.next() == .lineTooLong)
        #expect(splitter.next() == nil)
    }

    /// The end of a stream ends its last line.
    @Test(arguments: [("a\nbc", "bc"), ("a\n", nil), ("a\n\r", nil), ("", nil), ("bc\r", "bc\r")])
    func theLastLineNeedsNoEnd(text: String, last: String?) {
        var splitter = LineSplitter(maximumLength: 4)
        splitter.append(text.utf8)
        while splitter.next() != nil {}
        #expect(splitter.last() == last.map { .line(Array($0.utf8)) })
        #expect(splitter.last() == nil)
        splitter.append("12345".utf8)
        #expect(splitter.next() == .lineTooLong)
        #expect(splitter.last() == nil)
    }

    /// Also those of a terminal that ends its lines with CR LF.
    @Test func emptyLinesAreNone() {
        var splitter = LineSplitter()
        splitter.append(Array("\n\r\n{}\r\n\n".utf8))
        #expect(splitter.next() == .line(Array("{}\r".utf8)))
        #expect(splitter.next() == nil)
    }

    /// A line can hold a password: nothing of it stays behind what comes after it.
    @Test func whatWasTakenIsForgotten() throws {
        var splitter = LineSplitter()
        splitter.append((String(repeating: "a line with hunter22 ", count: 50) + "\nb").utf8)
        while splitter.next() != nil {}
        let buffer = try #require(Mirror(reflecting: splitter).descendant("buffer") as? [UInt8])
        #expect(buffer == Array("b".utf8))
        // The memory of the long line is another one's now. How little a short one has is the heap's affair.
        #expect(buffer.capacity < 200)
    }

    /// However the bytes are cut into pieces, the lines are the same.
    @Test func piecesDoNotMatter() {
        var random = SeededRandom(seed: 3)
        for _ in 0..<2000 {
            let lines: [[UInt8]] = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                (0..<Int.random(in: 1...20, using: &random)).map { _ in UInt8.random(in: 14...255, using: &random) }
            }
            var rest = Array(lines.map { $0 + [10] }.joined())[...]
            var splitter = LineSplitter(maximumLength: 20)
            var found: [LineSplitter.Output] = []
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...9, using: &random))
                rest = rest.dropFirst(piece.count)
                splitter.append(piece)
                while let output = splitter.next() { found.append(output) }
            }
            #expect(found == lines.map { .line($0) })
        }
    }
}
