import AgentCore
import AgentModel
import KeyFile

/// The recovery steps taken, in a file of the state directory, so that restarts cannot cause a loop of steps. The file
/// is written for rare steps only, at most about twenty times an hour.
///
/// Times are on the boot clock (`CLOCK_BOOTTIME`) of the boot named in the file. A step of an earlier boot counts as
/// taken now.
struct RecoveryFile: BootRecord {
    let directory: String

    static let name = "recovery"
    private static let version = "altnet-recovery 1"
    /// Maximum length of the file in bytes, far more than eight lines need.
    private static let longest = 1024

    private var file: SmallFile { SmallFile(directory: directory, name: Self.name, longest: Self.longest) }

    /// Returns the content; empty if the file is missing or malformed.
    /// - Parameter boot: ID of this boot.
    func read(boot: String, now: Instant) -> RecoverySteps.PersistentState {
        guard let content = file.read() else { return RecoverySteps.PersistentState() }
        return Self.state(in: content, boot: boot, now: now)
    }

    /// - Throws: `KeyFileError`. The old file stays.
    func write(_ memory: RecoverySteps.PersistentState, boot: String) throws(KeyFileError) {
        try file.write(Self.text(of: memory, boot: boot))
    }

    static func text(of memory: RecoverySteps.PersistentState, boot: String) -> String {
        var lines = [version, "boot \(boot)"]
        for step in RecoverySteps.Step.allCases {
            if let moment = memory.performed[step] { lines.append("\(step.rawValue) \(moment.milliseconds)") }
        }
        if memory.needsPowerCycle { lines.append("needsPowerCycle") }
        return lines.joined(separator: "\n") + "\nend\n"
    }

    /// Parses untrusted content. Malformed content counts as missing.
    static func state(in bytes: [UInt8], boot: String, now: Instant) -> RecoverySteps.PersistentState {
        var memory = RecoverySteps.PersistentState()
        let lines = bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
        guard bytes.count < longest, lines.first == version, lines.last == "end" else { return memory }
        let isThisStart = lines.contains("boot \(boot)")
        for line in lines {
            let words = line.split(separator: " ")
            if words == ["needsPowerCycle"] {
                // Forget the need after a new boot, which may have been a power cycle.
                memory.needsPowerCycle = isThisStart
            } else if words.count == 2, let step = RecoverySteps.Step(rawValue: String(words[0])),
                let milliseconds = Int64(words[1])
            {
                // A time in the future would block the step, so replace it.
                let moment = Instant(milliseconds: milliseconds)
                memory.setPerformed(step, at: isThisStart && milliseconds >= 0 && moment <= now ? moment : now)
            }
        }
        return memory
    }
}
