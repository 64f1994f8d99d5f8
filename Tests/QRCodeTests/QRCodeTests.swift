import Foundation
import PipedPrograms
import Randomness
import Testing

@testable import QRCode

@Suite struct QRCodeTests {
    /// What `qrencode -8 -l M -v 1 -t ASCII -m 0 altnet` draws (libqrencode 4.1.1).
    @Test func isWhatAnotherEncoderDraws() throws {
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
        let code = try QRCode("altnet".utf8)
        let lines = (0..<code.size).map { row in (0..<code.size).map { code[row, $0] ? "#" : "." }.joined() }
        #expect(lines.joined(separator: "\n") == drawn)
    }

    /// zbarimg is a reader that we did not write. Every version, filled to the last byte.
    @Test(.enabled(if: Reader.isInstalled, "zbarimg (Debian's zbar-tools) is not installed"), arguments: 1...40)
    func isReadByAnotherReader(version: Int) throws {
        var random = SeededRandom(seed: UInt64(version))
        for level in Capacity.Level.allCases {
            let capacity = Capacity(version: version, level: level)
            let text = (0..<capacity.bytes).map { _ in UInt8.random(in: 0x21...0x7e, using: &random) }
            // With a given mask, for choosing one takes its time without optimisation.
            let code = QRCode(text, capacity, mask: try #require(Mask(rawValue: version % 8)))
            #expect(try Reader.read(code) == String(decoding: text, as: UTF8.self))
        }
    }

    @Test(.enabled(if: Reader.isInstalled, "zbarimg (Debian's zbar-tools) is not installed"), arguments: Mask.allCases)
    func isReadUnderEveryMask(mask: Mask) throws {
        let text = "altnet:pair?v=1&id=lamp-01&key=0123456789abcdef0123456789abcdef"
        let capacity = try #require(Capacity.smallest(for: text.utf8.count))
        #expect(try Reader.read(QRCode(text.utf8, capacity, mask: mask)) == text)
    }

    /// ISO/IEC 18004, table 7.
    @Test(arguments: [
        (17, 1), (18, 2), (32, 2), (33, 3), (53, 3), (54, 4), (78, 4), (230, 9), (231, 10), (271, 10), (2953, 40),
    ])
    func isAsSmallAsItCanBe(bytes: Int, version: Int) throws {
        let code = try QRCode(Array(repeating: 0x78, count: bytes))
        #expect(code.version == version)
        #expect(code.size == 17 + 4 * version)
    }

    @Test func correctsMoreWhereThatCostsNothing() {
        #expect(Capacity.smallest(for: 14) == Capacity(version: 1, level: .medium))
        #expect(Capacity.smallest(for: 15) == Capacity(version: 1, level: .low))
    }

    @Test func nothingAndTooMuch() throws {
        #expect(try QRCode([]).version == 1)
        #expect(throws: QRCodeError.tooLong(2954)) { try QRCode(Array(repeating: 0, count: 2954)) }
    }

    @Test func aroundItAllIsLight() throws {
        let code = try QRCode("altnet".utf8)
        #expect(!code[-1, 0] && !code[0, -1] && !code[code.size, 0] && !code[0, code.size])
        #expect(code[0, 0] && code[0, code.size - 1] && code[code.size - 1, 0])
    }

    /// ISO/IEC 18004, annex I.2: the data of "01234567" in version 1-M, and its error correction.
    @Test func correctionIsThatOfTheStandard() {
        let data: [UInt8] = [16, 32, 12, 86, 97, 128, 236, 17, 236, 17, 236, 17, 236, 17, 236, 17]
        #expect(ReedSolomon(degree: 10).remainder(of: data) == [165, 36, 212, 193, 237, 54, 199, 135, 44, 85])
    }

    /// Table E.1.
    @Test(arguments: [
        (1, []), (2, [6, 18]), (7, [6, 22, 38]), (14, [6, 26, 46, 66]), (32, [6, 34, 60, 86, 112, 138]),
        (40, [6, 30, 58, 86, 114, 142, 170]),
    ])
    func alignmentPatternsAreWhereTheStandardHasThem(version: Int, places: [Int]) {
        #expect(Modules.alignmentPlaces(version) == places)
    }
}

/// The program zbarimg of the ZBar project.
private enum Reader {
    private static let path = "/usr/bin/zbarimg"

    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

    /// - Returns: what it reads in a picture of the code.
    static func read(_ code: QRCode) throws -> String {
        let picture = FileManager.default.temporaryDirectory.path + "/altnet-\(UUID().uuidString).pgm"
        defer { try? FileManager.default.removeItem(atPath: picture) }
        try draw(code).write(to: URL(fileURLWithPath: picture))
        let read = try PipedProgram.run(
            path, ["--raw", "--quiet", "--nodbus", "-Sdisable", "-Sqrcode.enable", picture]
        ).output
        return String(decoding: read.dropLast(), as: UTF8.self)
    }

    /// Four pixels a module, as a portable graymap.
    private static func draw(_ code: QRCode) -> Data {
        let scale = 4
        let side = (code.size + 2 * QRCode.quietZone) * scale
        var picture = Data("P5 \(side) \(side) 255\n".utf8)
        for row in 0..<side {
            for column in 0..<side {
                let isDark = code[row / scale - QRCode.quietZone, column / scale - QRCode.quietZone]
                picture.append(isDark ? 0 : 255)
            }
        }
        return picture
    }
}
