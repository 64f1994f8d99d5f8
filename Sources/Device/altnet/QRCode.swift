import Glibc
import Terminal

/// A QR code symbol (ISO/IEC 18004) in byte mode, encoded by libqrencode.
struct QRCode: Sendable, Equatable {
    /// Number of modules on a side, 21 to 177, without the quiet zone.
    let size: Int
    private let modules: [Bool]

    /// Width of the light border around the symbol, in modules (clause 9.1).
    static let quietZone = 4

    static let library = "libqrencode.so.4"

    /// Encodes the bytes in the smallest symbol. Uses error correction level M if the symbol is not larger than with
    /// level L.
    /// - Parameters:
    ///   - bytes: 1 to 2953 bytes.
    ///   - library: name or path of libqrencode, which stays loaded.
    init(_ bytes: some Collection<UInt8>, library: String = Self.library) throws(QRCodeError) {
        let encoder = try QREncodeLibrary(library)
        let low = try encoder.encode(bytes, level: .low)
        // With level M, the bytes may not fit into the largest symbol.
        let medium = try? encoder.encode(bytes, level: .medium)
        self = if let medium, medium.size == low.size { medium } else { low }
    }

    /// - Parameter modules: modules row by row; true for dark.
    init(size: Int, modules: [Bool]) { (self.size, self.modules) = (size, modules) }

    /// Whether a module is dark. Modules outside the symbol are light.
    subscript(row: Int, column: Int) -> Bool {
        (0..<size).contains(row) && (0..<size).contains(column) && modules[row * size + column]
    }
}

enum QRCodeError: Error, Equatable, CustomStringConvertible {
    case libraryMissing
    case notEncoded(bytes: Int, errno: Int32)

    var description: String {
        switch self {
        case .libraryMissing: "no QR code: install the package libqrencode4"
        case .notEncoded(let bytes, let errno):
            "libqrencode cannot encode \(bytes) bytes: \(String(cString: strerror(errno)))"
        }
    }
}

/// libqrencode 4, as declared in qrencode.h.
private struct QREncodeLibrary {
    /// `QRecLevel` of libqrencode.
    enum Level: Int32 {
        /// Level that corrects about 7 % of the codewords.
        case low = 0
        /// Level that corrects about 15 % of the codewords.
        case medium = 1
    }

    /// `QRcode` of libqrencode.
    private struct Symbol {
        let version: Int32
        let width: Int32
        /// Modules, in width * width bytes. The least significant bit of a byte is 1 for a dark module.
        let data: UnsafePointer<UInt8>?
    }

    /// `QRcode_encodeData` of libqrencode: size, data, version (0 for the smallest) and level. Returns null and sets
    /// errno on failure.
    private typealias EncodeData =
        @convention(c) (
            Int32, UnsafeRawPointer?, Int32, Int32
        ) -> UnsafeMutableRawPointer?
    /// `QRcode_free` of libqrencode.
    private typealias Free = @convention(c) (UnsafeMutableRawPointer?) -> Void

    private let encodeData: EncodeData
    private let free: Free

    /// - Parameter name: name or path of the library, for dlopen(3).
    init(_ name: String) throws(QRCodeError) {
        guard let handle = dlopen(name, RTLD_NOW), let encodeData = dlsym(handle, "QRcode_encodeData"),
            let free = dlsym(handle, "QRcode_free")
        else { throw .libraryMissing }
        self.encodeData = unsafeBitCast(encodeData, to: EncodeData.self)
        self.free = unsafeBitCast(free, to: Free.self)
    }

    func encode(_ bytes: some Collection<UInt8>, level: Level) throws(QRCodeError) -> QRCode {
        let count = Int32(clamping: bytes.count)
        guard let symbol = Array(bytes).withUnsafeBytes({ encodeData(count, $0.baseAddress, 0, level.rawValue) }) else {
            throw .notEncoded(bytes: bytes.count, errno: errno)
        }
        defer { free(symbol) }
        let fields = symbol.load(as: Symbol.self)
        guard let data = fields.data, (21...177).contains(fields.width) else {
            throw .notEncoded(bytes: bytes.count, errno: EINVAL)
        }
        let size = Int(fields.width)
        return QRCode(size: size, modules: (0..<size * size).map { data[$0] & 1 == 1 })
    }
}
struct QRCodeView {
    let code: QRCode

    /// - Returns: nil if the terminal is narrower than the code.
    func render(_ style: Style) -> String? {
        let lines = style.isUnicode ? halfBlocks(style) : squares(style)
        guard lines.allSatisfy({ $0.columns <= style.width }) else { return nil }
        return lines.map { paint($0, style) }.joined(separator: "\n")
    }

    private var range: Range<Int> { -QRCode.quietZone..<(code.size + QRCode.quietZone) }

    /// Draws two modules in a character, one above the other.
    private func halfBlocks(_ style: Style) -> [String] {
        stride(from: range.lowerBound, to: range.upperBound, by: 2).map { row in
            range.map { column in
                switch (isInk(row, column, style), isInk(row + 1, column, style)) {
                case (true, true): "█"
                case (true, false): "▀"
                case (false, true): "▄"
                case (false, false): " "
                }
            }.joined()
        }
    }

    /// Draws two characters for a module, to make it about square.
    private func squares(_ style: Style) -> [String] {
        range.map { row in
            range.map { isInk(row, $0, style) ? "##" : "  " }.joined()
        }
    }

    /// Whether to draw a module. With colours, dark modules are drawn, in black on white. Without colours, light
    /// modules are drawn, as most terminals have a dark background.
    private func isInk(_ row: Int, _ column: Int, _ style: Style) -> Bool { code[row, column] == style.hasColour }

    /// Paints a line. Uses the fixed part of the palette, as themes change the first 16 colours.
    private func paint(_ line: String, _ style: Style) -> String {
        guard style.hasColour else { return line }
        let (black, white) = ("\u{1b}[38;5;16;48;5;16m", "\u{1b}[38;5;16;48;5;231m")
        guard !style.isUnicode else { return white + line + "\u{1b}[0m" }
        var painted = ""
        var isInked: Bool?
        for character in line {
            if isInked != (character == "#") { painted += character == "#" ? black : white }
            isInked = character == "#"
            painted.append(character)
        }
        return painted + "\u{1b}[0m"
    }
}

extension Console {
    /// Draws a text as a QR code on a terminal, or prints why that fails.
    func draw(_ text: String) {
        guard style.goesToTerminal else { return }
        do throws(QRCodeError) {
            let symbol = try QRCode(text.utf8, library: qrCodeLibrary)
            if let picture = QRCodeView(code: symbol).render(style) {
                print(verbatim: picture + "\n")
            } else {
                advise("The QR code needs more than \(style.width) columns: widen the terminal.")
            }
        } catch {
            advise("\(error)")
        }
    }
}
