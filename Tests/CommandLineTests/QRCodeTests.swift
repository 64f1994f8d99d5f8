import Foundation
import PipedPrograms
import Randomness
import Terminal
import Testing

@testable import altnet

@Suite(QRCode.isEncodable) struct QRCodeTests {
    /// The output of `qrencode -8 -l M -v 1 -t ASCII -m 0 altnet`.
    @Test func isWhatTheProgramOfTheLibraryDraws() throws {
        #expect(try QRCode("altnet".utf8) == QRCode.sample)
    }

    /// A reader that neither we nor the library's authors wrote, and versions from the smallest to the largest.
    @Test(
        .enabled(if: Reader.isInstalled, "zbarimg (Debian's zbar-tools) is not installed"),
        arguments: [1, 14, 15, 64, 271, 1000, 2331, 2953])
    func isReadByAnotherReader(length: Int) throws {
        var random = SeededRandom(seed: UInt64(length))
        let text = (0..<length).map { _ in UInt8.random(in: 0x21...0x7e, using: &random) }
        let code = try QRCode(text)
        let range = -QRCode.quietZone..<(code.size + QRCode.quietZone)
        let modules = range.map { row in range.map { code[row, $0] } }
        #expect(try Reader.read(modules) == String(decoding: text, as: UTF8.self))
    }

    /// ISO/IEC 18004, table 7.
    @Test(arguments: [
        (17, 1), (18, 2), (32, 2), (33, 3), (53, 3), (54, 4), (78, 4), (230, 9), (231, 10), (271, 10), (2953, 40),
    ])
    func isAsSmallAsItCanBe(bytes: Int, version: Int) throws {
        #expect(try QRCode(Array(repeating: 0x78, count: bytes)).size == 17 + 4 * version)
    }

    /// At level M version 1 holds 14 bytes and version 2 holds 26. The format information begins with the level, masked
    /// with 10: 00 is M, 01 is L.
    @Test(arguments: [(14, false), (15, true), (26, false), (27, true)])
    func correctsMoreWhereThatCostsNothing(bytes: Int, isLow: Bool) throws {
        let code = try QRCode(Array(repeating: 0x78, count: bytes))
        #expect(code[8, 0])
        #expect(code[8, 1] == isLow)
    }

    @Test func nothingAndTooMuch() {
        #expect(throws: QRCodeError.notEncoded(bytes: 0, errno: EINVAL)) { try QRCode([]) }
        #expect(throws: QRCodeError.notEncoded(bytes: 2954, errno: ERANGE)) {
            try QRCode(Array(repeating: 0, count: 2954))
        }
    }

    @Test func aroundItAllIsLight() throws {
        let code = try QRCode("altnet".utf8)
        #expect(!code[-1, 0] && !code[0, -1] && !code[code.size, 0] && !code[0, code.size])
        #expect(code[0, 0] && code[0, code.size - 1] && code[code.size - 1, 0])
    }
}

@Suite struct QRCodeLibraryTests {
    /// A library of another interface is as good as none.
    @Test(arguments: ["libqrencode.so.absent", "libc.so.6"])
    func isMissing(library: String) {
        #expect(throws: QRCodeError.libraryMissing) { try QRCode("altnet".utf8, library: library) }
    }
}

/// A code in a terminal, as a camera sees it.
@Suite struct QRCodeViewTests {
    @Test(arguments: [true, false], [true, false])
    func theTerminalShowsTheCode(hasColour: Bool, isUnicode: Bool) throws {
        let code = QRCode.sample
        let style = Style(hasColour: hasColour, isUnicode: isUnicode)
        let picture = try #require(QRCodeView(code: code).render(style))
        let seen = Camera.modules(picture, hasColour: hasColour, isUnicode: isUnicode)
        let side = code.size + 2 * QRCode.quietZone
        for row in 0..<side {
            for column in 0..<side {
                let isDark = code[row - QRCode.quietZone, column - QRCode.quietZone]
                #expect(seen[row][column] == isDark, "row \(row), column \(column)")
            }
        }
    }

    @Test func itIsAsWideAsItsModules() {
        let code = QRCode.sample
        #expect(QRCodeView(code: code).render(Style(hasColour: true, width: 29)) != nil)
        #expect(QRCodeView(code: code).render(Style(hasColour: true, width: 28)) == nil)
        #expect(QRCodeView(code: code).render(Style(isUnicode: false, width: 58)) != nil)
        #expect(QRCodeView(code: code).render(Style(isUnicode: false, width: 57)) == nil)
    }

    /// zbarimg reads it from the half blocks, the colours and the quiet zone that are printed, of the shortest code and
    /// of one of a version with its number in it (7 and up).
    @Test(
        .enabled(if: Reader.isInstalled, "zbarimg (Debian's zbar-tools) is not installed"), QRCode.isEncodable,
        arguments: [1, 63, 134, 271])
    func aReaderReadsWhatIsPrinted(length: Int) throws {
        let text = String(
            ("altnet:pair?v=1&id=lamp-01&key=" + String(repeating: "0123456789abcdef", count: 20)).prefix(length))
        let style = Style(hasColour: true)
        let picture = try #require(QRCodeView(code: try QRCode(text.utf8)).render(style))
        #expect(try Reader.read(Camera.modules(picture, hasColour: true, isUnicode: true)) == text)
    }

    /// Reads characters as a dark terminal shows them, or in the colours that were asked for.
    private enum Camera {
        static func modules(_ picture: String, hasColour: Bool, isUnicode: Bool) -> [[Bool]] {
            picture.split(separator: "\n").flatMap { line in
                var background = false
                var upper: [Bool] = []
                var lower: [Bool] = []
                var rest = line[...]
                while let character = rest.popFirst() {
                    if character == "\u{1b}" {
                        let code = rest.prefix { $0 != "m" }
                        rest = rest.dropFirst(code.count + 1)
                        background = code.hasSuffix(";16")
                        continue
                    }
                    // With colours the ink is dark, without it is light.
                    upper.append("█▀".contains(character) || (character == "#") ? hasColour : background || !hasColour)
                    lower.append("█▄".contains(character) ? hasColour : !hasColour)
                }
                if isUnicode { return [upper, lower] }
                return [stride(from: 0, to: upper.count, by: 2).map { upper[$0] }]
            }
        }
    }
}

/// The program zbarimg of the ZBar project.
private enum Reader {
    private static let path = "/usr/bin/zbarimg"

    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

    /// - Parameter modules: with the quiet zone.
    /// - Returns: the text that it reads in a picture of the code.
    static func read(_ modules: [[Bool]]) throws -> String {
        let picture = FileManager.default.temporaryDirectory.path + "/altnet-\(UUID().uuidString).pgm"
        defer { try? FileManager.default.removeItem(atPath: picture) }
        try draw(modules).write(to: URL(fileURLWithPath: picture))
        let read = try PipedProgram.run(
            path, ["--raw", "--quiet", "--nodbus", "-Sdisable", "-Sqrcode.enable", picture]
        ).output
        return String(decoding: read.dropLast(), as: UTF8.self)
    }

    /// Four pixels a module, as a portable graymap.
    private static func draw(_ modules: [[Bool]]) -> Data {
        let scale = 4
        var picture = Data("P5 \((modules.first?.count ?? 0) * scale) \(modules.count * scale) 255\n".utf8)
        for row in modules {
            let pixels = row.flatMap { Array(repeating: $0 ? 0 : UInt8.max, count: scale) }
            for _ in 0..<scale { picture.append(contentsOf: pixels) }
        }
        return picture
    }
}

extension QRCode {
    /// Whether libqrencode is installed.
    static var isEncodable: ConditionTrait {
        .enabled("libqrencode (Debian's libqrencode4) is not installed") { (try? QRCode("x".utf8)) != nil }
    }

    /// Of the text "altnet".
    static let sample: QRCode = {
        let drawn = """
            #######.##....#######
            #.....#.####..#.....#
            #.###.#.#.###.#.###.#
            #.###.#...#...#.###.#
            #.###.#.###.#.#.###.#
            #.....#...###.#.....#
            #######.#.#.#.#######
            .........####........
            #..########.##..#.###
            ##.#.#.#.#..#.#.##...
            ..#...##..#..##.#####
            ..#.##.....#......##.
            ##.#.###.#....#....##
            ........##.##....###.
            #######.#...#####.#..
            #.....#.#.####..###..
            #.###.#.#..##.#..#.##
            #.###.#.##.##..#.....
            #.###.#..##...#.##.##
            #.....#..##..###.####
            #######.#.##....#....
            """
        let lines = drawn.split(separator: "\n")
        return QRCode(size: lines.count, modules: lines.flatMap { line in line.map { $0 == "#" } })
    }()
}
