import AgentModel

/// Keeps, outside the store, how far the store has come, so that an older image of it is noticed. Who can write both can
/// still roll both back: the anchor belongs where that is harder (another chip, a TPM's memory, a partition that is
/// checked by other means).
package protocol RollbackAnchor {
    /// - Parameter keys: derived from the root keys that may have been in use when it was written.
    /// - Returns: the last position it was given, or nil if it was given none yet.
    /// - Throws: `anchorDamaged` if what is there was not written with any of these keys.
    func read(_ keys: [AnchorKey]) throws(KeyFileError) -> StorePosition?
    /// Durable when it returns.
    func advance(to position: StorePosition, _ key: AnchorKey) throws(KeyFileError)
}

/// The last record of a store.
package struct StorePosition: Sendable, Equatable {
    /// Grows with every commit.
    package let generation: UInt64
    /// The record's authentication tag, which depends on every record before it in its sector: 16 bytes.
    package let tag: [UInt8]

    package init(generation: UInt64, tag: [UInt8]) {
        self.generation = generation
        self.tag = tag
    }
}
