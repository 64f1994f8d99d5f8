#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The one way in which JSON from outside becomes a value: lines of apps, devices and providers, and what networks say
/// of themselves.
///
/// Foundation's decoder takes more than JSON: UTF-16, a comma before a bracket, `1.0000000000000001` for 1. And what it
/// has read stays in memory as it was. So a ``JSONReader`` stands before it, which takes what RFC 8259 has and no more,
/// and hands on text without numbers that are beyond an `Int` and without secrets.
public enum OutsideJSON {
    /// - Parameters:
    ///   - nesting: how deep objects and lists may nest.
    ///   - secretMembers: the names of members whose texts are secret, wherever they are, those within them too. The
    ///     type decodes each as a ``Secret``.
    /// - Throws: ``JSONFault``, a `DecodingError` whose path names what is wrong, or what the type itself throws.
    public static func decode<Value: Decodable>(
        _ type: Value.Type, from text: some Collection<UInt8>, nesting: Int, secretMembers: Set<String> = []
    ) throws -> Value {
        let read = try read(text, nesting: nesting, secretMembers)
        let decoder = JSONDecoder()
        if let key = CodingUserInfoKey.secrets { decoder.userInfo[key] = read.secrets }
        return try decoder.decode(type, from: Data(read.text))
    }

    /// One line without its line feed. Keys are sorted, so equal values are equal bytes.
    /// - Parameter context: what the value's types find in their encoder.
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
        // A slice of something that lies in pieces: none is read here in earnest.
        return try read(Array(text), nesting: nesting, secretMembers)
    }
}

/// Why text is not JSON that is read here. The text is not repeated.
public enum JSONFault: Error, Sendable, Equatable {
    case notUTF8
    /// Objects and lists nest deeper than they may.
    case nestsTooDeep
    /// Not a text of RFC 8259.
    case notJSON
}

extension JSONFault {
    /// The end of a sentence about the text.
    package var problem: String {
        switch self {
        case .notUTF8: "is not UTF-8 text"
        case .nestsTooDeep: "nests too deep"
        case .notJSON: "is not a JSON object"
        }
    }
}

extension DecodingError {
    /// The member that is wrong, as in `body.networks[1].ssid`, empty for the whole text; and the end of a sentence
    /// about it. Nothing of the text is repeated but names of members.
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
    /// `body.networks[1].ssid` for the path of coding keys to it; empty for the text itself.
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
    /// The secrets that were taken out of the text, in their order.
    fileprivate static let secrets = CodingUserInfoKey(rawValue: "altnet.secrets")
}

extension Secret: Decodable {
    /// When ``OutsideJSON`` reads, the text is the number of a secret that it has taken out; elsewhere it is the
    /// secret.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let secrets = CodingUserInfoKey.secrets.flatMap({ decoder.userInfo[$0] }) as? [Secret] else {
            self.init(text: text)
            return
        }
        guard let number = Int(text), secrets.indices.contains(number) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "a secret that was not taken out")
        }
        self = secrets[number]
    }
}

/// Something outside whose data the agent reads, and which is there again after a restart.
public struct OutsideSource: Hashable, Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        /// A network's captive portal API (RFC 8908).
        case captiveAPI = "captive-api"
        /// A network's answer to the question to the source of validation.
        case probe
        /// The machine's list of name servers, which another program has written.
        case resolver
        /// A hotspot provider, or the host of all.
        case provider
    }

    public let kind: Kind
    /// The subject: a network, an interface, a provider.
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
