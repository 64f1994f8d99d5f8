import AgentCore
import AgentModel
import KeyFile

/// What was done about the radio, in a file of the state directory: so that neither a restart of the agent nor one of the
/// device makes a loop of it. It is written when a step is taken that is rare by itself, at most about twenty times an
/// hour, and mostly never.
///
/// Moments are on the clock of one start of the system (`CLOCK_BOOTTIME`), which the file names. Of an earlier start no
/// more is known than that a step was taken before this one: it counts as taken now.
struct RecoveryFile: BootRecord {
    let directory: String

    static let name = "recovery"
    private static let version = "altnet-recovery 1"
    /// In bytes; eight lines are far below.
    private static let longest = 1024

    private var file: SmallFile { SmallFile(directory: directory, name: Self.name, longest: Self.longest) }

    /// What the file says; nothing where there is none, or none that makes sense.
    /// - Parameter boot: names this start of the system.
    func read(boot: String, now: Instant) -> RecoveryLadder.Memory {
        guard let content = file.read() else { return RecoveryLadder.Memory() }
        return Self.memory(in: content, boot: boot, now: now)
    }

    /// - Throws: where it cannot be written; what was there stays.
    func write(_ memory: RecoveryLadder.Memory, boot: String) throws(KeyFileError) {
        try file.write(Self.text(of: memory, boot: boot))
    }

    static func text(of memory: RecoveryLadder.Memory, boot: String) -> String {
        var lines = [version, "boot \(boot)"]
        for step in RecoveryLadder.Step.allCases {
            if let moment = memory.taken[step] { lines.append("\(step.rawValue) \(moment.milliseconds)") }
        }
        if memory.needsPowerCycle { lines.append("needsPowerCycle") }
        return lines.joined(separator: "\n") + "\nend\n"
    }

    /// Anything may be in the file: what makes no sense is as if it were not there.
    static func memory(in bytes: [UInt8], boot: String, now: Instant) -> RecoveryLadder.Memory {
        var memory = RecoveryLadder.Memory()
        let lines = bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        guard bytes.count < longest, lines.first == version, lines.last == "end" else { return memory }
        let isThisStart = lines.contains("boot \(boot)")
        for line in lines {
            let words = line.split(separator: " ")
            if words == ["needsPowerCycle"] {
                // With a new start the chip may have been without power.
                memory.needsPowerCycle = isThisStart
            } else if words.count == 2, let step = RecoveryLadder.Step(rawValue: String(words[0])),
                let milliseconds = Int64(words[1])
            {
                // A moment of the future would forbid the step for ever.
                let moment = Instant(milliseconds: milliseconds)
                memory.setTaken(step, at: isThisStart && milliseconds >= 0 && moment <= now ? moment : now)
            }
        }
        return memory
    }
}
