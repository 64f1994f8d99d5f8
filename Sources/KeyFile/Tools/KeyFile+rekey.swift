import AgentModel

extension KeyFile {
    /// Puts the store under a new root key, made at random and kept where the present one is.
    package func renewRootKey() throws(KeyFileError) {
        var random = SystemRandomNumberGenerator()
        var key = WipedBuffer(capacity: RootKeys.size)
        for _ in 0..<RootKeys.size { key.append(UInt8.random(in: 0...255, using: &random)) }
        try changeRootKey(to: key.withBytes { Secret($0) })
    }
}
