/// Remembers the last commands, so that a repeated command gets its first answer and is not executed again.
struct CommandLedger: Sendable {
    private struct Entry: Sendable {
        let id: String
        /// The agent's answer; nil until it answers, for commands of an earlier run, and when
        /// ``BridgeLimits/rememberedBytes`` is exceeded.
        var answer: [UInt8]?
    }

    private var entries: [Entry]
    private var bytes = 0

    /// - Parameter ids: IDs from earlier runs, oldest first.
    init(ids: [String]) {
        entries = ids.suffix(BridgeLimits.rememberedCommands).map { Entry(id: $0) }
    }

    var ids: [String] { entries.map(\.id) }

    enum Finding: Equatable {
        case new
        /// Known command with its first answer; nil if the answer is not known any more.
        case known(answer: [UInt8]?)
    }

    func find(_ id: String) -> Finding {
        guard let entry = entries.last(where: { $0.id == id }) else { return .new }
        return .known(answer: entry.answer)
    }

    mutating func add(_ id: String) {
        entries.append(Entry(id: id))
        while entries.count > BridgeLimits.rememberedCommands {
            bytes -= entries.removeFirst().answer?.count ?? 0
        }
    }

    /// Forgets a command that did not reach the agent, so that its ID can be used again.
    mutating func forget(_ id: String) {
        guard let index = entries.lastIndex(where: { $0.id == id }) else { return }
        bytes -= entries.remove(at: index).answer?.count ?? 0
    }

    mutating func recordAnswer(_ id: String, _ answer: [UInt8]) {
        guard let index = entries.lastIndex(where: { $0.id == id }) else { return }
        bytes += answer.count - (entries[index].answer?.count ?? 0)
        entries[index].answer = answer
        for index in entries.indices where bytes > BridgeLimits.rememberedBytes {
            bytes -= entries[index].answer?.count ?? 0
            entries[index].answer = nil
        }
    }
}
