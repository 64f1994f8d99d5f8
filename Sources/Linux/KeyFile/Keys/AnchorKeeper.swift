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
        if let last { log.skip(to: last.generation) }
        // As it was found: what has been repaired since is newer than any anchor.
        let findings = Self.compare(found: log.foundPosition, with: last)
            .filter { $0 != .erased || !log.report.contains(.erased) }
        // Ahead of its anchor, a commit was cut short between the two.
        if findings.isEmpty || findings == [.anchorMissing] { follow(log) }
        return findings
    }

    /// What an anchor says of a store.
    static func compare(found: StorePosition?, with last: StorePosition?) -> [Finding] {
        switch (found, last) {
        case (nil, nil): []
        case (nil, .some): [.erased]
        // The first commit of all may have been cut short before the anchor was made.
        case (let found?, nil): found.generation > 1 ? [.anchorMissing] : []
        case (let found?, let last?) where found.generation < last.generation:
            [.rolledBack(generation: found.generation, anchor: last.generation)]
        case (let found?, let last?):
            found.generation == last.generation && found.tag != last.tag
                ? [.replaced(generation: found.generation)] : []
        }
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
