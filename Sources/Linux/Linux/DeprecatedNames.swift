// Names of the previous version, for programs that use the library. Gone in the next one.

extension ProcessSignals {
    @available(*, deprecated, renamed: "drain()")
    public func take() -> [Int32] { drain() }
}
