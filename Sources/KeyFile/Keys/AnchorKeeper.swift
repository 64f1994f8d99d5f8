import AgentModel

/// Compares the store with its anchor when it is opened, and lets the anchor follow afterwards.
struct AnchorKeeper {
    private let anchor: any RollbackAnchor
    private var last: StorePosition?
    /// Nothing is written over an anchor that says something else than the store and cannot be understood.
    private var isUsable = true

    init(_ anchor: any RollbackAnchor) { self.anchor = anchor }

    /// - Parameter roots: the root keys that the anchor may have been written with.
    mutating func compare(_ log: RecordLog, roots: [Secret]) -> [Finding] {
        do {
            last = try anchor.read(roots.map { AnchorKey(root: $0) })
        } catch {
            isUsable = false
            return [.anchorUnusable(error)]
        }
        guard let last else {
            follow(log)
            return []
        }
        log.skip(to: last.generation)
        guard let position = log.position else { return log.report.contains(.erased) ? [] : [.erased] }
        if position.generation < last.generation {
            return [.rolledBack(generation: position.generation, anchor: last.generation)]
        }
        if position.generation == last.generation, position.tag != last.tag {
            return [.replaced(generation: position.generation)]
        }
        // A commit was cut short between the store and the anchor.
        follow(log)
        return []
    }

    /// Notes where the store is now. An anchor that lags behind by a failure does not undo what was stored: it follows
    /// with the next commit.
    mutating func follow(_ log: RecordLog) {
        do { try advance(to: log) } catch {}
    }

    /// Notes where the store is now, or says why that was not possible.
    mutating func advance(to log: RecordLog) throws(KeyFileError) {
        guard isUsable, let position = log.position, let root = log.activeRoot,
            position.generation > last?.generation ?? 0
        else { return }
        try anchor.advance(to: position, AnchorKey(root: root))
        last = position
    }

    /// Whether the anchor is where the store is, under the same root key; or can be followed no more in any case.
    func isUpToDate(with log: RecordLog) -> Bool { !isUsable || last == log.position }
}
