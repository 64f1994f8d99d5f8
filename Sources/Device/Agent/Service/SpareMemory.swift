import CLinux
import Linux

/// Memory that the agent has and can do without. It goes back to the kernel, which would not know.
///
/// - What is free in the heap, between what is used: every minute.
/// - The pages of the program's own file that are mapped, its instructions and constants: once the start is over, and every
///   hour. Where one is used, the kernel maps the 64 kB around it, and all of it stays: of the start, and of every request
///   that came once. What is used again is mapped again, from the copy of the file that the kernel keeps.
@AgentLoop
final class SpareMemory {
    private static let startIsOver = Duration.seconds(30)
    private static let interval = Duration.seconds(60)
    /// In how many turns one is of the program.
    private static let turnsOfTheProgram = 60
    private var turns = 0
    private var timer: LoopTimer?

    /// Gives back for as long as it is kept.
    init() {
        timer = LoopTimer(after: Self.startIsOver) { [weak self] in self?.giveBack() }
    }

    private func giveBack() {
        Self.giveBackHeap()
        if turns.isMultiple(of: Self.turnsOfTheProgram) { Self.unmapProgram() }
        turns += 1
        timer = LoopTimer(every: Self.interval) { [weak self] in self?.giveBack() }
    }

    nonisolated static func giveBackHeap() { memory_give_back_heap() }

    /// - Returns: false where the program does not know where its file is mapped.
    @discardableResult
    nonisolated static func unmapProgram() -> Bool { memory_unmap_program() == 0 }
}
