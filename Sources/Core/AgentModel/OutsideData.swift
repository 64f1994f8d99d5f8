#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Decodes JSON from untrusted sources. Foundation's decoder accepts more than RFC 8259 (UTF-16, trailing commas,
/// `1.0000000000000001` as 1) and leaves its input in memory. ``JSONReader`` therefore runs first, and removes secrets
/// and numbers beyond `Int`.
public enum OutsideJSON {
    /// - Parameters:
    ///   - nesting: Maximum depth of objects and lists.
    ///   - secretMembers: Names of members whose texts, including nested texts, are secret. These texts must have the
    ///     type ``Secret``.
    /// - Throws: ``JSONFault``, a `DecodingError` with the path of the fault, or an error of the type.
    public static func decode<Value: Decodable>(
        _ type: Value.Type, from text: some Collection<UInt8>, nesting: Int, secretMembers: Set<String> = []
    ) throws -> Value {
        let read = try read(text, nesting: nesting, secretMembers)
        let decoder = JSONDecoder()
        if let key = CodingUserInfoKey.secrets { decoder.userInfo[key] = read.secrets }
        return try decoder.decode(type, from: Data(read.text))
    }

    /// Returns one line without a line feed. Keys are sorted, so equal values give equal bytes.
    public static func encode(
        _ value: some Encodable, with context: [CodingUserInfoKey: any Sendable] = [:]
    ) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.userInfo = context
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    private static func read(
        _ text: some Collection<UInt8>, nesting: Int, _ secretMembers: Set<String>
    ) throws(JSONFault) -> (text: [UInt8], secrets: [Secret]) {
        let result = text.withContiguousStorageIfAvailable { bytes in
            Result { () throws(JSONFault) in
                try JSONReader.read(UnsafeRawBufferPointer(bytes), nesting: nesting, secretMembers)
            }
        }
        if let result { return try result.get() }
        // Copy a collection that is not contiguous. Callers normally pass contiguous bytes.
        return try read(Array(text), nesting: nesting, secretMembers)
    }
}

/// Reason why a text is not accepted as JSON, without any part of the text.
public enum JSONFault: Error, Sendable, Equatable {
    case notUTF8
    case nestsTooDeep
    /// The text violates RFC 8259.
    case notJSON
}

extension JSONFault {
    /// Problem in words, as the predicate of a sentence about the text.
    package var problem: String {
        switch self {
        case .notUTF8: "is not UTF-8 text"
        case .nestsTooDeep: "is nested too deeply"
        case .notJSON: "is not valid JSON"
        }
    }
}

extension DecodingError {
    /// Path of the faulty member (`body.networks[1].ssid`, empty for the whole text) and the predicate of a sentence
    /// about it. Never contains values of the text.
    package var fault: (member: String, problem: String) {
        switch self {
        case .keyNotFound(let key, let context): ((context.codingPath + [key]).memberName, "is missing")
        case .valueNotFound(_, let context): (context.codingPath.memberName, "is null")
        case .typeMismatch(let type, let context) where type is any BinaryInteger.Type:
            (context.codingPath.memberName, "is not a whole number of at most 64 bits")
        case .typeMismatch(_, let context): (context.codingPath.memberName, "has the wrong type")
        case .dataCorrupted(let context): (context.codingPath.memberName, "has a value that is not allowed")
        @unknown default: ("", "")
        }
    }
}

extension [any CodingKey] {
    /// Path in the form `body.networks[1].ssid`. Empty for the whole text.
    package var memberName: String {
        reduce(into: "") { name, key in
            if let index = key.intValue {
                name += "[\(index)]"
            } else {
                name += name.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
    }
}

extension CodingUserInfoKey {
    /// Secrets removed from the text, in their order.
    fileprivate static let secrets = CodingUserInfoKey(rawValue: "altnet.secrets")
}

extension Secret: Decodable {
    /// Decodes the index of a secret that ``OutsideJSON`` removed. Other decoders give the secret itself.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let secrets = CodingUserInfoKey.secrets.flatMap({ decoder.userInfo[$0] }) as? [Secret] else {
            self.init(text: text)
            return
        }
        guard let number = Int(text), secrets.indices.contains(number) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "the text still contains a secret")
        }
        self = secrets[number]
    }
}

/// Source of external data. The agent reads the source again after a restart.
public struct OutsideSource: Hashable, Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        /// A network's captive portal API (RFC 8908).
        case captiveAPI = "captive-api"
        /// A network's answer to a validation request.
        case probe
        /// The system's list of name servers, written by another program.
        case resolver
        /// A hotspot provider, or the host of all providers.
        case provider
    }

    public let kind: Kind
    /// Name of the network, the interface or the provider.
    public let name: String

    public init(_ kind: Kind, _ name: String) {
        self.kind = kind
        self.name = name
    }
}

/// Records the source being read. After a crash, the agent then knows which source may have caused it.
public protocol OutsideWatch: Sendable {
    /// Call before each read. Returns false if the source is blocked: do not read it, and do not call `end`.
    func begin(_ source: OutsideSource) -> Bool
    func end(_ source: OutsideSource)
}

extension OutsideWatch {
    /// - Returns: nil if the source is blocked for now.
    public func reading<Value>(_ source: OutsideSource, _ read: () throws -> Value) rethrows -> Value? {
        guard begin(source) else { return nil }
        defer { end(source) }
        return try read()
    }

    public func reading<Value: Sendable>(
        _ source: OutsideSource, _ read: @Sendable () async -> Value
    ) async -> Value? {
        guard begin(source) else { return nil }
        defer { end(source) }
        return await read()
    }
}

/// Watch that allows every read, for programs that do not repeat a read after a crash.
public struct NoOutsideWatch: OutsideWatch {
    public init() {}
    public func begin(_ source: OutsideSource) -> Bool { true }
    public func end(_ source: OutsideSource) {}
}
