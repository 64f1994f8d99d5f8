import AgentModel

/// A root key that was read before, by somebody who may read it: whoever opens the store with it needs no such right.
package struct HeldRootKey {
    private let keys: RootKeys
    package let source: String

    /// - Parameter source: where the keys are from, for messages.
    package init(_ keys: RootKeys, source: String) {
        self.keys = keys
        self.source = source
    }
}

extension HeldRootKey: RootKeySource {
    package func load() -> RootKeys? { keys }

    package func makeFirst() -> Secret { keys.current }

    package func prepare(_ next: Secret) throws(KeyFileError) { throw .rootKeyReadOnly(source: source) }

    package func adoptPrepared() throws(KeyFileError) { throw .rootKeyReadOnly(source: source) }

    package func discardPrepared() throws(KeyFileError) { throw .rootKeyReadOnly(source: source) }
}
