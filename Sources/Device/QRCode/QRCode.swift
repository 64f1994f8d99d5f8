/// A QR code symbol (ISO/IEC 18004:2015) of bytes, in byte mode.
///
/// The smallest of the 40 versions that holds them, with level M of error correction where that costs no larger symbol
/// than level L.
public struct QRCode: Sendable, Equatable {
    /// 1 to 40.
    public let version: Int
    /// How many modules a side has, without the quiet zone: 21 to 177.
    public let size: Int
    let modules: Modules

    /// How many light modules have to surround the symbol (clause 9.1).
    public static let quietZone = 4

    /// - Throws: `QRCodeError.tooLong` for more than 2953 bytes.
    public init(_ bytes: some Collection<UInt8>) throws(QRCodeError) {
        guard let capacity = Capacity.smallest(for: bytes.count) else { throw .tooLong(bytes.count) }
        self.init(bytes, capacity)
    }

    init(_ bytes: some Collection<UInt8>, _ capacity: Capacity) {
        let symbol = Self.symbol(bytes, capacity)
        let masked = Mask.allCases.map { mask in
            var masked = symbol
            masked.apply(mask, capacity)
            return masked
        }
        // The one that is easiest to read; there is always one.
        self.init(capacity, masked.min { $0.penalty < $1.penalty } ?? symbol)
    }

    init(_ bytes: some Collection<UInt8>, _ capacity: Capacity, mask: Mask) {
        var symbol = Self.symbol(bytes, capacity)
        symbol.apply(mask, capacity)
        self.init(capacity, symbol)
    }

    private init(_ capacity: Capacity, _ modules: Modules) {
        version = capacity.version
        size = modules.size
        self.modules = modules
    }

    /// Whether a module is dark. Those outside are the quiet zone.
    public subscript(row: Int, column: Int) -> Bool {
        (0..<size).contains(row) && (0..<size).contains(column) && modules[row, column]
    }

    /// With everything in its place but the mask.
    private static func symbol(_ bytes: some Collection<UInt8>, _ capacity: Capacity) -> Modules {
        var modules = Modules(version: capacity.version)
        modules.place(Codewords(bytes, capacity).interleaved)
        return modules
    }
}

public enum QRCodeError: Error, Sendable, Equatable {
    /// No version holds that many bytes.
    case tooLong(Int)
}

extension QRCodeError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tooLong(let count): "\(count) bytes are more than the 2953 that a QR code holds"
        }
    }
}
