import FoundationEssentials

/// The memory of programs and their helper processes, in KiB (`smaps_rollup` in proc(5)).
struct ProcessMemory: Equatable {
    /// What is shared counts for each process by its share (PSS).
    var proportional = 0.0
    /// Of that, what no file backs.
    var anonymous = 0.0
    /// Of that, what was written to. What the lab starts lies in a file system in memory, and is dirty by that: it is left out.
    var dirty = 0.0

    init(of programs: [Program]) {
        for text in programs.flatMap(\.processes).compactMap({
            try? String(contentsOfFile: "/proc/\($0)/smaps_rollup", encoding: .utf8)
        }) {
            add(text)
        }
    }

    /// - Parameter rollups: the text of each process.
    init(rollups: [String]) { rollups.forEach { add($0) } }

    private mutating func add(_ rollup: String) {
        for line in rollup.split(separator: "\n") {
            let words = line.split(separator: " ")
            guard words.count >= 2, let value = Double(words[1]) else { continue }
            switch words[0] {
            case "Pss:": proportional += value
            case "Pss_Anon:": anonymous += value
            case "Pss_Dirty:": dirty += value
            case "Pss_Shmem:": dirty -= value
            default: break
            }
        }
    }
}
