// Names of the previous version, for programs that use the library. Gone in the next one.

extension TokenBucket {
    @available(*, deprecated, renamed: "consume(_:)")
    public mutating func take(_ count: Int = 1) { consume(count) }
}

extension JoinRequest {
    @available(*, deprecated, renamed: "minimumSecurity")
    public var floor: LinkProtection { minimumSecurity }
}
