import AppProtocol

extension FuzzTarget {
    /// A line is a value, or an error that repeats nothing of it. A value is the same once it is written and read
    /// again, and an integer is the same whatever its width.
    static let json = FuzzTarget(
        "json", "JSON, as every message of apps, networks and providers is read", longest: 512, goal: 100_000_000,
        seeds: {
            TestFile.examples(in: "Docs/protocol.md").filter { $0.count <= 200 }.prefix(24)
                + bytes([
                    #"{"a":[1,-2,0.5,1e3,true,false,null,"b\u00e9\ud83d\ude00\n\"\\\/"],"":{"c":{}}}"#,
                    "9007199254740993",
                    "-9223372036854775808", "18446744073709551615", "10e18", "0.1e1", "1.0", "-0", " [ 1 , 2 ] ",
                    "640000000000000000.004",
                ])
        }
    ) { bytes in
        do throws(ProtocolError) {
            let value = try Line.decode(JSONTree.self, from: bytes)
            let written: [UInt8]
            do throws(ProtocolError) { written = try Line.encode(value) } catch {
                preconditionFailure("what was read cannot be written")
            }
            // What is escaped takes more room than what was read.
            guard written.count <= ProtocolLimits.lineLength else { return }
            precondition(
                (try? Line.decode(JSONTree.self, from: written)) == value, "it reads otherwise once it is written")
            precondition((try? Line.encode(value)) == written, "it is written otherwise the second time")
        } catch {
            precondition(error.message.utf8.count < 400)
        }
        if bytes.first.map({ $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) }) ?? false { readAsNumber(bytes) }
    }
}

private func readAsNumber(_ text: [UInt8]) {
    let widest =
        (try? Line.decode(Int64.self, from: text)).map { Int128($0) }
        ?? (try? Line.decode(UInt64.self, from: text)).map { Int128($0) }
    let isPlain = text.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
    func check<Number: FixedWidthInteger & Decodable>(_: Number.Type) {
        let number = (try? Line.decode(Number.self, from: text)).map { Int128($0) }
        let expected = widest.flatMap { Number(exactly: $0) }.map { Int128($0) }
        // At the edges, a number that is not written as an integer may be refused: 9223372036854775807.0.
        precondition(number == expected || !isPlain && (number == nil || expected == nil), "\(Number.self)")
    }
    check(Int8.self)
    check(UInt8.self)
    check(Int16.self)
    check(UInt16.self)
    check(Int32.self)
    check(UInt32.self)
    check(Int.self)
    check(UInt.self)
    if let double = try? Line.decode(Double.self, from: text) { precondition(double.isFinite) }
}

/// Any JSON.
private enum JSONTree: Codable, Equatable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case text(String)
    case array([JSONTree])
    case object([String: JSONTree])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let bool = try? container.decode(Bool.self) {
            self = .bool(bool)
        } else if let integer = try? container.decode(Int.self) {
            self = .integer(integer)
        } else if let number = try? container.decode(Double.self) {
            // One that is nearly whole is written as a whole one.
            self = Int(exactly: number).map { .integer($0) } ?? .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let array = try? container.decode([JSONTree].self) {
            self = .array(array)
        } else {
            self = .object(try container.decode([String: JSONTree].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let bool): try container.encode(bool)
        case .integer(let integer): try container.encode(integer)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .array(let array): try container.encode(array)
        case .object(let object): try container.encode(object)
        }
    }
}
