import AgentModel
import Glibc

/// A decoder of outside bytes, and what must hold whatever it is given.
///
/// libFuzzer runs it for hours (`make fuzz`), and the unit tests run the same on its seeds and a few hundred inputs
/// made of them. A property that does not hold is a precondition that fails: for both, the end of the process.
public struct FuzzTarget: Sendable {
    public let name: String
    /// The input and its origin, for the table in Docs/results/fuzzing.md.
    public let subject: String
    /// The longest input, in bytes: more than the decoder takes where that is little, else enough for all that it tells
    /// apart.
    public let longest: Int
    /// Total number of executions to reach (Docs/results/fuzzing.md).
    public let goal: Int
    /// The fuzzer's first inputs, which are accepted.
    public let seeds: @Sendable () -> [[UInt8]]
    /// Sets up what all executions share, and returns what is done with each input. It is used by one thread.
    public let prepare: @Sendable () -> (_ input: [UInt8]) -> Void

    init(
        _ name: String, _ subject: String, longest: Int, goal: Int = 10_000_000,
        seeds: @escaping @Sendable () -> [[UInt8]] = { [] },
        preparing prepare: @escaping @Sendable () -> (_ input: [UInt8]) -> Void
    ) {
        (self.name, self.subject, self.longest, self.goal) = (name, subject, longest, goal)
        (self.seeds, self.prepare) = (seeds, prepare)
    }

    init(
        _ name: String, _ subject: String, longest: Int, goal: Int = 10_000_000,
        seeds: @escaping @Sendable () -> [[UInt8]] = { [] },
        check: @escaping @Sendable (_ input: [UInt8]) -> Void
    ) {
        self.init(name, subject, longest: longest, goal: goal, seeds: seeds, preparing: { check })
    }

    /// In the order in which they are run: first what any sender in radio range can send.
    public static let all: [FuzzTarget] = [
        informationElements, netlink, supplicant, dhcp, dhcpClient, dhcpServer, staticAddress, dhcpv6, dhcpv6Client,
        routerOptions,
        dns, mdns,
        json, captive, webAnswer, portalPage,
        improv, dbus, mqtt, mqttAgent, conversation, resolver, modem, pageRequest, pageForm, accessPointNames, tlsHello,
        opening,
        appKeys,
        appProtocol, words, codes, providerLines, settings,
        netplan,
        boardFiles,
        records, sealedExport,
        keyMedium,
        keyFile,
    ]
}

/// The bytes of an input, read from the front, where an input says what happens and not only what is read.
struct FuzzInput {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isEmpty: Bool { rest.isEmpty }

    /// - Returns: 0 at the end.
    mutating func byte() -> Int { Int(rest.popFirst() ?? 0) }

    mutating func number(below limit: Int) -> Int { (byte() << 16 | byte() << 8 | byte()) % limit }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func remaining() -> [UInt8] { bytes(rest.count) }

    /// Byte strings with their lengths before them, in two bytes, as `joined` makes them.
    mutating func parts() -> [[UInt8]] {
        var parts: [[UInt8]] = []
        while !isEmpty { parts.append(bytes(byte() << 8 | byte())) }
        return parts
    }

    static func joined(_ parts: [[UInt8]]) -> [UInt8] {
        parts.flatMap { [UInt8($0.count >> 8 & 0xff), UInt8($0.count & 0xff)] + $0 }
    }
}

/// Pieces of sizes that the bytes themselves decide, as a network delivers them.
func pieces(of bytes: some Collection<UInt8>) -> [ArraySlice<UInt8>] {
    var rest = Array(bytes)[...]
    var pieces: [ArraySlice<UInt8>] = []
    while let first = rest.first {
        let piece = rest.prefix(1 + Int(first) % 37)
        pieces.append(piece)
        rest = rest.dropFirst(piece.count)
    }
    return pieces
}

func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }

/// Words that a fuzzer puts into its inputs, as libFuzzer's dictionaries have them.
public struct FuzzDictionary: Sendable {
    public let words: [[UInt8]]

    /// The edges of every integer and exponent, which no coverage leads to: an overflow is no branch.
    public static let integers = FuzzDictionary(words: IntegerEdges.words)

    /// The words of a target's own format, where it has some.
    public init(of target: FuzzTarget) {
        self.init(reading: TestFile.lines(of: "Tests/Fuzzing/Dictionaries/\(target.name).dict"))
    }

    init(words: [[UInt8]]) { self.words = words }

    /// Reads lines such as `"a\x0d\"\\"`; all others are comments.
    init(reading lines: [String]) {
        words = lines.filter { $0.hasPrefix("\"") && $0.hasSuffix("\"") && $0.utf8.count > 2 }.map { line in
            var word: [UInt8] = []
            var rest = line.utf8.dropFirst().dropLast()
            while let byte = rest.popFirst() {
                guard byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() else {
                    word.append(byte)
                    continue
                }
                guard escaped == UInt8(ascii: "x") else {
                    word.append(escaped)
                    continue
                }
                word += Hex.bytes(String(decoding: rest.prefix(2), as: UTF8.self)) ?? []
                rest = rest.dropFirst(2)
            }
            return word
        }
    }

    /// As libFuzzer reads it.
    public var text: String {
        words.map { word in
            let escaped = word.map { byte in
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"): "\\" + String(Unicode.Scalar(byte))
                case 0x20...0x7e: String(Unicode.Scalar(byte))
                default: "\\x" + Hex.string([byte])
                }
            }
            return "\"\(escaped.joined())\"\n"
        }.joined()
    }
}

private enum IntegerEdges {
    static var words: [[UInt8]] {
        let words =
            edges(Int8.self) + edges(Int16.self) + edges(Int32.self) + edges(Int64.self) + edges(UInt8.self)
            + edges(UInt16.self) + edges(UInt32.self) + edges(UInt64.self) + (exact + exponents).map { Array($0.utf8) }
        var seen: Set<[UInt8]> = []
        return words.filter { seen.insert($0).inserted }
    }

    /// The largest and the smallest number and those beside them: in decimal, and as they are in memory and on the
    /// wire.
    private static func edges<Number: FixedWidthInteger>(_: Number.Type) -> [[UInt8]] {
        let numbers: [Number] = [.max, .max - 1, .min, .min + 1]
        let text = numbers.flatMap { ["\($0)", hexadecimal($0)] } + [beyond(Number.self)]
        let bytes = numbers.flatMap { number in
            [number.littleEndian, number.bigEndian].map { Swift.withUnsafeBytes(of: $0, Array.init) }
        }
        return text.map { Array($0.utf8) } + bytes
    }

    private static func hexadecimal(_ number: some FixedWidthInteger) -> String {
        Hex.string(Swift.withUnsafeBytes(of: number.bigEndian, Array.init))
    }

    /// The largest number and one.
    private static func beyond<Number: FixedWidthInteger>(_: Number.Type) -> String {
        let magnitude = UInt64(Number.max)
        return magnitude == .max ? "18446744073709551616" : "\(magnitude + 1)"
    }

    /// Numbers at the limits of what a Double and a number of JSON can tell apart.
    private static let exact = [
        "9007199254740991", "9007199254740992", "9007199254740993", "-9007199254740993", "-9223372036854775809",
        "340282366920938463463374607431768211456", "0.1", "-0", "-0.0", "00", "1.", ".1", "1e", "+1",
    ]

    private static let exponents = [
        "1e308", "1e309", "1e400", "-1e400", "1e-308", "5e-324", "1e-400", "0e400", "1E+19", "1e18", "1e19", "-1e19",
        "1e20", "1.7976931348623157e308", "10e9223372036854775806", "10e9223372036854775807",
        "10e9223372036854775808", "0e9223372036854775807", "-0.0e9223372036854775807", "1e-9223372036854775808",
        "0.1e-9223372036854775808", "1e2147483647", "1e2147483648", "1e-2147483648", "1e-2147483649",
        "1e18446744073709551616",
    ]
}

/// Files of the repository that seeds come from.
enum TestFile {
    /// The repository's top folder, where this was compiled; the fuzz program's package reaches it through a link.
    private static let top: String = {
        let resolved = realpath("\(#filePath)", nil)
        defer { free(resolved) }
        guard let resolved else { return "." }
        return String(cString: resolved).split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
    }()

    /// - Parameter path: from the repository's top folder.
    /// - Returns: none where there is no such file.
    static func lines(of path: String) -> [String] {
        guard let file = fopen("\(top)/\(path)", "r") else { return [] }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer.prefix(count) }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
    }

    /// The examples in a document: lines that begin with `->` or `<-`.
    static func examples(in path: String) -> [[UInt8]] {
        lines(of: path).filter { $0.hasPrefix("-> ") || $0.hasPrefix("<- ") }.map { Array($0.utf8.dropFirst(3)) }
    }
}
