import FoundationEssentials
import Testing

@testable import Agent

@Suite struct ProgramPagesTests {
    @Test func theProgramGoesOnWithFewerPages() throws {
        let before = try mapped()
        #expect(ProgramPages.letGo())
        #expect(try mapped() < before)
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
