import AgentModel
import AppProtocol
import JSONValues

extension FuzzTarget {
    /// Text is a value, or an error that repeats nothing of it. A value is the same once it is written and read again,
    /// and an integer is the same whatever its width.
    static let json = FuzzTarget(
        "json", "JSON, as every message of apps, networks and providers is read", longest: 512, goal: 100_000_000,
        seeds: {
            TestFile.examples(in: "Docs/reference/protocol.md").filter { $0.count <= 200 }.prefix(24)
                + bytes([
                    #"{"a":[1,-2,0.5,1e3,true,false,null,"b\u00e9\ud83d\ude00\n\"\\\/"],"":{"c":{}}}"#,
                    "9007199254740993",
                    "-9223372036854775808", "18446744073709551615", "10e18", "0.1e1", "1.0", "-0", " [ 1 , 2 ] ",
                    "640000000000000000.004",
                ])
        }
    ) { bytes in
        if let value = try? OutsideJSON.decode(JSONValue.self, from: bytes, nesting: ProtocolLimits.nesting) {
            let written: [UInt8]
            do throws(ProtocolError) { written = try Line.encode(value) } catch {
                preconditionFailure("what was read cannot be written")
            }
            // A number that is no integer has become a list in a list.
            precondition(
                (try? OutsideJSON.decode(JSONValue.self, from: written, nesting: ProtocolLimits.nesting + 2)) == value,
                "it reads otherwise once it is written")
        }
        do throws(ProtocolError) { _ = try Line.decode(JSONValue.self, from: bytes) } catch {
            precondition(error.message.utf8.count < 400)
        }
        if bytes.first.map({ $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) }) ?? false { readAsNumber(bytes) }
    }
}

private func readAsNumber(_ text: [UInt8]) {
    func number<Number: FixedWidthInteger & Decodable>(_: Number.Type) -> Number? {
        try? OutsideJSON.decode(Number.self, from: text, nesting: 0)
    }
    let widest = number(Int.self)
    // The standard library reads a number of digits alone; JSON has no zero before other digits.
    let digits = text.drop { $0 == UInt8(ascii: "-") }
    if text.count - digits.count <= 1, digits.allSatisfy({ (0x30...0x39).contains($0) }),
        digits.count == 1 || digits.first != 0x30
    {
        precondition(widest == Int(String(decoding: text, as: UTF8.self)))
    }
    func check<Number: FixedWidthInteger & Decodable>(_: Number.Type) {
        precondition(number(Number.self) == widest.flatMap { Number(exactly: $0) }, "\(Number.self)")
    }
    check(Int8.self)
    check(UInt8.self)
    check(Int16.self)
    check(UInt16.self)
    check(Int32.self)
    check(UInt32.self)
    check(Int64.self)
    check(UInt64.self)
    check(UInt.self)
}
