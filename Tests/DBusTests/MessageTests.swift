import Randomness
import Testing

@testable import DBus

@Suite struct MessageTests {
    /// `Hello`, as the specification lays it out: fixed part, array of fields, padding.
    private static let hello: [UInt8] =
        [UInt8(ascii: "l"), 1, 0, 1] + [0, 0, 0, 0] + [1, 0, 0, 0] + [0x6e, 0, 0, 0]
        // 1: path, an object path
        + [1, 1, 0x6f, 0, 21, 0, 0, 0] + Array("/org/freedesktop/DBus".utf8) + [0, 0, 0]
        // 2: interface, a string
        + [2, 1, 0x73, 0, 20, 0, 0, 0] + Array("org.freedesktop.DBus".utf8) + [0, 0, 0, 0]
        // 3: member, a string
        + [3, 1, 0x73, 0, 5, 0, 0, 0] + Array("Hello".utf8) + [0, 0, 0]
        // 6: destination, a string
        + [6, 1, 0x73, 0, 20, 0, 0, 0] + Array("org.freedesktop.DBus".utf8) + [0, 0, 0, 0]

    @Test func aCallIsAsTheSpecificationHasIt() throws {
        // The array does not count the padding after its last field, but the bytes before the body do.
        var message = DBusMessage(
            .call, path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus", member: "Hello",
            destination: "org.freedesktop.DBus")
        message.serial = 1
        var expected = Self.hello
        expected[12] = UInt8(expected.count - 16 - 3)
        #expect(message.encoded() == expected)
        #expect(try DBusMessage(expected) == message)
        #expect(try DBusMessage.length(of: expected[...]) == expected.count)
        #expect(try DBusMessage.length(of: expected.prefix(15)) == nil)
    }

    private static let values: [DBusValue] = [
        .byte(7), .boolean(true), .int16(-3), .uint16(60_000), .int32(-5), .uint32(7), .int64(-9), .uint64(11),
        .double(0x3ff0_0000_0000_0000), .string("Caf\u{e9}"), .objectPath("/a/b"), .signature("a{sv}"),
        .bytes([1, 2, 3]), .bytes([]), .strings(["a", ""]), .array(of: "x", []), .structure([.byte(1), .uint64(2)]),
        .variant(.variant(.string("x"))), .dictionary([("UUID", .string("1")), ("Flags", .strings(["read"]))]),
        .array(
            of: "{oa{sa{sv}}}",
            [
                .entry(.objectPath("/x"), .array(of: "{sa{sv}}", [.entry(.string("i"), .dictionary([]))]))
            ]),
    ]

    @Test func everyValueIsReadAsItWasWritten() throws {
        var message = DBusMessage(.signal, path: "/", interface: "a.b", member: "C", body: Self.values)
        message.serial = 3
        #expect(try DBusMessage(message.encoded()).body == Self.values)
        for value in Self.values {
            message.body = [.byte(1), value]
            #expect(try DBusMessage(message.encoded()).body == [.byte(1), value])
        }
    }

    /// A message of 1 MiB would be half a million empty texts, 20 MB of memory.
    @Test func aMessageOfTooManyValuesIsRefused() throws {
        func message(_ count: Int) -> [UInt8] {
            let values = Array(repeating: DBusValue.signature(""), count: count)
            var message = DBusMessage(.signal, path: "/", interface: "a.b", member: "C")
            message.body = [.array(of: "g", values)]
            message.serial = 1
            return message.encoded()
        }
        #expect(message(500_000).count <= DBusMessage.longest)
        #expect(throws: DBusFault.tooLong) { try DBusMessage(message(500_000)) }
        #expect(try DBusMessage(message(60_000)).body.count == 1)
    }

    @Test func numbersWithTheirGreatestByteFirst() throws {
        var reader = DBusReader([0, 0, 1, 2], from: 0, isBigEndian: true)
        #expect(try reader.values("u") == [.uint32(258)])
    }

    @Test(arguments: ["a", "(", "()", "a{vs}", "a{sv", "{sv}", "z", "a{(s)v}", String(repeating: "a", count: 40) + "y"])
    func signaturesThatAreNone(signature: String) {
        var reader = DBusReader([UInt8](repeating: 0, count: 64), from: 0, isBigEndian: false)
        #expect(throws: DBusFault.self) { try reader.values(signature) }
    }

    @Test func variantsNestNoDeeperThanAllowed() {
        var bytes: [UInt8] = []
        for _ in 0..<1000 { bytes += [1, UInt8(ascii: "v"), 0] }
        var reader = DBusReader(bytes, from: 0, isBigEndian: false)
        #expect(throws: DBusFault.nestsTooDeep) { try reader.values("v") }
    }

    /// Whatever is changed in a message, it is read or refused.
    @Test func damagedMessagesAreRefused() {
        var random = SeededRandom(seed: 1)
        var message = DBusMessage(.signal, path: "/", interface: "a.b", member: "C", body: Self.values)
        message.serial = 3
        let bytes = message.encoded()
        for _ in 0..<Rounds.of(2000) {
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                damaged[Int.random(in: 0..<damaged.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            damaged.removeLast(Int.random(in: 0...3, using: &random))
            _ = try? DBusMessage(damaged)
        }
    }
}
