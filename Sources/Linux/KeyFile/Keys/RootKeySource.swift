import AgentModel

/// Where the device's root key comes from: 32 bytes from which all keys of the store are derived, kept outside the store.
/// There is no default: a store without its root key cannot be read.
package protocol RootKeySource {
    /// What messages call it.
    var source: String { get }
    /// What is there now.
    /// - Returns: nil if there is no key yet.
    /// - Throws: where there is something that is not a root key, or that cannot be read.
    func load() throws(KeyFileError) -> RootKeys?
    /// Makes the first key, at random and durably.
    /// - Throws: `noRootKey` where the key is somebody else's to make.
    func makeFirst() throws(KeyFileError) -> Secret
    /// Keeps the key that a change of keys is about to use beside the current one, durably.
    func prepare(_ next: Secret) throws(KeyFileError)
    /// Replaces the current key by the prepared one, durably: the store is under it now.
    func adoptPrepared() throws(KeyFileError)
    /// Forgets a prepared key: the store is not under it.
    func discardPrepared() throws(KeyFileError)
}

/// The keys that may open the store.
package struct RootKeys: Equatable {
    package let current: Secret
    /// The key that an unfinished change of keys has prepared.
    package let prepared: Secret?
    /// What was found amiss with their source.
    package let findings: [Finding]

    package init(current: Secret, prepared: Secret? = nil, findings: [Finding] = []) {
        self.current = current
        self.prepared = prepared
        self.findings = findings
    }

    /// The current one first.
    var all: [Secret] { [current] + [prepared].compactMap(\.self) }

    /// A new key.
    static func makeRandom(_ random: inout any RandomNumberGenerator) -> Secret {
        var bytes = WipedBuffer(capacity: size)
        for _ in 0..<size { bytes.append(random.next()) }
        return bytes.withBytes { Secret($0) }
    }

    /// The bytes of a root key.
    package static let size = 32
}
