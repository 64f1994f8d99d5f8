import AgentModel

package enum Line {
    /// Returns a line without its line feed, as written by ``OutsideJSON``.
    /// - Parameter names: replaces network hashes towards a relay.
    package static func encode(
        _ value: some Encodable, naming names: NetworkNames? = nil
    ) throws(ProtocolError) -> [UInt8] {
        do {
            guard let names, let key = NetworkNames.key else { return try OutsideJSON.encode(value) }
            return try OutsideJSON.encode(value, with: [key: names])
        } catch {
            throw ProtocolError(.internalError, "a message could not be encoded")
        }
    }

    /// Members with secret text, here and in the provider protocol. They decode as `Secret`.
    package static let secretMembers: Set<String> = ["pairingCode", "password", "privateKey", "session", "values"]

    /// - Throws: `malformed`, or the type's own error. Errors repeat only field names, because a malformed line can
    ///   contain a password.
    package static func decode<Value: Decodable>(
        _ type: Value.Type, from line: some Collection<UInt8>, atMost length: Int = ProtocolLimits.lineLength
    ) throws(ProtocolError) -> Value {
        guard line.count <= length else { throw .lineTooLong }
        do {
            return try OutsideJSON.decode(
                type, from: line, nesting: ProtocolLimits.nesting, secretMembers: secretMembers)
        } catch let fault as JSONFault {
            throw ProtocolError(fault)
        } catch let error as ProtocolError {
            throw error
        } catch let error as DecodingError {
            throw ProtocolError(error)
        } catch {
            throw ProtocolError(.malformed, "the line is not a JSON object")
        }
    }
}

extension ProtocolError {
    public static let lineTooLong = ProtocolError(
        .lineTooLong, "the line is longer than \(ProtocolLimits.lineLength) bytes",
        details: ["max": .number(ProtocolLimits.lineLength)])

    fileprivate init(_ fault: JSONFault) {
        self =
            switch fault {
            case .notUTF8: ProtocolError(.malformed, "the line is not UTF-8 text")
            case .nestsTooDeep:
                ProtocolError(.malformed, "the line nests deeper than \(ProtocolLimits.nesting) levels")
            case .notJSON: ProtocolError(.malformed, "the line is not valid JSON")
            }
    }

    package init(_ error: DecodingError) {
        let (member, problem) = error.fault
        self = .malformed(member, problem)
    }
}

/// Splits a byte stream into lines at line feeds, in bounded memory.
public struct LineSplitter: Sendable {
    private let maximumLength: Int
    private var buffer: [UInt8] = []
    /// Index of the first pending byte in `buffer`.
    private var start = 0
    /// Index in `buffer` up to which line feeds were searched for.
    private var scanned = 0
    private var isOverlong = false

    public init(maximumLength: Int = ProtocolLimits.lineLength) { self.maximumLength = maximumLength }

    /// A line, or the error that ends the stream.
    public enum Output: Sendable, Equatable {
        /// A line without its line feed, never empty.
        case line([UInt8])
        /// A line is too long. This is reported once, and later bytes are dropped.
        case lineTooLong
    }

    /// Adds received bytes. Call ``next()`` until it returns nil before the next call, to bound the memory.
    public mutating func append(_ bytes: some Sequence<UInt8>) {
        guard !isOverlong else { return }
        buffer.append(contentsOf: bytes)
    }

    /// Returns the next complete line or nil. Skips empty lines.
    public mutating func next() -> Output? {
        guard !isOverlong else { return nil }
        while let end = buffer[scanned...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = buffer[start..<end]
            guard line.count <= maximumLength else { return giveUp() }
            start = end + 1
            scanned = start
            if !line.isEmpty, line != [UInt8(ascii: "\r")] { return .line(Array(line)) }
        }
        scanned = buffer.count
        guard buffer.count - start <= maximumLength else { return giveUp() }
        forgetTaken()
        return nil
    }

    /// Wipes processed bytes, which can contain a password.
    private mutating func forgetTaken() {
        guard start > 0 else { return }
        let rest = Array(buffer[start...])
        buffer.withUnsafeMutableBytes { wipe($0) }
        buffer = rest
        scanned -= start
        start = 0
    }

    /// Returns the bytes after the last line feed; nil if there are none. Call it once at the end of the stream, after
    /// ``next()`` has returned nil.
    public mutating func last() -> Output? {
        guard !isOverlong else { return nil }
        let line = Array(buffer[start...])
        start = buffer.count
        scanned = start
        return line.isEmpty || line == [UInt8(ascii: "\r")] ? nil : .line(line)
    }

    private mutating func giveUp() -> Output {
        isOverlong = true
        buffer = []
        start = 0
        scanned = 0
        return .lineTooLong
    }
}
