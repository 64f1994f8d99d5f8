/// Something outside whose data the agent reads, and which is there again after a restart.
public struct OutsideSource: Hashable, Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        /// What a network says of itself (RFC 8908).
        case captiveAPI = "captive-api"
        /// What a network answers where the source of validation is asked.
        case probe
        /// What a DHCP client has noted.
        case leaseNotes = "lease-notes"
        /// A hotspot provider, or the host of all.
        case provider
    }

    public let kind: Kind
    /// Which one: a network, an interface, a provider.
    public let name: String

    public init(_ kind: Kind, _ name: String) {
        self.kind = kind
        self.name = name
    }
}

/// Knows what is being read from outside, so that after a death it is known what the agent died of.
public protocol OutsideWatch: Sendable {
    /// To be called before each reading.
    /// - Returns: false where the source is left alone for now: nothing is read, and `end` is not called.
    func begin(_ source: OutsideSource) -> Bool
    func end(_ source: OutsideSource)
}

extension OutsideWatch {
    /// - Returns: nil where the source is left alone.
    public func reading<Value>(_ source: OutsideSource, _ read: () throws -> Value) rethrows -> Value? {
        guard begin(source) else { return nil }
        defer { end(source) }
        return try read()
    }

    /// - Returns: nil where the source is left alone.
    public func reading<Value: Sendable>(
        _ source: OutsideSource, _ read: @Sendable () async -> Value
    ) async -> Value? {
        guard begin(source) else { return nil }
        defer { end(source) }
        return await read()
    }
}

/// For programs that do not read the same again when they are started anew.
public struct NoOutsideWatch: OutsideWatch {
    public init() {}
    public func begin(_ source: OutsideSource) -> Bool { true }
    public func end(_ source: OutsideSource) {}
}
