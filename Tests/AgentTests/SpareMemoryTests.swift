import FoundationEssentials
import Glibc
import Testing

@testable import Agent

@Suite struct SpareMemoryTests {
    @Test func theProgramGoesOnWithFewerPages() throws {
        let before = try mapped()
        #expect(SpareMemory.unmapProgram())
        #expect(try mapped() < before)
    }

    @Test func whatIsFreeInTheHeapIsMemoryNoMore() {
        // Too small to be mapped by themselves, and what is kept lies behind them.
        let blocks = (0..<1000).map { _ in
            let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 3 * page, alignment: 16)
            block.initializeMemory(as: UInt8.self, repeating: 1)
            return block
        }
        for block in blocks.dropLast() { block.deallocate() }
        SpareMemory.giveBackHeap()
        // Other tests may have taken some of it already.
        #expect(blocks.dropLast().count(where: isMemory) < 500)
        blocks.last?.deallocate()
    }

    private let page = 4096

    /// Whether the page in the middle of a block is memory (mincore(2)); one that is mapped no more is none.
    private func isMemory(_ block: UnsafeMutableRawBufferPointer) -> Bool {
        guard let start = block.baseAddress else { return false }
        let middle = UnsafeMutableRawPointer(bitPattern: (UInt(bitPattern: start) / UInt(page) + 1) * UInt(page))
        var answer: UInt8 = 0
        return mincore(middle, page, &answer) == 0 && answer & 1 == 1
    }

    /// How much of this program's file is mapped where nobody may write, in kB (`smaps` in proc(5)).
    private func mapped() throws -> Int {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        var isOfProgram = false
        var total = 0
        for line in try String(contentsOfFile: "/proc/self/smaps", encoding: .utf8).split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count >= 5, words[1].count == 4, words[0].contains("-") {
                isOfProgram = words.last.map(String.init) == program && !words[1].contains("w")
            } else if isOfProgram, words.first == "Rss:" {
                total += Int(words[1]) ?? 0
            }
        }
        return total
    }
}
