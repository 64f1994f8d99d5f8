import AgentModel

extension KeyFile {
    /// Puts the store under a new root key, made at random and kept where the present one is.
    package func renewRootKey() throws(KeyFileError) {
        var random: any RandomNumberGenerator = SystemRandomNumberGenerator()
        try changeRootKey(to: RootKeys.makeRandom(&random))
    }
}
